"""Top-two clamp: both named classes, the rest only where the person left it possible.

Top-two uniform: both named classes, the rest spread over all others.

Top-two similar: what is left over goes to classes like the one named first.

Top-one clamp: only the most probable class, the rest where the person left it possible.

Top-one uniform: only the most probable class, the rest spread over all others.

Select top two: which classes were named, not how sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.class_similarity import ClassSimilarity
from sfumato.labeling.labeler import beliefs_from, class_codes
from sfumato.labeling.top_two_arrays import (
    TopTwoArrays,
    as_released,
    named_mass,
    possible,
    read_top_two,
    spread_leftover,
)
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.payloads import TopTwoPayload
from sfumato.tables.settings import share


@dataclass(frozen=True)
class TopTwoClamp:
    """Percents of the first and second class as given; what they leave of 100 goes in equal parts to the classes not
    marked impossible. Percents that reach 100 are normalised and `gamma` held back for those classes.

    Uses all that was asked: the label set called CIFAR-10S (Collins, Bhatt and Weller 2022; gamma = 0.1 there).
    There is a cliff: 95 + 5 gives the free classes 10%, 95 + 4 gives them 1%.
    `as_released` repeats the published code, faults included; see docs/label.md for where it differs.
    """

    gamma: float = 0.1
    as_released: bool = False

    name: ClassVar[str] = "top-two-clamp"
    kinds: ClassVar[tuple[str, ...]] = ("top_two",)

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        return clamp(read_top_two(answers, index), self.gamma, released=self.as_released)


def clamp(answers: TopTwoArrays, gamma: float, *, released: bool = False) -> Float[np.ndarray, "answers classes"]:
    """The clamp rule on answers already read."""
    if released:
        return as_released(answers, gamma, clamp=True)
    return spread_leftover(named_mass(answers), possible(answers).astype(np.float64), gamma)


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
            f"gamma = {gamma} together with as_released",
            "no gamma: the published rule holds nothing back here",
            "leave out one of the two",
        )


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
