"""Entropy-weighted mixup: a network that doubts a mixture is blamed less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from sfumato.tables.settings import above_0, share
from sfumato.training.mixing.mixed import (
    MixedBatch,
    Pairing,
    check_endpoints,
    cross_entropies,
    entropies,
    with_endpoints,
)

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
