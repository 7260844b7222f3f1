"""No mixing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from sfumato.training.mixing.mixed import MixedBatch, cross_entropies


@dataclass(frozen=True)
class Plain:
    """Items as they are, and the mean cross-entropy `-sum y log softmax z`. Draws nothing."""

    name: ClassVar[str] = "plain"

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "members batch classes"],
        draw: torch.Generator,  # noqa: ARG002
    ) -> MixedBatch:
        return MixedBatch(x, y)

    def losses(self, logits: Float[Tensor, "members seen classes"], mixed: MixedBatch) -> Float[Tensor, "members"]:
        return cross_entropies(logits, mixed.y).mean(dim=-1)
