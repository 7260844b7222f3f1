"""Top-one uniform: only the most probable class, the rest spread over all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import beliefs_from
from sfumato.labeling.top_two_arrays import read_top_two
from sfumato.labeling.top_two_uniform import check_gamma, uniform
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.payloads import TopTwoPayload


@dataclass(frozen=True)
class TopOneUniform:
    """The uniform rule as if only the most probable class had been asked for ("T1, Unif" in Collins, Bhatt and
    Weller 2022): label smoothing with the person's own confidence."""

    gamma: float = 0.0
    as_released: bool = False

    name: ClassVar[str] = "top-one-uniform"
    kinds: ClassVar[tuple[str, ...]] = ("top_two",)

    def __post_init__(self) -> None:
        check_gamma(self.gamma, self.as_released)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        return uniform(read_top_two(answers, index).only_first(), self.gamma, released=self.as_released)
