"""Mixup and two variants with other losses: entropy-weighted mixup and Mix-MaxEnt."""

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
        check_endpoints(self.endpoints)

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "runs batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
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
        check_endpoints(self.endpoints)

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "runs batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
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

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "runs batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
        pairing = Pairing.drawn(len(x), self.alpha, draw, x.device)
        return MixedBatch(torch.cat([x, pairing.of_items(x)]), y, pairing.share)

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        n_items = mixed.y.shape[1]
        cross_entropy = cross_entropies(logits[:, :n_items], mixed.y).mean(dim=-1)
        return cross_entropy - self.weight * entropies(logits[:, n_items:]).mean(dim=-1)
