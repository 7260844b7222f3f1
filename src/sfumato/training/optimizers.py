"""Optimizers (`OPTIMIZERS`) and learning-rate schedules (`SCHEDULES`).

`Schedule.factor` multiplies the optimizer's rate. It depends only on `progress` (epochs, with fractions) and on the
validation losses of the finished epochs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import nn

from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import above_0, at_least, bad_setting, between_0_and_1, not_negative
from sfumato.training.compiled_adam import CompiledAdam


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent with momentum; weight decay is added to the gradient."""

    rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 0.0
    nesterov: bool = False

    name: ClassVar[str] = "sgd"

    def __post_init__(self) -> None:
        _check(rate=self.rate, momentum=self.momentum, weight_decay=self.weight_decay)

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(
            parameters,
            lr=self.rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            nesterov=self.nesterov,
            fused=True,
        )


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma & Ba 2015). `decoupled` applies weight decay to the weights (AdamW, Loshchilov & Hutter 2019)."""

    rate: float = 1e-3
    beta_1: float = 0.9
    beta_2: float = 0.999
    weight_decay: float = 0.0
    decoupled: bool = False

    name: ClassVar[str] = "adam"

    def __post_init__(self) -> None:
        _check(rate=self.rate, momentum=max(self.beta_1, self.beta_2), weight_decay=self.weight_decay)

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer | CompiledAdam:
        parameters = list(parameters)
        betas = (self.beta_1, self.beta_2)
        if all(each.device.type == "cpu" and each.dtype == torch.float32 for each in parameters):
            return CompiledAdam(parameters, self.rate, betas, self.weight_decay, self.decoupled)
        settings: dict[str, Any] = {
            "lr": self.rate, "betas": betas, "weight_decay": self.weight_decay, "fused": True
        }  # fmt: skip
        return torch.optim.AdamW(parameters, **settings) if self.decoupled else torch.optim.Adam(parameters, **settings)


OPTIMIZERS: tuple[Any, ...] = (Sgd, Adam)


def _check(*, rate: float, momentum: float, weight_decay: float) -> None:
    above_0("rate", rate)
    if not 0 <= momentum < 1:
        raise bad_setting("momentum", momentum, "a share from 0 to below 1")
    not_negative("weight_decay", weight_decay)


class Schedule(Protocol):
    """How the learning rate changes."""

    name: ClassVar[str]
    needs_validation: ClassVar[bool]
    is_smooth: ClassVar[bool]
    """Whether the rate also changes within an epoch."""

    def factor(self, progress: float, n_epochs: int, losses: Sequence[float]) -> float: ...


@dataclass(frozen=True)
class Constant:
    """A constant rate."""

    name: ClassVar[str] = "constant"
    needs_validation: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = False

    def factor(self, progress: float, n_epochs: int, losses: Sequence[float]) -> float:  # noqa: ARG002
        return 1.0


@dataclass(frozen=True)
class StepSchedule:
    """Multiplies the rate by `by` after each epoch in `after` (counted from 1); defaults as in Uma et al. (2020)."""

    after: tuple[int, ...] = (50, 55)
    by: float = 0.1

    name: ClassVar[str] = "steps"
    needs_validation: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.by < 1 or list(self.after) != sorted(set(self.after)) or min(self.after, default=1) < 1:
            found, fix = f"steps after {list(self.after)} by {self.by}", "for example after = [50, 55], by = 0.1"
            raise BadSetting(found, "increasing numbers of epochs, and a factor between 0 and 1", fix)

    def factor(self, progress: float, n_epochs: int, losses: Sequence[float]) -> float:  # noqa: ARG002
        return float(self.by ** sum(progress >= epoch for epoch in self.after))


@dataclass(frozen=True)
class OneCycle:
    """Rises to the full rate in the first share `rise` of training, then falls, both along a cosine (Smith & Topin
    2019)."""

    rise: float = 0.3
    start: float = 0.04
    end: float = 1e-4

    name: ClassVar[str] = "one-cycle"
    needs_validation: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (0 < self.rise < 1 and 0 < self.start <= 1 and 0 < self.end <= 1):
            found = f"rise = {self.rise}, start = {self.start}, end = {self.end}"
            expected = "a rise between 0 and 1, start and end above 0 and at most 1"
            raise BadSetting(found, expected, "for example rise = 0.3, start = 0.04, end = 0.0001")

    def factor(self, progress: float, n_epochs: int, losses: Sequence[float]) -> float:  # noqa: ARG002
        done = min(progress / n_epochs, 1.0)
        low, high, share = (
            (self.start, 1.0, done / self.rise)
            if done < self.rise
            else (self.end, 1.0, 1 - (done - self.rise) / (1 - self.rise))
        )
        return low + (high - low) * (1 - math.cos(math.pi * share)) / 2


@dataclass(frozen=True)
class Plateau:
    """Multiplies the rate by `by` when the validation loss has not decreased for `patience` epochs."""

    by: float = 0.1
    patience: int = 5
    threshold: float = 1e-4

    name: ClassVar[str] = "plateau"
    needs_validation: ClassVar[bool] = True
    is_smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        between_0_and_1("by", self.by)
        at_least("patience", self.patience, 1)
        not_negative("threshold", self.threshold)

    def factor(self, progress: float, n_epochs: int, losses: Sequence[float]) -> float:  # noqa: ARG002
        best, waited, factor = math.inf, 0, 1.0
        for loss in losses:
            if loss < best * (1 - self.threshold):
                best, waited = loss, 0
            else:
                waited += 1
            if waited > self.patience:
                factor, waited = factor * self.by, 0
        return factor


SCHEDULES: tuple[Any, ...] = (Constant, StepSchedule, OneCycle, Plateau)
