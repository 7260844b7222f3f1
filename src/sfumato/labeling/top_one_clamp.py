"""Top-one clamp: only the most probable class, the rest where the person left it possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import beliefs_from
from sfumato.labeling.top_two_arrays import read_top_two
from sfumato.labeling.top_two_clamp import clamp
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.payloads import TopTwoPayload
from sfumato.tables.settings import share


@dataclass(frozen=True)
class TopOneClamp:
    """The clamp rule as if no second class had been asked for ("T1, Clamp" in Collins, Bhatt and Weller 2022).

    For finding out what the second question is worth; for labels to use, `TopTwoClamp` knows more.
    """

    gamma: float = 0.1
    as_released: bool = False

    name: ClassVar[str] = "top-one-clamp"
    kinds: ClassVar[tuple[str, ...]] = ("top_two",)

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        return clamp(read_top_two(answers, index).only_first(), self.gamma, released=self.as_released)
