"""Top-two uniform: both named classes, the rest spread over all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import beliefs_from
from sfumato.labeling.top_two_arrays import TopTwoArrays, as_released, named_mass, read_top_two, spread_leftover
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.payloads import TopTwoPayload
from sfumato.tables.settings import share


@dataclass(frozen=True)
class TopTwoUniform:
    """Percents as given; what they leave of 100 goes in equal parts to all other classes, as if nobody had been asked
    what is impossible ("T2, Unif" in Collins, Bhatt and Weller 2022).

    The published rule holds nothing back when the percents reach 100; `gamma` > 0 does, as the clamp rule would.
    """

    gamma: float = 0.0
    as_released: bool = False

    name: ClassVar[str] = "top-two-uniform"
    kinds: ClassVar[tuple[str, ...]] = ("top_two",)

    def __post_init__(self) -> None:
        check_gamma(self.gamma, self.as_released)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        return uniform(read_top_two(answers, index), self.gamma, released=self.as_released)


def uniform(answers: TopTwoArrays, gamma: float, *, released: bool = False) -> Float[np.ndarray, "answers classes"]:
    """The uniform rule on answers already read."""
    if released:
        return as_released(answers, 0.0, clamp=False)
    return spread_leftover(named_mass(answers), np.ones(answers.impossible.shape), gamma)


def check_gamma(gamma: float, released: bool) -> None:
    """Raise unless `gamma` is a share, and 0 where the published rule has none."""
    share("gamma", gamma)
    if released and gamma:
        raise BadSetting(
            f"found gamma = {gamma} together with as_released",
            expected="no gamma: the published rule holds nothing back here",
            fix="leave out one of the two",
            code="bad-setting",
        )
