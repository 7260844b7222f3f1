"""Select top two: which classes were named, not how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import beliefs_from, class_codes
from sfumato.labeling.top_two_uniform import check_gamma
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.payloads import TopTwoPayload


@dataclass(frozen=True)
class SelectTopTwo:
    """Half on each of the two classes named; all on the first where there is no second, or where both are one class.

    What a form without percents would give ("Select Top 2 Only" in Collins, Bhatt and Weller 2022): for finding out
    what asking for percents is worth. The published rule holds nothing back; `gamma` > 0 spreads that share over
    the classes not named. The published code agrees with ours on every answer, so `as_released` changes nothing.
    """

    gamma: float = 0.0
    as_released: bool = False

    name: ClassVar[str] = "select-top-two"
    kinds: ClassVar[tuple[str, ...]] = ("top_two",)

    def __post_init__(self) -> None:
        check_gamma(self.gamma, self.as_released)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        named = np.zeros((len(answers), len(index)))
        rows = np.arange(len(answers))
        named[rows, class_codes([a.first for a in answers], index)] = 1
        named[rows, class_codes([a.first if a.second is None else a.second for a in answers], index)] = 1
        n_named = named.sum(axis=1, keepdims=True)
        n_others = np.maximum(len(index) - n_named, 1)
        held_back = np.where(n_named < len(index), self.gamma, 0.0)
        return np.asarray((1 - held_back) * named / n_named + held_back * (1 - named) / n_others)
