"""Intraclass correlation (ICC): agreement of numbers, such as ratings or sliders, as a share of variance.

A belief is a point: over ordered classes its mean position on the scale (0, 1, ...), over two classes the probability
of the second, and over other classes all its probabilities, whose sums of squares are added. Names are those of McGraw
and Wong (1996); Shrout and Fleiss (1979) call ICC(A,1) and ICC(C,1) ICC(2,1) and ICC(3,1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import FirstAnswers, ItemAnswers
from sfumato.tables.two_way import LeaveOneOut, Sums, Values

NO_SPREAD = 1e-20
ALIKE = "every answer is the same, so there is no variance"
INCOMPLETE = "not every annotator answered about every item, or there is no variance; icc-1 needs no complete table"


def points_of(answers: ItemAnswers) -> Float[np.ndarray, "rows dimensions"]:
    """The answers as points, relative to their mean."""
    first = answers.first
    if answers.is_ordered or first.n_classes == 2:
        place = np.arange(first.n_classes, dtype=np.float64)
        points = (place[first.hard] if first.soft is None else first.soft @ place)[:, None]
    else:
        points = np.eye(first.n_classes)[first.hard] if first.soft is None else first.soft
    return np.asarray(points - points.mean(axis=0))


def one_way(answers: ItemAnswers, *, average: bool) -> LeaveOneOut:
    """ICC(1) or ICC(k) from a one-way analysis of variance; the number of answers may differ between items."""
    first, points = answers.first, points_of(answers)
    item, n = first.item, first.per_item.astype(np.float64)
    sums = np.asarray(np.add.reduceat(points, first.starts, axis=0))
    away = ((points - (sums / n[:, None])[item]) ** 2).sum(axis=1)
    within = np.bincount(item, weights=away, minlength=len(n))

    def columns(within: np.ndarray, n: np.ndarray, sums: np.ndarray) -> Sums:
        squares = (sums**2).sum(axis=1) / np.maximum(n, 1)
        return np.column_stack([within, n, np.ones(len(n)), squares, n**2, sums])

    def without(rows: Int[np.ndarray, "cases"]) -> Sums:
        of = item[rows]
        left = n[of] - 1
        less = np.maximum(within[of] - away[rows] * n[of] / left, 0)
        found = columns(less, left, sums[of] - points[rows])
        found[left < 2] = 0
        return found

    def value(totals: Sums) -> Values:
        within, n, n_items, squares, n_squares, mass = *totals[:, :5].T, totals[:, 5:]
        with np.errstate(divide="ignore", invalid="ignore"):
            between = (squares - (mass**2).sum(axis=1) / n) / (n_items - 1)
            error = within / (n - n_items)
            per_item = (n - n_squares / n) / (n_items - 1)
            single = between + (per_item - 1) * error
            found = (between - error) / (between if average else single)
        return np.where((n_items > 1) & (single > NO_SPREAD), found, np.nan)

    return first.design.function_of_sums(columns(within, n, sums), without, value)


@dataclass(frozen=True, eq=False)
class _Squares:
    """Sums of squares of a complete table: of all numbers, of the sums per item and per annotator, and of the total."""

    all: Values
    items: Values
    people: Values
    total: Values
    n: Values
    k: Values
    missing: float = 0.0

    def icc(self, *, consistency: bool, average: bool) -> Values:
        n, k = self.n, self.k
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self.total / (n * k)
            rows, columns = self.items / k - mean, self.people / n - mean
            error = (self.all - mean - rows - columns) / ((n - 1) * (k - 1) - self.missing)
            rows, columns = rows / (n - 1), columns / (k - 1)
            people = 0.0 if consistency else (columns - error) / n
            below = rows + people if average else rows + (k - 1) * error + k * people
            found = (rows - error) / below
        return np.where((n > 1) & (k > 1) & (rows + np.abs(error) > NO_SPREAD), found, np.nan)


def complete_table(first: FirstAnswers, points: np.ndarray) -> Float[np.ndarray, "items people dimensions"] | None:
    """The points by item and annotator; None unless every annotator answered about every item."""
    n, k = first.n_items, first.design.n_people
    if len(first.item) != n * k:
        return None
    table = np.empty((n, k, points.shape[1]))
    table[first.item, first.design.person] = points
    return table


def two_way_icc(answers: ItemAnswers, *, consistency: bool, average: bool) -> LeaveOneOut:
    """ICC(A) or ICC(C) from a two-way analysis of variance without replication.

    Without one answer, its place gets the number that fits items and annotators best (Yates 1933).
    """
    first = answers.first
    x = complete_table(first, points_of(answers))
    sizes = first.per_item.astype(np.float64), np.full(first.design.n_people, float(first.n_items))
    if x is None:
        item, person, answer = (np.full(n, np.nan) for n in (first.n_items, first.design.n_people, len(first.item)))
        return LeaveOneOut(np.nan, item, person, answer, np.ones(len(first.item)), *sizes)
    n, k, _ = x.shape
    of_items, of_people, total = x.sum(axis=1), x.sum(axis=0), x.sum(axis=(0, 1))
    squares, items, people = (x**2).sum(axis=2), (of_items**2).sum(axis=1), (of_people**2).sum(axis=1)

    def icc(
        numbers: np.ndarray, items: np.ndarray, people: np.ndarray, total: np.ndarray, n: int, k: int,
        missing: float = 0.0,
    ) -> Values:  # fmt: skip
        shape = np.ones(len(numbers))
        squares = _Squares(numbers, items, people, total, n * shape, k * shape, missing)
        return squares.icc(consistency=consistency, average=average)

    def length(vectors: np.ndarray) -> np.ndarray:
        return np.asarray((vectors**2).sum(axis=-1))

    everything = squares.sum(), items.sum(), people.sum(), length(total)
    numbers, by_item, by_person, together = (np.array([each]) for each in everything)
    whole = icc(numbers, by_item, by_person, together, n, k)
    without_item = icc(
        everything[0] - squares.sum(axis=1), everything[1] - items, length(of_people[None] - x).sum(axis=1),
        length(total - of_items), n - 1, k,
    )  # fmt: skip
    without_person = icc(
        everything[0] - squares.sum(axis=0), length(of_items[:, None] - x).sum(axis=0), everything[2] - people,
        length(total - of_people), n, k - 1,
    )  # fmt: skip
    room = (n - 1) * (k - 1)
    fitted = (n * (of_items[:, None] - x) + k * (of_people[None] - x) - (total - x)) / max(room, 1)
    moved = fitted - x
    without_answer = icc(
        (everything[0] - squares + length(fitted)).ravel(),
        (everything[1] - items[:, None] + length(of_items[:, None] + moved)).ravel(),
        (everything[2] - people[None] + length(of_people[None] + moved)).ravel(),
        length(total + moved).ravel(), n, k, missing=1.0 if room > 1 else 0.0,
    )  # fmt: skip
    return LeaveOneOut(float(whole[0]), without_item, without_person, without_answer, np.ones(n * k), *sizes)


SINGLE, MEAN = (-1.0, 1.0), (-np.inf, 1.0)
"""The bounds of the reliability of one answer, and of the mean answer."""


class _FirstAnswersMeasure:
    """What all measures of this module have in common."""

    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[float, float]] = SINGLE


@dataclass(frozen=True)
class IccOneWay(_FirstAnswersMeasure):
    """Intraclass correlation ICC(1): the share of variance between items; any annotators.

    `(MSB - MSW) / (MSB + (k - 1) MSW)`. For ratings and sliders by a crowd; any number of answers per item.
    """

    name: ClassVar[str] = "icc-1"
    undefined: ClassVar[str] = ALIKE

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return one_way(answers, average=False)


@dataclass(frozen=True)
class IccAgreement(_FirstAnswersMeasure):
    """Intraclass correlation ICC(A,1) = ICC(2,1): absolute agreement, complete table.

    `(MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n)`: annotators who rate higher than others disagree.
    """

    name: ClassVar[str] = "icc-a1"
    undefined: ClassVar[str] = INCOMPLETE
    needs_annotators: ClassVar[bool] = True

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return two_way_icc(answers, consistency=False, average=False)


@dataclass(frozen=True)
class IccConsistency(_FirstAnswersMeasure):
    """Intraclass correlation ICC(C,1) = ICC(3,1): consistency, complete table.

    `(MSR - MSE) / (MSR + (k - 1) MSE)`: the level of an annotator does not count.
    """

    name: ClassVar[str] = "icc-c1"
    undefined: ClassVar[str] = INCOMPLETE
    needs_annotators: ClassVar[bool] = True

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return two_way_icc(answers, consistency=True, average=False)


@dataclass(frozen=True)
class IccOneWayMean(_FirstAnswersMeasure):
    """Intraclass correlation ICC(k): reliability of the mean answer; any annotators."""

    name: ClassVar[str] = "icc-1k"
    undefined: ClassVar[str] = ALIKE
    bounds: ClassVar[tuple[float, float]] = MEAN

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return one_way(answers, average=True)


@dataclass(frozen=True)
class IccAgreementMean(_FirstAnswersMeasure):
    """Intraclass correlation ICC(A,k) = ICC(2,k): absolute agreement of the mean answer."""

    name: ClassVar[str] = "icc-ak"
    undefined: ClassVar[str] = INCOMPLETE
    bounds: ClassVar[tuple[float, float]] = MEAN
    needs_annotators: ClassVar[bool] = True

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return two_way_icc(answers, consistency=False, average=True)


@dataclass(frozen=True)
class IccConsistencyMean(_FirstAnswersMeasure):
    """Intraclass correlation ICC(C,k) = ICC(3,k), Cronbach's alpha: consistency of the mean."""

    name: ClassVar[str] = "icc-ck"
    undefined: ClassVar[str] = INCOMPLETE
    bounds: ClassVar[tuple[float, float]] = MEAN
    needs_annotators: ClassVar[bool] = True

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return two_way_icc(answers, consistency=True, average=True)
