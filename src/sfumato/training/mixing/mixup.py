"""Mixup: two items and their labels, in one proportion.

Entropy-weighted mixup: a network that doubts a mixture is blamed less.

Mix-MaxEnt: learn items as they are, and doubt what lies between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from sfumato.tables.settings import above_0, not_negative, share
from sfumato.training.mixing.batch import (
    MixedBatch,
    Pairing,
    check_endpoints,
    cross_entropies,
    entropies,
    with_endpoints,
)


@dataclass(frozen=True)
class Mixup:
    """`x~ = l x + (1 - l) x'`, `y~ = l y + (1 - l) y'`, with l ~ Beta(alpha, alpha) once a batch (Zhang et al. 2018).

    `endpoints`: the labels as the target gives them (`soft`), or only their most probable class (`hard`). It assumes
    that people see in a mixed image what went into it, in proportion; they do not quite (`class-pair` bends the
    proportion as people do, `entropy-weighted` spares a network that doubts).
    """

    alpha: float = 1.0
    endpoints: str = "soft"

    name: ClassVar[str] = "mixup"

    def __post_init__(self) -> None:
        above_0("alpha", self.alpha)
        check_endpoints(self.endpoints)

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "members batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
        pairing = Pairing.drawn(len(x), self.alpha, draw, x.device)
        y = with_endpoints(y, self.endpoints)
        return MixedBatch(pairing.of_items(x), pairing.of_labels(y), pairing.share)

    def losses(self, logits: Float[Tensor, "members seen classes"], mixed: MixedBatch) -> Float[Tensor, "members"]:
        return cross_entropies(logits, mixed.y).mean(dim=-1)


LN_2 = math.log(2)


@dataclass(frozen=True)
class EntropyWeighted:
    """Mixup whose cross-entropies weigh `clamp(ln 2 / H(softmax z), kappa, 1)`, gradient through the weight (Ent-WC,
    Collins 2022).

    People see more than two classes in a mixed image, so doubt beyond two classes (H > ln 2) is made cheaper, down
    to `kappa`, the clamp that keeps uniform predictions from paying. With K classes any kappa below ln 2 / ln K is the
    same method. `endpoints` as in `mixup`.
    """

    alpha: float = 0.2
    kappa: float = 0.7
    endpoints: str = "soft"

    name: ClassVar[str] = "entropy-weighted"

    def __post_init__(self) -> None:
        above_0("alpha", self.alpha)
        share("kappa", self.kappa)
        check_endpoints(self.endpoints)

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "members batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
        pairing = Pairing.drawn(len(x), self.alpha, draw, x.device)
        y = with_endpoints(y, self.endpoints)
        return MixedBatch(pairing.of_items(x), pairing.of_labels(y), pairing.share)

    def losses(self, logits: Float[Tensor, "members seen classes"], mixed: MixedBatch) -> Float[Tensor, "members"]:
        # A weight of at most 1 is an entropy of at least ln 2: clamped below the division, where H = 0 does no harm.
        weight = (LN_2 / entropies(logits).clamp(min=LN_2)).clamp(min=self.kappa)
        return (weight * cross_entropies(logits, mixed.y)).mean(dim=-1)


@dataclass(frozen=True)
class MixMaxEnt:
    """`CE(f(x), y) - weight * mean H(softmax f(x~))` over a batch and its mixtures (Pinto et al. 2021).

    The networks see the items and then the mixtures, so a step costs twice as much. With alpha = 10 the mixtures lie
    near one half, where everything is to be doubted; nothing stops the doubt short of uniform. Prefer
    `entropy-weighted` where mixtures should stay softer but meaningful.
    """

    alpha: float = 10.0
    weight: float = 1.0

    name: ClassVar[str] = "mix-max-ent"

    def __post_init__(self) -> None:
        above_0("alpha", self.alpha)
        not_negative("weight", self.weight)

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "members batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
        pairing = Pairing.drawn(len(x), self.alpha, draw, x.device)
        return MixedBatch(torch.cat([x, pairing.of_items(x)]), y, pairing.share)

    def losses(self, logits: Float[Tensor, "members seen classes"], mixed: MixedBatch) -> Float[Tensor, "members"]:
        n_items = mixed.y.shape[1]
        told = cross_entropies(logits[:, :n_items], mixed.y).mean(dim=-1)
        return told - self.weight * entropies(logits[:, n_items:]).mean(dim=-1)
