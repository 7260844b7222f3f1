"""Optimisers: how weights follow a gradient. One step is the same for a network alone and for one in a stack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from sfumato.tables.settings import above_0, bad_setting, not_negative


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
    """Steps scaled by the running size of each weight's gradient (Kingma & Ba 2015).

    `decoupled` takes weight decay off the weights themselves (AdamW, Loshchilov & Hutter 2019).
    """

    rate: float = 1e-3
    beta_1: float = 0.9
    beta_2: float = 0.999
    weight_decay: float = 0.0
    decoupled: bool = False

    name: ClassVar[str] = "adam"

    def __post_init__(self) -> None:
        _check(rate=self.rate, momentum=max(self.beta_1, self.beta_2), weight_decay=self.weight_decay)

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        settings: dict[str, Any] = {
            "lr": self.rate, "betas": (self.beta_1, self.beta_2), "weight_decay": self.weight_decay, "fused": True
        }  # fmt: skip
        return torch.optim.AdamW(parameters, **settings) if self.decoupled else torch.optim.Adam(parameters, **settings)


OPTIMISERS: tuple[Any, ...] = (Sgd, Adam)


def _check(*, rate: float, momentum: float, weight_decay: float) -> None:
    above_0("rate", rate)
    if not 0 <= momentum < 1:
        raise bad_setting("momentum", momentum, "a share from 0 to below 1")
    not_negative("weight_decay", weight_decay)
