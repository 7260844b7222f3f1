"""Uniform: as many answers for every item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.planning.indices.known import ItemPosteriors


@dataclass(frozen=True)
class UniformIndex:
    """Fewest answers first: `1 / (1 + n)`, whatever was answered and whatever it costs. The baseline.

    Prefer it where items must be comparable, or where a later analysis cannot know how answers were allotted.
    """

    name: ClassVar[str] = "uniform"
    per_second: ClassVar[bool] = False
    uses_prior: ClassVar[bool] = False

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        return np.asarray(1 / (1 + known.n_answers))
