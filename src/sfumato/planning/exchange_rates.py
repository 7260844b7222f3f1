"""Exchange rates between answers of a kind and hard votes: the table of measured or simulated rates, and how many votes
reach a quality."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from sfumato.planning.goals import Goal
from sfumato.tables.base_table import RecordTable, rows_of
from sfumato.tables.files.table_file import read_rows


@dataclass(frozen=True)
class ExchangeRate:
    """`n_answers` rich answers per item are worth `votes` hard votes per item (95% CI `low` to `high`).

    Infinite if even the `most` available votes were worth less; 0 if answers add nothing.
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
class ExchangeRates(RecordTable):
    """One row per goal, measure and number of answers per item."""

    record = ExchangeRate
    rates: tuple[ExchangeRate, ...]

    @classmethod
    def read(cls, path: str | Path) -> ExchangeRates:
        """The rates that `sfumato plan labels --rates` wrote."""
        return cls(rows_of(read_rows(path), ExchangeRate))

    def by_kind(self) -> dict[str, ExchangeRates]:
        kinds = dict.fromkeys(rate.kind for rate in self.rates)
        return {kind: ExchangeRates(tuple(rate for rate in self.rates if rate.kind == kind)) for kind in kinds}

    def of_goal(self, goal: Goal, measure: str | None = None) -> tuple[ExchangeRate, ...]:
        """The rates for a goal, by the first measure or the one named, fewest answers first."""
        found = [rate for rate in self.rates if rate.goal == goal and measure in (None, rate.measure)]
        return tuple(rate for rate in found if rate.measure == found[0].measure)


def rate_sentence(rate: ExchangeRate) -> str:
    """The rate as a sentence: `1 top_two answer is worth 1.07 hard votes (95% CI 0.90 to 1.20), by accuracy`."""
    answers = f"{rate.n_answers} answers of kind {rate.kind} are" if rate.n_answers > 1 else f"1 {rate.kind} answer is"
    worth = f"more than {rate.most}" if np.isinf(rate.votes) else f"{rate.votes:.2f}"
    high = f"more than {rate.most}" if np.isinf(rate.high) else f"{rate.high:.2f}"
    low = f"{rate.low:.2f}" if np.isfinite(rate.low) else f"more than {rate.most}"
    between = "" if np.isinf(rate.low) else f" (95% CI {low} to {high})"
    votes = "hard vote" if worth.endswith(" 1") else "hard votes"
    return f"{answers} worth {worth} {votes}{between}, by {rate.measure}"


STEPS = np.array([*range(13), 15, 18, 21, 25, 30, 35, 40, 50, 60])
"""Numbers of votes that are compared; between them the quality is interpolated linearly."""


def votes_worth(
    steps: Int[np.ndarray, "steps"],
    of_votes: Float[np.ndarray, "draws steps"],
    of_rich: Float[np.ndarray, "draws rich_steps"],
) -> Float[np.ndarray, "draws rich_steps"]:
    """How many votes reach the quality of each number of rich answers: the fewest, interpolated linearly between
    `steps`; infinite if none does. Decreases of the quality are ignored."""
    rising = np.maximum.accumulate(of_votes, axis=1)
    result = np.full(of_rich.shape, np.inf)
    for i in range(len(steps) - 1, -1, -1):
        reached = rising[:, i, None] >= of_rich
        if i == 0:
            result[reached] = steps[0]
            continue
        before = rising[:, i - 1, None]
        gap = rising[:, i, None] - before
        share = np.divide(of_rich - before, gap, out=np.ones_like(of_rich), where=gap > 0)
        line = steps[i - 1] + np.clip(share, 0, 1) * (steps[i] - steps[i - 1])
        result = np.where(reached, line, result)
    return result
