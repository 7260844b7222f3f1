"""Labelers of the question type top_two: six ways to convert one answer into a distribution."""

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


class TopTwoLabeler:
    """Base of the top-two labelers: a subclass converts the answers in `probs`."""

    kinds: ClassVar[tuple[str, ...]] = ("top_two",)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self.probs)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        """One distribution per answer; `index` is the number of each class."""
        raise NotImplementedError


@dataclass(frozen=True)
class TopTwoClamp(TopTwoLabeler):
    """Both named classes as given, the rest on the classes not marked impossible.

    Percents that reach 100 are normalized, and `gamma` of the mass goes to these classes. Uses the whole answer: the
    label set called CIFAR-10S (Collins, Bhatt and Weller 2022; gamma = 0.1 there). It is not continuous: 95 + 5 gives
    the free classes 10%, 95 + 4 gives them 1%. `as_released` repeats the published code, errors included; docs/label.md
    shows where it differs.
    """

    gamma: float = 0.1
    as_released: bool = False

    name: ClassVar[str] = "top-two-clamp"

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        return clamp(read_top_two(answers, index), self.gamma, released=self.as_released)


def clamp(answers: TopTwoArrays, gamma: float, *, released: bool = False) -> Float[np.ndarray, "answers classes"]:
    """The clamp rule on answers as arrays."""
    if released:
        return as_released(answers, gamma, clamp=True)
    return spread_leftover(named_mass(answers), possible(answers).astype(np.float64), gamma)


@dataclass(frozen=True)
class TopTwoUniform(TopTwoLabeler):
    """Both named classes as given, the rest equally on all others.

    The classes marked impossible are ignored ("T2, Unif" in Collins, Bhatt and Weller 2022). In the published rule
    nothing is left for the others when the percents reach 100; `gamma` > 0 gives them this share.
    """

    gamma: float = 0.0
    as_released: bool = False

    name: ClassVar[str] = "top-two-uniform"

    def __post_init__(self) -> None:
        check_gamma(self.gamma, self.as_released)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        return uniform(read_top_two(answers, index), self.gamma, released=self.as_released)


def uniform(answers: TopTwoArrays, gamma: float, *, released: bool = False) -> Float[np.ndarray, "answers classes"]:
    """The uniform rule on answers as arrays."""
    if released:
        return as_released(answers, 0.0, clamp=False)
    return spread_leftover(named_mass(answers), np.ones(answers.impossible.shape), gamma)


def check_gamma(gamma: float, released: bool) -> None:
    """Raise unless `gamma` is a share, and 0 with `as_released` where the published rule has none."""
    share("gamma", gamma)
    if released and gamma:
        raise BadSetting(
            f"gamma = {gamma} together with as_released",
            "no gamma: the published rule has none here",
            "omit one of the two",
        )


@dataclass(frozen=True)
class TopTwoSimilar(TopTwoLabeler):
    """Both named classes as given, the rest by similarity to the first.

    As `TopTwoClamp`, but the rest is spread over the possible classes in proportion to their similarity to the first
    class, or equally if none is similar. `respect_impossible=False` ignores the classes marked impossible, as in the
    comparison in Collins' thesis (2022, appendix B.4, cosine similarity of word vectors).
    """

    similarity: ClassSimilarity = field(kw_only=True)
    gamma: float = 0.1
    respect_impossible: bool = True
    only_first: bool = False

    name: ClassVar[str] = "top-two-similar"

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        arrays = read_top_two(answers, index)
        arrays = arrays.only_first() if self.only_first else arrays
        mass = named_mass(arrays)
        free = (possible(arrays) if self.respect_impossible else np.ones(mass.shape, dtype=bool)) & (mass == 0)
        room = np.where(free, self.similarity.ordered(list(index))[arrays.first], 0.0)
        has_similar = room.sum(axis=1, keepdims=True) > 0
        return spread_leftover(mass, np.where(has_similar, room, free.astype(np.float64)), self.gamma)


@dataclass(frozen=True)
class TopOneClamp(TopTwoLabeler):
    """Only the first class as given, the rest on the classes not marked impossible.

    The clamp rule without the second class ("T1, Clamp" in Collins, Bhatt and Weller 2022), to measure the value of
    the second question. For labels to use, prefer `top-two-clamp`.
    """

    gamma: float = 0.1
    as_released: bool = False

    name: ClassVar[str] = "top-one-clamp"

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        return clamp(read_top_two(answers, index).only_first(), self.gamma, released=self.as_released)


@dataclass(frozen=True)
class TopOneUniform(TopTwoLabeler):
    """Only the first class as given, the rest equally on all others.

    "T1, Unif" in Collins, Bhatt and Weller (2022): label smoothing with the annotator's own confidence.
    """

    gamma: float = 0.0
    as_released: bool = False

    name: ClassVar[str] = "top-one-uniform"

    def __post_init__(self) -> None:
        check_gamma(self.gamma, self.as_released)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        return uniform(read_top_two(answers, index).only_first(), self.gamma, released=self.as_released)


@dataclass(frozen=True)
class SelectTopTwo(TopTwoLabeler):
    """Half on each named class, without percents.

    All mass on the first if there is no second, or if both are the same class. The label of a form without percents
    ("Select Top 2 Only" in Collins, Bhatt and Weller 2022), to measure the value of percents. `gamma` > 0 spreads this
    share over the other classes; the published rule has none. The published code gives the same labels, so
    `as_released` changes nothing.
    """

    gamma: float = 0.0
    as_released: bool = False

    name: ClassVar[str] = "select-top-two"

    def __post_init__(self) -> None:
        check_gamma(self.gamma, self.as_released)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        named = np.zeros((len(answers), len(index)))
        rows = np.arange(len(answers))
        named[rows, class_codes([a.first for a in answers], index)] = 1
        named[rows, class_codes([a.first if a.second is None else a.second for a in answers], index)] = 1
        n_named = named.sum(axis=1, keepdims=True)
        n_others = np.maximum(len(index) - n_named, 1)
        held_back = np.where(n_named < len(index), self.gamma, 0.0)
        return np.asarray((1 - held_back) * named / n_named + held_back * (1 - named) / n_others)
