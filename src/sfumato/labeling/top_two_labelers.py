"""Labelers of the question type top_two: six ways to convert one answer into a distribution.

An annotator gives percents for one or two classes and marks others impossible. `spread_leftover` is our rule for the
remaining mass; `as_released` repeats the CIFAR-10S code (Collins, Bhatt and Weller 2022) exactly, to reproduce the
published labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.labeling.class_similarity import ClassSimilarity
from sfumato.labeling.labeler import AnswerFault, Probs, beliefs_from, class_codes, per_answer, spread_leftover
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.payloads import TopTwoPayload
from sfumato.tables.setting_checks import share


@dataclass(frozen=True)
class TopTwoArrays:
    """Top-two answers as columns; `second` is -1 and `second_percent` NaN if not given."""

    first: Int[np.ndarray, "answers"]
    first_percent: Float[np.ndarray, "answers"]
    second: Int[np.ndarray, "answers"]
    second_percent: Float[np.ndarray, "answers"]
    impossible: Bool[np.ndarray, "answers classes"]
    n_impossible: Int[np.ndarray, "answers"]

    def only_first(self) -> TopTwoArrays:
        """The same answers without the second class."""
        n = len(self.first)
        return replace(self, second=np.full(n, -1), second_percent=np.full(n, np.nan))


def read_top_two(answers: list[TopTwoPayload], index: dict[str, int]) -> TopTwoArrays:
    """Answers as arrays, as in CIFAR-10S: a first percent of 0 means 100; a second percent without a second class is
    ignored. Percents that are missing or outside 0..100 are an error; screening lists them."""
    marks = [a.impossible for a in answers]
    lengths = np.fromiter(map(len, marks), np.int64, len(answers))
    owner = np.repeat(np.arange(len(answers)), lengths)
    marked = class_codes(list(chain.from_iterable(marks)), index, owner)
    impossible = np.zeros((len(answers), len(index)), dtype=bool)
    impossible[owner, marked] = True
    first_percent = np.array([a.first_percent for a in answers], dtype=np.float64)
    named = [i for i, a in enumerate(answers) if a.second is not None]
    second = np.full(len(answers), -1)
    second[named] = class_codes([str(answers[i].second) for i in named], index, named)
    second_percent = np.array([a.second_percent for a in answers], dtype=np.float64)
    second_percent[second < 0] = np.nan
    for i, answer in enumerate(answers):
        if bad_percents(answer):
            found = "no first percent" if answer.first_percent is None else "a percent outside 0..100"
            expected = "percents from 0 to 100, the first always given"
            fix = "skip such answers with --skip-bad-percents; `sfumato screen --by cifar-10s` lists their annotators"
            raise AnswerFault(i, found, expected, fix, "bad-percent")
    first_percent[first_percent == 0] = 100
    first = class_codes([a.first for a in answers], index)
    return TopTwoArrays(first, first_percent, second, second_percent, impossible, lengths)


def has_bad_percents(annotations: Annotations) -> Bool[np.ndarray, "rows"]:
    """Which top-two answers have no first percent, or a percent outside 0..100."""
    return per_answer(annotations, "top_two", bad_percents, bool)


def bad_percents(answer: TopTwoPayload) -> bool:
    """Whether the answer has no first percent, or a percent outside 0..100."""
    second = None if answer.second is None else answer.second_percent
    given = [percent for percent in (answer.first_percent, second) if percent is not None]
    return answer.first_percent is None or not all(0 <= percent <= 100 for percent in given)


def named_mass(answers: TopTwoArrays) -> Probs:
    """The mass on the named classes, as shares; if one class is named twice, the first percent counts."""
    rows = np.arange(len(answers.first))
    mass = np.zeros(answers.impossible.shape)
    given = (answers.second >= 0) & ~np.isnan(answers.second_percent)
    mass[rows[given], answers.second[given]] = answers.second_percent[given] / 100
    mass[rows, answers.first] = answers.first_percent / 100
    return mass


def possible(answers: TopTwoArrays) -> Bool[np.ndarray, "answers classes"]:
    """The possible classes: those not marked impossible, and the named ones."""
    rows = np.arange(len(answers.first))
    result = ~answers.impossible
    result[rows, answers.first] = True
    has_second = answers.second >= 0
    result[rows[has_second], answers.second[has_second]] = True
    return result


def as_released(answers: TopTwoArrays, gamma: float, *, clamp: bool) -> Probs:
    """The labels of the published code, errors included: classes are counted instead of kept as sets, so a class that
    is both named and marked impossible counts twice, and a class named twice keeps only its second percent."""
    rows = np.arange(len(answers.first))
    p = np.zeros(answers.impossible.shape)
    p[rows, answers.first] = answers.first_percent
    given = (answers.second >= 0) & ~np.isnan(answers.second_percent)
    p[rows[given], answers.second[given]] = answers.second_percent[given]
    p /= 100
    total = p.sum(axis=1)
    below = total < 1
    p /= np.where(below, 1.0, total)[:, None]
    zero = p == 0
    if clamp:
        n_free = answers.impossible.shape[1] - answers.n_impossible - (~zero).sum(axis=1)
        takes = zero & ~answers.impossible
        held_back = np.where(n_free != 0, gamma, 0.0)
    else:
        n_free = zero.sum(axis=1)
        takes = zero
        held_back = np.zeros(len(p))
    spread = np.where(below, 1 - total, held_back)
    shrink = np.where(below, 1.0, 1 - held_back)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(n_free != 0, spread / n_free, 0.0)
    p = np.where(takes, each[:, None], p * shrink[:, None])
    return np.asarray(p / p.sum(axis=1, keepdims=True))


class _TopTwoLabeler:
    """Labels every answer by the rule of `probs`."""

    kinds: ClassVar[tuple[str, ...]] = ("top_two",)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self.probs)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Probs:
        """One distribution per answer."""
        raise NotImplementedError


@dataclass(frozen=True)
class TopTwoClamp(_TopTwoLabeler):
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

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Probs:
        return clamp(read_top_two(answers, index), self.gamma, released=self.as_released)


def clamp(answers: TopTwoArrays, gamma: float, *, released: bool = False) -> Probs:
    """The clamp rule on answers as arrays."""
    if released:
        return as_released(answers, gamma, clamp=True)
    return spread_leftover(named_mass(answers), possible(answers).astype(np.float64), gamma)


@dataclass(frozen=True)
class TopTwoUniform(_TopTwoLabeler):
    """Both named classes as given, the rest equally on all others.

    The classes marked impossible are ignored ("T2, Unif" in Collins, Bhatt and Weller 2022). In the published rule
    nothing is left for the others when the percents reach 100; `gamma` > 0 gives them this share.
    """

    gamma: float = 0.0
    as_released: bool = False

    name: ClassVar[str] = "top-two-uniform"

    def __post_init__(self) -> None:
        check_gamma(self.gamma, self.as_released)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Probs:
        return uniform(read_top_two(answers, index), self.gamma, released=self.as_released)


def uniform(answers: TopTwoArrays, gamma: float, *, released: bool = False) -> Probs:
    """The uniform rule on answers as arrays."""
    if released:
        return as_released(answers, 0.0, clamp=False)
    return spread_leftover(named_mass(answers), np.ones(answers.impossible.shape), gamma)


def check_gamma(gamma: float, released: bool) -> None:
    """Raise unless `gamma` is a share, and 0 with `as_released` where the published rule has none."""
    share("gamma", gamma)
    if released and gamma:
        expected = "no gamma: the published rule has none here"
        raise BadSetting(f"gamma = {gamma} together with as_released", expected, "omit one of the two")


@dataclass(frozen=True)
class TopTwoSimilar(_TopTwoLabeler):
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

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Probs:
        arrays = read_top_two(answers, index)
        arrays = arrays.only_first() if self.only_first else arrays
        mass = named_mass(arrays)
        free = (possible(arrays) if self.respect_impossible else np.ones(mass.shape, dtype=bool)) & (mass == 0)
        room = np.where(free, self.similarity.ordered(list(index))[arrays.first], 0.0)
        has_similar = room.sum(axis=1, keepdims=True) > 0
        return spread_leftover(mass, np.where(has_similar, room, free.astype(np.float64)), self.gamma)


@dataclass(frozen=True)
class TopOneClamp(_TopTwoLabeler):
    """Only the first class as given, the rest on the classes not marked impossible.

    The clamp rule without the second class ("T1, Clamp" in Collins, Bhatt and Weller 2022), to measure the value of
    the second question. For labels to use, prefer `top-two-clamp`.
    """

    gamma: float = 0.1
    as_released: bool = False

    name: ClassVar[str] = "top-one-clamp"

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Probs:
        return clamp(read_top_two(answers, index).only_first(), self.gamma, released=self.as_released)


@dataclass(frozen=True)
class TopOneUniform(_TopTwoLabeler):
    """Only the first class as given, the rest equally on all others.

    "T1, Unif" in Collins, Bhatt and Weller (2022): label smoothing with the annotator's own confidence.
    """

    gamma: float = 0.0
    as_released: bool = False

    name: ClassVar[str] = "top-one-uniform"

    def __post_init__(self) -> None:
        check_gamma(self.gamma, self.as_released)

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Probs:
        return uniform(read_top_two(answers, index).only_first(), self.gamma, released=self.as_released)


@dataclass(frozen=True)
class SelectTopTwo(_TopTwoLabeler):
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

    def probs(self, answers: list[TopTwoPayload], index: dict[str, int]) -> Probs:
        named = np.zeros((len(answers), len(index)))
        rows = np.arange(len(answers))
        named[rows, class_codes([a.first for a in answers], index)] = 1
        named[rows, class_codes([a.first if a.second is None else a.second for a in answers], index)] = 1
        n_named = named.sum(axis=1, keepdims=True)
        n_others = np.maximum(len(index) - n_named, 1)
        held_back = np.where(n_named < len(index), self.gamma, 0.0)
        return np.asarray((1 - held_back) * named / n_named + held_back * (1 - named) / n_others)
