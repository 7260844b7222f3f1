"""Exchange rates: so many answers of a kind are worth so many hard votes, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.planning.goals import Goal
from sfumato.tables.files import read_rows
from sfumato.tables.table import Table, columns_of, rows_of


@dataclass(frozen=True)
class ExchangeRate:
    """`n_answers` rich answers an item are worth `votes` hard votes an item, between `low` and `high` in 95 of 100.

    Infinite where even the `most` votes that could be given were worth less; 0 where one knows as much without asking.
    """

    kind: str
    goal: str
    measure: str
    n_answers: int
    votes: float
    low: float
    high: float
    most: int
    n_items: int
    source: str


@dataclass(frozen=True, eq=False, repr=False)
class ExchangeRates(Table):
    """One row a goal, measure and number of answers an item."""

    rates: tuple[ExchangeRate, ...]

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.rates[start:stop], ExchangeRate)

    def __len__(self) -> int:
        return len(self.rates)

    @classmethod
    def read(cls, path: str | Path) -> ExchangeRates:
        """The rates that `sfumato plan compare --rates` wrote."""
        return cls(rows_of(read_rows(path), ExchangeRate))

    def by_kind(self) -> dict[str, ExchangeRates]:
        """The rates of each kind by itself."""
        kinds = dict.fromkeys(rate.kind for rate in self.rates)
        return {kind: ExchangeRates(tuple(rate for rate in self.rates if rate.kind == kind)) for kind in kinds}

    def of_goal(self, goal: Goal, measure: str | None = None) -> tuple[ExchangeRate, ...]:
        """The rates for a goal, by the first measure or the one named, fewest answers first."""
        found = [rate for rate in self.rates if rate.goal == goal and measure in (None, rate.measure)]
        return tuple(rate for rate in found if rate.measure == found[0].measure)


def in_words(rate: ExchangeRate) -> str:
    """The rate as a sentence: `1 answer of kind top_two is worth 1.07 hard votes here (95%: 0.9 to 1.2)`."""
    answers = f"{rate.n_answers} answers of kind {rate.kind} are" if rate.n_answers > 1 else f"1 {rate.kind} answer is"
    worth = f"more than {rate.most}" if np.isinf(rate.votes) else f"{rate.votes:.2f}"
    high = f"more than {rate.most}" if np.isinf(rate.high) else f"{rate.high:.2f}"
    low = f"{rate.low:.2f}" if np.isfinite(rate.low) else f"more than {rate.most}"
    between = "" if np.isinf(rate.low) else f" (95%: {low} to {high})"
    votes = "hard vote" if worth.endswith(" 1") else "hard votes"
    return f"{answers} worth {worth} {votes} here{between}, by {rate.measure}"
