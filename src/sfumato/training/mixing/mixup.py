"""Mixing protocol, no mixing (`Plain`), mixup, and two variants with other losses: entropy-weighted and Mix-MaxEnt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.setting_checks import above_0, not_negative, one_of, share

Pictures = Float[Tensor, "batch channels height width"]
Labels = Float[Tensor, "runs batch classes"]
ENDPOINTS = ("soft", "hard")
SEEDS = 2**63 - 1


@dataclass(frozen=True, eq=False)
class MixedBatch:
    """A batch as the networks see it, with what the loss needs."""

    x: Float[Tensor, "seen channels height width"]
    y: Labels
    share: float = 1.0
    """The share that an item keeps of itself."""


@runtime_checkable
class Mixing(Protocol):
    """How a batch is mixed, and the loss of each run."""

    name: ClassVar[str]

    def mixed(self, x: Pictures, y: Labels, draw: torch.Generator) -> MixedBatch:
        """The mixed batch; all random numbers come from `draw` (a CPU generator). Does not change `x` and `y`."""
        ...

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        """The mean over the batch, per run."""
        ...


@dataclass(frozen=True, eq=False)
class Pairing:
    """The partner of each item, and the share that an item keeps of itself."""

    share: float
    partner: Int[Tensor, "batch"]

    @classmethod
    def drawn(cls, n_items: int, alpha: float, draw: torch.Generator, device: torch.device) -> Pairing:
        """One share for the batch, sampled from Beta(alpha, alpha), and a random partner for every item."""
        # torch cannot sample a Beta from a given generator; NumPy can, with a seed from it.
        seed = int(torch.randint(SEEDS, (), generator=draw))
        share = float(np.random.default_rng(seed).beta(alpha, alpha))
        return cls(share, torch.randperm(n_items, generator=draw).to(device))

    def of_items(self, x: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        return self.share * x + (1 - self.share) * x[self.partner]

    def of_labels(self, y: Labels) -> Labels:
        return self.share * y + (1 - self.share) * y[:, self.partner]


def cross_entropies(logits: Float[Tensor, "runs batch classes"], y: Labels) -> Float[Tensor, "runs batch"]:
    """`-sum y log softmax z` per run and item."""
    return -(y * F.log_softmax(logits, dim=-1)).sum(dim=-1)


def entropies(logits: Float[Tensor, "runs batch classes"]) -> Float[Tensor, "runs batch"]:
    """The entropy of the predictions in nats; 0, not NaN, if one class has probability 1."""
    log_p = F.log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1)


def with_endpoints(y: Labels, endpoints: str) -> Labels:
    """The labels unchanged (`soft`), or all their mass on the most probable class (`hard`; ties go to the first).

    The mass of a label is the weight of its item, 1 by default."""
    if endpoints == "soft":
        return y
    return F.one_hot(y.argmax(dim=-1), y.shape[-1]).to(y.dtype) * y.sum(dim=-1, keepdim=True)


@dataclass(frozen=True)
class Plain:
    """No mixing; the mean cross-entropy `-sum y log softmax z`. Not random."""

    name: ClassVar[str] = "plain"

    def mixed(self, x: Pictures, y: Labels, draw: torch.Generator) -> MixedBatch:  # noqa: ARG002
        return MixedBatch(x, y)

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        return _MeanCrossEntropies.apply(logits, mixed.y)  # type: ignore[no-any-return, no-untyped-call]


class _MeanCrossEntropies(torch.autograd.Function):
    """The mean of `cross_entropies` over the batch, as one operation; labels have no gradient."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, y: Tensor) -> Tensor:
        # With the batch as the last axis: there are many more items than classes.
        by_class = y.transpose(1, 2)
        log_p = F.log_softmax(logits.transpose(1, 2), dim=1)
        ctx.save_for_backward(log_p, by_class)
        return (by_class * log_p).sum(dim=(1, 2)).div_(-logits.shape[1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        log_p, by_class = ctx.saved_tensors
        of_logits = log_p.exp().mul_(by_class.sum(dim=1, keepdim=True)).sub_(by_class)
        return of_logits.mul_((gradients[0] / log_p.shape[2])[:, None, None]).transpose(1, 2), None


@dataclass(frozen=True)
class Mixup:
    """`x~ = l x + (1 - l) x'`, `y~ = l y + (1 - l) y'`, with l ~ Beta(alpha, alpha) once per batch (Zhang et al. 2018).

    `endpoints`: the labels of the target (`soft`), or only their most probable class (`hard`). Assumes that people see
    the two images of a mixture in proportion to their shares, which is not quite true: `class-pair` uses the
    proportions that people see, `entropy-weighted` reduces the loss of uncertain predictions.
    """

    alpha: float = 1.0
    endpoints: str = "soft"

    name: ClassVar[str] = "mixup"

    def __post_init__(self) -> None:
        above_0("alpha", self.alpha)
        one_of("endpoints", self.endpoints, ENDPOINTS)

    def mixed(self, x: Pictures, y: Labels, draw: torch.Generator) -> MixedBatch:
        pairing = Pairing.drawn(len(x), self.alpha, draw, x.device)
        y = with_endpoints(y, self.endpoints)
        return MixedBatch(pairing.of_items(x), pairing.of_labels(y), pairing.share)

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        return cross_entropies(logits, mixed.y).mean(dim=-1)


LN_2 = math.log(2)


@dataclass(frozen=True)
class EntropyWeighted:
    """Mixup with cross-entropies weighted by `clamp(ln 2 / H(softmax z), kappa, 1)`, with gradients through the weight
    (Ent-WC, Collins 2022).

    People see more than two classes in a mixed image, so entropy above that of two classes (H > ln 2) costs less, down
    to the weight `kappa`, which keeps uniform predictions from being best. With K classes, all kappa below
    ln 2 / ln K are equivalent. `endpoints` as in `mixup`.
    """

    alpha: float = 0.2
    kappa: float = 0.7
    endpoints: str = "soft"

    name: ClassVar[str] = "entropy-weighted"

    def __post_init__(self) -> None:
        above_0("alpha", self.alpha)
        share("kappa", self.kappa)
        one_of("endpoints", self.endpoints, ENDPOINTS)

    def mixed(self, x: Pictures, y: Labels, draw: torch.Generator) -> MixedBatch:
        return Mixup(self.alpha, self.endpoints).mixed(x, y, draw)

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        # A weight of at most 1 means an entropy of at least ln 2; clamping the entropy avoids a division by 0.
        weight = (LN_2 / entropies(logits).clamp(min=LN_2)).clamp(min=self.kappa)
        return (weight * cross_entropies(logits, mixed.y)).mean(dim=-1)


@dataclass(frozen=True)
class MixMaxEnt:
    """`CE(f(x), y) - weight * mean H(softmax f(x~))` over a batch and its mixtures (Pinto et al. 2021).

    The networks see the items and the mixtures, so a step costs twice as much. With alpha = 10 the shares are near
    0.5. The loss pushes predictions for mixtures to the uniform distribution; prefer `entropy-weighted` for soft but
    meaningful predictions.
    """

    alpha: float = 10.0
    weight: float = 1.0

    name: ClassVar[str] = "mix-max-ent"

    def __post_init__(self) -> None:
        above_0("alpha", self.alpha)
        not_negative("weight", self.weight)

    def mixed(self, x: Pictures, y: Labels, draw: torch.Generator) -> MixedBatch:
        pairing = Pairing.drawn(len(x), self.alpha, draw, x.device)
        return MixedBatch(torch.cat([x, pairing.of_items(x)]), y, pairing.share)

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        n_items = mixed.y.shape[1]
        cross_entropy = cross_entropies(logits[:, :n_items], mixed.y).mean(dim=-1)
        return cross_entropy - self.weight * entropies(logits[:, n_items:]).mean(dim=-1)
