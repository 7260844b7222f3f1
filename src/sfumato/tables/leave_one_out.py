"""Values of a figure without each item, each person and each answer, for the intervals of `two_way`.

For `function_of_sums`, `item_sums` has one row of sums per item (agreement: disagreeing pairs, answers per class), and
`without` the same sums of the item if one answer is left out. A person answers once per item there, so the changes of a
person's answers add up. Votes of the same class about an item are the same case: `which` gives the case of each answer,
and `without` has one row per case. A figure with leave-one-out values of its own makes a `LeaveOneOut` directly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csc_array

NUMBERS_AT_ONCE = 2**22

Sums = Float[np.ndarray, "rows sums"]
Values = Float[np.ndarray, "rows"]


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """A figure, and what it is without each item, each person and each answer; NaN if it is undefined then."""

    value: float
    without_item: Float[np.ndarray, "items"]
    without_person: Float[np.ndarray, "people"]
    without_answer: Float[np.ndarray, "cases"]
    times: Float[np.ndarray, "cases"]
    """The number of answers in each case."""
    item_sizes: Float[np.ndarray, "items"]
    """The answers about each item, or their weights."""
    person_sizes: Float[np.ndarray, "people"]


@dataclass(frozen=True, eq=False)
class AnswerDesign:
    """Who answered about which item: one row per answer, items and people numbered without gaps."""

    item: Int[np.ndarray, "answers"]
    person: Int[np.ndarray, "answers"]
    n_items: int
    n_people: int

    @classmethod
    def of(cls, item: Int[np.ndarray, "answers"], person: Int[np.ndarray, "answers"] | None) -> AnswerDesign:
        """From any codes of items and people; those without an answer are left out.

        Without `person` the people are not known and count as one: there are intervals over items alone.
        """
        person = np.zeros(len(item), np.int64) if person is None else person
        items, people = (_numbered(np.asarray(codes)) for codes in (item, person))
        return cls(items, people, _n_codes(items), _n_codes(people))

    @cached_property
    def cell(self) -> Int[np.ndarray, "answers"]:
        """The pair of item and person of each answer, numbered without gaps, in order of the items."""
        return _numbered(self.item.astype(np.int64) * self.n_people + self.person)

    @cached_property
    def n_cells(self) -> int:
        return _n_codes(self.cell)

    def mean(
        self, values: Float[np.ndarray, "answers"], weights: Float[np.ndarray, "answers"] | None = None
    ) -> LeaveOneOut:
        """The mean of `values` over answers; several answers of a person about an item are left out together."""
        weights = np.ones(len(values)) if weights is None else weights
        if not np.isfinite(values).all():
            return self._not_finite(float((weights * values).sum()))
        codes = ((self.item, self.n_items), (self.person, self.n_people), (self.cell, self.n_cells))
        above = [np.bincount(code, weights=weights * values, minlength=n) for code, n in codes]
        below = [np.bincount(code, weights=weights, minlength=n) for code, n in codes]
        whole = _ratio(above[0].sum(), below[0].sum())
        # Relative to the mean, which avoids cancellation.
        rest = [
            whole
            + _ratio(whole * b - a, below[0].sum() - np.where(b < below[0].sum() * (1 - 1e-12), b, below[0].sum()))
            for a, b in zip(above, below, strict=True)
        ]
        return LeaveOneOut(float(whole), rest[0], rest[1], rest[2], np.ones(self.n_cells), below[0], below[1])

    def mean_over_items(
        self, values: Float[np.ndarray, "answers"], weights: Float[np.ndarray, "items"] | None = None
    ) -> LeaveOneOut:
        """The mean over items (with `weights`) of the mean of `values` over the answers about an item."""
        weights = np.ones(self.n_items) if weights is None else weights
        if not np.isfinite(values).all():
            return self._not_finite(float(values.sum()))
        above, n = (np.bincount(self.cell, weights=each, minlength=self.n_cells) for each in (values, None))
        firsts = np.unique(self.cell, return_index=True)[1]
        cells = AnswerDesign(self.item[firsts], self.person[firsts], self.n_items, self.n_people)
        item = cells.item
        item_above, item_n = (np.bincount(item, weights=each, minlength=self.n_items) for each in (above, n))
        means = item_above / item_n
        rest = item_n[item] - n
        kept = rest > 0
        mean_without = np.divide(item_above[item] - above, rest, out=np.zeros(self.n_cells), where=kept)
        without = (weights[item] * kept)[:, None] * np.column_stack([mean_without, np.ones(self.n_cells)])
        return cells.function_of_sums(
            weights[:, None] * np.column_stack([means, np.ones(self.n_items)]), without, ratio
        )

    def _not_finite(self, value: float) -> LeaveOneOut:
        """An infinite or undefined value, as a cross-entropy is if a class that somebody chose has probability 0."""
        items, people, cells = (np.full(n, np.nan) for n in (self.n_items, self.n_people, self.n_cells))
        return LeaveOneOut(value, items, people, cells, np.ones(self.n_cells), items, people)

    def function_of_sums(
        self,
        item_sums: Float[np.ndarray, "items sums"],
        without: Sums | Callable[[Int[np.ndarray, "some_cases"]], Sums],
        value: Callable[[Sums], Values],
        *,
        which: Int[np.ndarray, "answers"] | None = None,
    ) -> LeaveOneOut:
        """`value` computes the figure from sums over all items, one per row; NaN if undefined.

        `without` has the sums of an answer's item without that answer: row `which[r]` is that of answer `r`, or row `r`
        if there is no `which`. It may be a function of the numbers of rows, which saves memory.
        """
        which = np.arange(len(self.item)) if which is None else which
        times = np.bincount(which).astype(np.float64)
        item_of = np.zeros(len(times), np.int64)
        item_of[which] = self.item
        by_person = csc_array((np.ones(len(which)), (self.person, which)), shape=(self.n_people, len(times)))
        totals = item_sums.sum(axis=0)
        changes, values = np.zeros((self.n_people, len(totals))), np.empty(len(times))
        for some in _slices(len(times), len(totals)):
            cases = np.arange(some.start, some.stop)
            change = item_sums[item_of[some]] - (without(cases) if callable(without) else without[some])
            values[some] = value(totals - change)
            changes += by_person[:, some] @ change
        without_item = [value(totals - item_sums[some]) for some in _slices(len(item_sums), len(totals))]
        used = times > 0
        return LeaveOneOut(
            float(value(totals[None])[0]), np.concatenate(without_item), value(totals - changes),
            values[used], times[used],
            np.bincount(self.item, minlength=self.n_items).astype(np.float64),
            np.bincount(self.person, minlength=self.n_people).astype(np.float64),
        )  # fmt: skip


def ratio(totals: Sums) -> Values:
    """The first sum divided by the second, NaN where that is 0: the value of a mean."""
    return np.asarray(_ratio(totals[:, 0], totals[:, 1]))


def _ratio(above: Values, below: Values) -> Values:
    return np.asarray(np.divide(above, below, out=np.full(np.shape(below), np.nan), where=np.asarray(below) > 0))


def _slices(n_rows: int, n_columns: int) -> list[slice]:
    """Parts of the rows that fit into memory."""
    at_once = max(1, NUMBERS_AT_ONCE // n_columns)
    return [slice(start, min(start + at_once, n_rows)) for start in range(0, n_rows, at_once)]


def _numbered(codes: Int[np.ndarray, "rows"]) -> Int[np.ndarray, "rows"]:
    """The same groups, numbered without gaps in the order of the codes."""
    if not len(codes):
        return codes.astype(np.int64)
    if codes.min() >= 0 and codes.max() < 4 * len(codes) + 1000:
        present = np.bincount(codes) > 0
        return np.asarray((np.cumsum(present) - 1)[codes])
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def _n_codes(codes: Int[np.ndarray, "rows"]) -> int:
    return int(codes.max()) + 1 if len(codes) else 0
