"""Top-two similar: what is left over goes to classes like the one named first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.class_similarity import ClassSimilarity
from sfumato.labeling.labeler import beliefs_from
from sfumato.labeling.top_two_arrays import named_mass, possible, read_top_two, spread_leftover
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.payloads import TopTwoPayload
from sfumato.tables.settings import share


@dataclass(frozen=True)
class TopTwoSimilar:
    """As `TopTwoClamp`, but the leftover is spread in proportion to how alike each possible class is to the first.

    `respect_impossible=False` ignores what was marked impossible, as the comparison in Collins' thesis did
    (2022, appendix B.4, cosine similarity of word vectors). Where nothing possible is alike, equal parts.
    """

    similarity: ClassSimilarity = field(kw_only=True)
    gamma: float = 0.1
    respect_impossible: bool = True
    only_first: bool = False

    name: ClassVar[str] = "top-two-similar"
    kinds: ClassVar[tuple[str, ...]] = ("top_two",)

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        arrays = read_top_two(answers, index)
        arrays = arrays.only_first() if self.only_first else arrays
        mass = named_mass(arrays)
        free = (possible(arrays) if self.respect_impossible else np.ones(mass.shape, dtype=bool)) & (mass == 0)
        room = np.where(free, self.similarity.ordered(list(index))[arrays.first], 0.0)
        alike = room.sum(axis=1, keepdims=True) > 0
        return spread_leftover(mass, np.where(alike, room, free.astype(np.float64)), self.gamma)
