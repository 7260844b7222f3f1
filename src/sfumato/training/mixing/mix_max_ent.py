"""Mix-MaxEnt: learn items as they are, and doubt what lies between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from sfumato.tables.settings import above_0, not_negative
from sfumato.training.mixing.mixed import MixedBatch, Pairing, cross_entropies, entropies


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
