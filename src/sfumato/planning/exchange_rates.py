"""Exchange rates between answers of a kind and hard votes: the table of measured rates, the published rates used
without a pilot, the rate of any number of answers, and the rates of the kinds that a plan compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from sfumato.planning.costs import CostModel
from sfumato.planning.goals import Goal
from sfumato.study.study import ABOUT_ONE_ITEM
from sfumato.tables.base_table import RecordTable, rows_of
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.payloads import PAYLOAD_KINDS
from sfumato.tables.setting_checks import above_0, not_negative, share


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
        """The rates that `sfumato plan compare --rates` wrote."""
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


ON_CIFAR_10 = "CIFAR-10S against CIFAR-10H"
ASSUMED = "assumed, like top_two: in simulations this form was mostly worth 0.5 to 1.5 times as much"
CLASS_GIVEN = "assumed: simulated people who were given the true class"
SIMULATED = "simulated with noise 1, chosen so that top_two matches CIFAR-10S; upper end: noise 0.55"
TV, ACCURACY = "total variation", "accuracy"
RANKS = "rank correlation with similarities of held-out labels"
TRUE_RANKS = "rank correlation with the truth"


Points = dict[int, tuple[float, float, float]]
"""By number of answers: the votes that they are worth, and the ends of the interval."""


def _rates(
    kind: str, goal: Goal, measure: str, most: int, n_items: int, source: str, points: Points
) -> tuple[ExchangeRate, ...]:
    return tuple(
        ExchangeRate(kind, goal, measure, m, votes, low, high, most, n_items, source)
        for m, (votes, low, high) in points.items()
    )


ON_DISTRIBUTION = {1: (1.08, 0.99, 1.32), 2: (1.99, 1.78, 2.30), 3: (2.63, 2.32, 2.95), 6: (3.63, 3.17, 4.12)}
ON_CLASS = {1: (0.98, 0.96, 1.02), 2: (1.98, 1.66, 2.27), 3: (2.70, 2.38, 3.01), 6: (4.53, 3.57, 5.97)}
ON_GEOMETRY = {1: (1.93, 1.59, 2.65), 2: (4.34, 2.82, 6.72), 3: (6.71, 4.24, 10.94), 6: (13.11, 7.92, inf)}
TOP_TWO = (
    *_rates("top_two", Goal.DISTRIBUTION, TV, 25, 991, ON_CIFAR_10, ON_DISTRIBUTION),
    *_rates("top_two", Goal.CLASS, ACCURACY, 25, 991, ON_CIFAR_10, ON_CLASS),
    *_rates("top_two", Goal.GEOMETRY, RANKS, 25, 991, ON_CIFAR_10, ON_GEOMETRY),
)
"""From the 991 images with six soft answers and enough votes, by `exchange_estimates.exchange_rates`: means over six
seeds of the values and of the ends of their intervals. Single seeds gave 1.00 to 1.18 votes for one answer and 3.5 to
3.7 for six (distribution), 1.9 to 2.0 and 11 to 16 (geometry). Infinite means beyond the 25 available votes."""


def _assumed(kind: str) -> tuple[ExchangeRate, ...]:
    """The rates of `top_two` for distribution and class, with much wider intervals."""
    return tuple(
        replace(rate, kind=kind, low=rate.low / 2, high=1.5 * rate.high, n_items=0, source=ASSUMED)
        for rate in TOP_TWO
        if rate.goal != Goal.GEOMETRY
    )


def _simulated(kind: str, points: Points) -> tuple[ExchangeRate, ...]:
    """By `simulated_rates` in 24 worlds with noise 1: the mean, the smallest world, and as upper end the mean with
    noise 0.55. Not based on people's answers."""
    return _rates(kind, Goal.GEOMETRY, TRUE_RANKS, 100, 0, SIMULATED, points)


PUBLISHED_RATES: tuple[ExchangeRate, ...] = (
    *(
        ExchangeRate("choice", goal, "definition", 1, 1.0, 1.0, 1.0, 1, 0, "a vote is a vote")
        for goal in (Goal.DISTRIBUTION, Goal.CLASS, Goal.GEOMETRY)
    ),
    *TOP_TWO,
    *_assumed("plausible"),
    *_assumed("tokens"),
    *_assumed("sliders"),
    *_simulated("plausible", {1: (3.62, 2.92, 8.84), 2: (7.02, 5.33, 24.43), 6: (23.56, 18.29, inf)}),
    *_simulated("tokens", {1: (2.88, 2.58, 5.01), 2: (5.19, 3.97, 11.26), 6: (15.80, 11.14, 48.20)}),
    *_simulated("sliders", {1: (5.06, 3.94, 20.75), 2: (9.42, 5.79, 56.91), 6: (27.29, 20.65, inf)}),
    *_rates("typicality", Goal.DISTRIBUTION, TV, 25, 0, CLASS_GIVEN, {1: (1.0, 0.5, 1.8), 6: (1.7, 0.8, 3.0)}),
    *_rates("typicality", Goal.GEOMETRY, RANKS, 25, 0, CLASS_GIVEN, {1: (0.7, 0.5, 0.8), 6: (0.8, 0.6, 0.9)}),
)
"""Measured on published data, simulated, or assumed; `source` says which.

A kind without an entry for a goal cannot be counted in votes for it: for typicality the class is given, and item
comparisons and mixtures name no class. For calibration nothing is known from answers alone.
"""
USUAL_POWER = 0.65
"""How answers add up if it was not measured: as on CIFAR-10S for the distribution."""
NOT_IN_VOTES = "answers do not name classes"
BY_DISTRIBUTION = "not known from answers alone; as for the distribution"


@dataclass(frozen=True)
class VoteRate:
    """One answer of a kind is worth `votes` hard votes, between `low` and `high`; `m` answers are worth `m ** power`
    times as much.

    The power is below 1 if further answers repeat earlier ones. NaN votes: the kind does not serve the goal.
    """

    kind: str
    votes: float
    low: float
    high: float
    power: float
    source: str
    measured: bool = False

    def __post_init__(self) -> None:
        share("power", self.power)
        if not np.isnan(self.votes):
            not_negative("votes", self.votes)

    def at(self, n_answers: float) -> VoteRate:
        """The votes that this many answers per item are worth; below one answer per item, that share of the items."""
        times = n_answers if n_answers < 1 else n_answers**self.power
        return replace(self, votes=self.votes * times, low=self.low * times, high=self.high * times)

    def answers(self, votes: float) -> float:
        """Answers per item that are worth this many votes; infinite if no number is."""
        times = votes / self.votes
        if times <= 1:
            return times
        return float(times ** (1 / self.power)) if self.power > 0 else float("inf")


def rate_of(rates: Sequence[ExchangeRate], *, measured: bool = True) -> VoteRate:
    """The rate from exchange rates of one kind, goal and measure, sorted by number of answers.

    The power is fitted to all numbers of answers that could be compared, between 0 and 1. A rate beyond the available
    votes counts as that many.
    """
    first = rates[0]
    votes = [min(rate.votes, rate.most) for rate in rates]
    known = [i for i, rate in enumerate(rates) if rate.n_answers > 1 and 0 < rate.votes < rate.most and votes[0] > 0]
    m = np.log([rates[i].n_answers / first.n_answers for i in known])
    gained = np.log([votes[i] / votes[0] for i in known])
    alone = 1.0 if first.kind == "choice" else USUAL_POWER
    power = float(np.clip(m @ gained / (m @ m), 0, 1)) if len(known) else alone
    beyond = f", a lower limit: more than the {first.most} available votes" if np.isinf(first.votes) else ""
    source = f"{first.source}, {first.n_items:,} items, by {first.measure}" if first.n_items else first.source
    low, high = min(first.low, float(first.most)), first.high
    each = first.n_answers**power
    return VoteRate(first.kind, votes[0] / each, low / each, high / each, power, source + beyond, measured)


def rate_for(kind: str, goal: Goal, measured: Mapping[str, ExchangeRates] | None = None) -> VoteRate:
    """The rate of a kind for a goal: measured in a pilot or in runs if available, else published.

    Calibration is a property of models: without runs it is taken as for the distribution, and the source says so.
    """
    if kind != "choice" and measured and kind in measured and (rates := measured[kind].of_goal(goal)):
        return rate_of(rates)
    if goal is Goal.CALIBRATION:
        rate = rate_for(kind, Goal.DISTRIBUTION, measured)
        return (
            rate
            if kind == "choice" or np.isnan(rate.votes)
            else replace(rate, source=f"{BY_DISTRIBUTION}: {rate.source}")
        )
    found = [rate for rate in PUBLISHED_RATES if rate.kind == kind and rate.goal == goal]
    return rate_of(found, measured=False) if found else VoteRate(kind, np.nan, np.nan, np.nan, 1.0, NOT_IN_VOTES)


PLAIN = "choice"
USUAL = ABOUT_ONE_ITEM
"""The kinds that are compared by default: those that ask for the classes of one item."""
GIVEN_POWER = 1.0


def vote_rates(
    goal: Goal,
    kinds: Sequence[str] | None,
    costs: CostModel,
    *,
    given: Mapping[str, float] | None = None,
    measured: Mapping[str, ExchangeRates] | None = None,
) -> tuple[VoteRate, ...]:
    """The kinds to compare for a goal, each with its votes per answer: as `given`, as measured, or as published.

    An error if a kind is unknown, has no price, or does not serve the goal.
    """
    if kinds is None:
        kinds = (*USUAL, *(kind for kind in given or {} if kind not in USUAL))
        kinds = [kind for kind in kinds if kind in costs.times]
    return tuple(vote_rate(kind, goal, costs, given=given, measured=measured) for kind in dict.fromkeys(kinds))


def vote_rate(
    kind: str,
    goal: Goal,
    costs: CostModel,
    *,
    given: Mapping[str, float] | None = None,
    measured: Mapping[str, ExchangeRates] | None = None,
) -> VoteRate:
    """What answers of a kind are worth for a goal."""
    known = [each.name for each in PAYLOAD_KINDS]
    if kind not in known:
        raise unknown("kind", kind, known)
    costs.seconds(kind)
    if given and kind in given:
        votes = above_0(f"votes of {kind}", given[kind])
        return VoteRate(kind, votes, votes, votes, GIVEN_POWER, "given")
    rate = rate_for(kind, goal, measured)
    if np.isnan(rate.votes) or rate.votes <= 0:
        raise BadSetting(
            f"no exchange rate of {kind} answers for the goal {goal} ({rate.source})",
            f"one of {', '.join(USUAL)}, or the votes that an answer is worth",
            f"measure it (sfumato plan compare), or give it: --votes {kind}=1.5",
            "no-rate",
        )
    return rate


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
