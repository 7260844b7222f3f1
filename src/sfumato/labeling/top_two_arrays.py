"""Top-two answers as arrays, and the rules for the remaining mass.

An annotator gives percents for one or two classes and marks others impossible. `spread_leftover` is our rule for the
rest; `as_released` repeats the CIFAR-10S code (Collins, Bhatt and Weller 2022) exactly, to reproduce the published
labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.labeling.labeler import AnswerFault, class_codes, only_kind
from sfumato.tables.annotations import Annotations
from sfumato.tables.payloads import TopTwoPayload

ROUNDING = 1e-9


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
        none = np.full(len(self.first), -1)
        return TopTwoArrays(
            self.first,
            self.first_percent,
            none,
            np.full(len(self.first), np.nan),
            self.impossible,
            self.n_impossible,
        )


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
    _check_percents(first_percent, second_percent)
    first_percent[first_percent == 0] = 100
    return TopTwoArrays(
        class_codes([a.first for a in answers], index),
        first_percent,
        second,
        second_percent,
        impossible,
        lengths,
    )


def has_bad_percents(annotations: Annotations) -> Bool[np.ndarray, "rows"]:
    """Which top-two answers have no first percent, or a percent outside 0..100."""
    kind = only_kind(annotations, ("top_two",))
    parts = [np.zeros(0, dtype=bool)]
    for answers, inverse, _ in annotations.decoded(kind):
        first = np.array([a.first_percent for a in answers], dtype=np.float64)
        second = np.array([a.second_percent if a.second is not None else None for a in answers], dtype=np.float64)
        parts.append(_bad_percents(first, second)[inverse])
    return np.concatenate(parts)


def _bad_percents(first: Float[np.ndarray, "answers"], second: Float[np.ndarray, "answers"]) -> np.ndarray:
    return np.asarray(~((first >= 0) & (first <= 100)) | (second < 0) | (second > 100))


def _check_percents(first: Float[np.ndarray, "answers"], second: Float[np.ndarray, "answers"]) -> None:
    wrong = _bad_percents(first, second)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise AnswerFault(
            at,
            "no first percent" if np.isnan(first[at]) else "a percent outside 0..100",
            "percents from 0 to 100, the first always given",
            "skip such answers with --skip-bad-percents; `sfumato screen --by cifar-10s` lists their annotators",
            "bad-percent",
        )


def named_mass(answers: TopTwoArrays) -> Float[np.ndarray, "answers classes"]:
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


def spread_leftover(
    mass: Float[np.ndarray, "answers classes"], room: Float[np.ndarray, "answers classes"], gamma: float
) -> Float[np.ndarray, "answers classes"]:
    """Distributions: the rest of the named `mass` (1 - its sum, or `gamma` of it if the sum is 1 or more) goes to the
    classes with `room`, in proportion. Without room the mass is normalized."""
    total = mass.sum(axis=1)
    room = np.where(mass > 0, 0.0, room)
    capacity = room.sum(axis=1)
    fits = capacity > 0
    # Shares that add up to 1 may miss it by rounding: 0.1 + 0.2 + 0.7 is 0.9999999999999999.
    below = total < 1 - ROUNDING
    leftover = np.where(below, 1 - total, gamma)
    kept = np.where(below, 1.0, (1 - gamma) / np.maximum(total, 1 - ROUNDING))
    each = np.divide(leftover, capacity, out=np.zeros(len(mass)), where=fits)
    return np.asarray(np.where(fits[:, None], mass * kept[:, None], mass / total[:, None]) + room * each[:, None])


def as_released(answers: TopTwoArrays, gamma: float, *, clamp: bool) -> Float[np.ndarray, "answers classes"]:
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
