"""Mixup: two items and their labels, in one proportion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from sfumato.tables.settings import above_0
from sfumato.training.mixing.mixed import MixedBatch, Pairing, check_endpoints, cross_entropies, with_endpoints


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
