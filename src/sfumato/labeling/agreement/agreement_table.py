"""The table of agreement measures: values, intervals, and where the width of the intervals comes from."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.base_table import ColumnTable

WIDTH = 110
EXPLAINED = (
    "Half-width: half of the interval. Another crowd: the interval above, for other items and other annotators, as "
    "many as here. Same crowd: other items, these annotators. Twice the items, twice the crowd: expected in a study of "
    "that size. Variance: the parts due to items, annotators and single answers."
)
NOTHING = "nothing to compare: no item was answered by two people"


@dataclass(frozen=True, eq=False, repr=False)
class AgreementTable(ColumnTable):
    """One row per measure: its value, its interval from `low` to `high` with its method, and the numbers of items,
    annotators and answers used (for test-retest, the repeated answers). NaN if it could not be computed.

    `share_items`, `share_annotators` and `share_answers` are the parts of the variance: the interval is wide because
    there are few items, few annotators, or because single answers vary. `half_same_annotators`, `half_twice_items` and
    `half_twice_annotators` are half of the interval's expected width for other items and the same annotators, with
    twice the items, and with twice the annotators. They are NaN if the interval is over items alone; `n_annotators` is
    0 if annotators are not known.
    """

    measure: tuple[str, ...]
    value: Float[np.ndarray, "measures"]
    low: Float[np.ndarray, "measures"]
    high: Float[np.ndarray, "measures"]
    n_items: Int[np.ndarray, "measures"]
    n_annotators: Int[np.ndarray, "measures"]
    n_answers: Int[np.ndarray, "measures"]
    interval: tuple[str, ...]
    share_items: Float[np.ndarray, "measures"]
    share_annotators: Float[np.ndarray, "measures"]
    share_answers: Float[np.ndarray, "measures"]
    half_same_annotators: Float[np.ndarray, "measures"]
    half_twice_items: Float[np.ndarray, "measures"]
    half_twice_annotators: Float[np.ndarray, "measures"]

    def lines(self) -> list[str]:
        """The table as text: values, the methods of the intervals, and what makes them wide."""
        if not len(self):
            return [NOTHING]
        lines = self._values() + self._methods()
        parts = self._parts()
        return [*lines, "", *parts, *textwrap.wrap(EXPLAINED, WIDTH, break_on_hyphens=False)] if parts else lines

    def _values(self) -> list[str]:
        rows: list[tuple[str, ...]] = [("measure", "value", "low", "high", "items", "annotators", "answers")]
        for i, name in enumerate(self.measure):
            figures = (_number(each[i]) for each in (self.value, self.low, self.high))
            annotators = f"{self.n_annotators[i]:,}" if self.n_annotators[i] else "-"
            rows.append((name, *figures, f"{self.n_items[i]:,}", annotators, f"{self.n_answers[i]:,}"))
        return _aligned(rows)

    def _methods(self) -> list[str]:
        """One line per method of an interval, with the measures if they differ."""
        lines = []
        for kind in dict.fromkeys(self.interval):
            of = [name for name, its in zip(self.measure, self.interval, strict=True) if its == kind]
            whose = "" if len(of) == len(self) else f" of {', '.join(of)}"
            lines.append(f"interval{whose}: {kind}")
        return lines

    def _parts(self) -> list[str]:
        """Where the width of the intervals over annotators and items comes from; nothing if there are none."""
        head = ("half-width with", "another crowd", "same crowd", "twice the items", "twice the crowd")
        rows: list[tuple[str, ...]] = [(*head, "variance: items", "annotators", "answers")]
        for i in np.flatnonzero(~np.isnan(self.share_items)).tolist():
            now = (self.high[i] - self.low[i]) / 2
            widths = (now, self.half_same_annotators[i], self.half_twice_items[i], self.half_twice_annotators[i])
            shares = (self.share_items[i], self.share_annotators[i], self.share_answers[i])
            rows.append((self.measure[i], *map(_number, widths), *(f"{share:.0%}" for share in shares)))
        return _aligned(rows) if len(rows) > 1 else []


@dataclass(frozen=True)
class AgreementFigure:
    """A row of the table."""

    measure: str
    value: float
    low: float
    high: float
    n_items: int
    n_annotators: int
    n_answers: int
    interval: str
    share_items: float
    share_annotators: float
    share_answers: float
    half_same_annotators: float
    half_twice_items: float
    half_twice_annotators: float


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as lines, the first column on the left, the others on the right of their columns."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
