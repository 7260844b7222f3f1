"""What an answer of a kind is worth in hard votes, for a goal: as given, as measured in the user's pilot, as simulated
for the user's own numbers of items and classes, or as published for another task, which the source says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from sfumato.planning.costs import CostModel
from sfumato.planning.exchange_rates import ExchangeRate, ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.informativeness.label_types import LabelSet
from sfumato.planning.informativeness.question_signals import signal_of, simulated_rates
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.payloads import PAYLOAD_KINDS
from sfumato.tables.setting_checks import above_0, not_negative, share

PLAIN = "choice"
GIVEN = "given"
GIVEN_POWER = 1.0
ON_CIFAR_10 = "not your data: CIFAR-10S against CIFAR-10H, pictures of 10 classes"
TV, ACCURACY = "total variation", "accuracy"
ON_DISTRIBUTION = {1: (1.08, 0.99, 1.32), 2: (1.99, 1.78, 2.30), 3: (2.63, 2.32, 2.95), 6: (3.63, 3.17, 4.12)}
ON_CLASS = {1: (0.98, 0.96, 1.02), 2: (1.98, 1.66, 2.27), 3: (2.70, 2.38, 3.01), 6: (4.53, 3.57, 5.97)}
PUBLISHED_RATES: tuple[ExchangeRate, ...] = tuple(
    ExchangeRate("top_two", goal, measure, m, *ends, 25, 991, ON_CIFAR_10)
    for goal, measure, points in (
        (Goal.DISTRIBUTION, TV, ON_DISTRIBUTION),
        (Goal.CLASS, ACCURACY, ON_CLASS),
    )
    for m, ends in points.items()
)
"""From the 991 images with six soft answers and enough votes, by `exchange_estimates.exchange_rates`: means over six
seeds of the values and of the ends of their intervals. Of other kinds nothing was published. For similarities a rate
depends on the numbers of items and classes, so it is simulated."""
USUAL_POWER = 0.65
"""How answers add up if it was not measured: as on CIFAR-10S for the distribution."""
NOT_KNOWN = "never measured"
BY_DISTRIBUTION = "not known from answers alone; as for the distribution"
NOISE = 1.0
"""The noise of simulated rates: not measured. With 1, simulated top-two answers are worth as much as on CIFAR-10S."""
MOST_ITEMS, MOST_CLASSES = 100, 100


@dataclass(frozen=True)
class VoteRate:
    """One answer of a kind is worth `votes` hard votes, between `low` and `high`; `m` answers are worth `m ** power`
    times as much.

    The power is below 1 if further answers repeat earlier ones. NaN votes: it is not known.
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

    @property
    def is_own(self) -> bool:
        """Whether it is the user's: measured in a pilot, given, or a vote. Others do not decide alone."""
        return self.measured or self.source == GIVEN or self.kind == PLAIN

    def at(self, n_answers: float) -> VoteRate:
        """The votes that this many answers per item are worth; below one answer per item, that share of the items."""
        times = n_answers if n_answers < 1 else n_answers**self.power
        return replace(self, votes=self.votes * times, low=self.low * times, high=self.high * times)

    def answers(self, votes: float) -> float:
        """Answers per item that are worth this many votes; infinite if no number is."""
        times = votes / self.votes
        if times <= 1:
            return times
        return float(times ** (1 / self.power)) if self.power > 0 else inf


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
    alone = 1.0 if first.kind == PLAIN else USUAL_POWER
    power = float(np.clip(m @ gained / (m @ m), 0, 1)) if len(known) else alone
    beyond = f", a lower limit: more than the {first.most} available votes" if np.isinf(first.votes) else ""
    source = f"{first.source}, {first.n_items:,} items, by {first.measure}" if first.n_items else first.source
    low, high = min(first.low, float(first.most)), first.high
    each = first.n_answers**power
    return VoteRate(first.kind, votes[0] / each, low / each, high / each, power, source + beyond, measured)


@dataclass(frozen=True)
class TaskSize:
    """The user's own numbers of items and classes."""

    n_items: int
    n_classes: int


def rate_for(
    kind: str, goal: Goal, measured: Mapping[str, ExchangeRates] | None = None, size: TaskSize | None = None
) -> VoteRate:
    """The rate of a kind for a goal: measured in a pilot or in runs, simulated for the size of the task, or published.

    Calibration is a property of models: without runs it is taken as for the distribution, and the source says so. Votes
    are NaN if nothing is known.
    """
    if kind == PLAIN:
        return VoteRate(PLAIN, 1.0, 1.0, 1.0, 1.0, "a vote is a vote")
    if measured and kind in measured and (rates := measured[kind].of_goal(goal)):
        return rate_of(rates)
    if goal is Goal.CALIBRATION:
        rate = rate_for(kind, Goal.DISTRIBUTION, measured, size)
        return rate if np.isnan(rate.votes) else replace(rate, source=f"{BY_DISTRIBUTION}: {rate.source}")
    if goal is Goal.GEOMETRY and size is not None:
        n, k = max(min(size.n_items, MOST_ITEMS), 3), max(min(size.n_classes, MOST_CLASSES), 2)
        if isinstance(signal_of(kind, n, k), LabelSet):
            found = simulated_rates(kind, n=n, k=k, noise=NOISE, rng=np.random.default_rng([n, k]))
            rate = rate_of(found.rates, measured=False)
            return replace(rate, source=f"{found.rates[0].source}; the noise was not measured on your data")
    published = [rate for rate in PUBLISHED_RATES if rate.kind == kind and rate.goal == goal]
    return rate_of(published, measured=False) if published else VoteRate(kind, np.nan, np.nan, np.nan, 1.0, NOT_KNOWN)


def vote_rates(
    goal: Goal,
    kinds: Sequence[str] | None,
    costs: CostModel,
    *,
    size: TaskSize | None = None,
    given: Mapping[str, float] | None = None,
    measured: Mapping[str, ExchangeRates] | None = None,
) -> tuple[VoteRate, ...]:
    """The kinds to compare for a goal, each with its votes per answer.

    Without `kinds`: votes, and every kind whose rate is given or measured. An error if a kind is unknown, has no price,
    or its rate is not known.
    """
    if kinds is None:
        known = {kind for kind, rates in (measured or {}).items() if rates.of_goal(goal)}
        kinds = [PLAIN, *(kind for kind in (*(given or {}), *sorted(known)) if kind in costs.times)]
    return tuple(
        vote_rate(kind, goal, costs, size=size, given=given, measured=measured) for kind in dict.fromkeys(kinds)
    )


def vote_rate(
    kind: str,
    goal: Goal,
    costs: CostModel,
    *,
    size: TaskSize | None = None,
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
        return VoteRate(kind, votes, votes, votes, GIVEN_POWER, GIVEN)
    rate = rate_for(kind, goal, measured, size)
    if np.isnan(rate.votes) or rate.votes <= 0:
        raise BadSetting(
            f"no exchange rate of {kind} answers for the goal {goal} ({rate.source})",
            "a rate measured in a pilot, or the votes that an answer is worth",
            f"measure it (sfumato plan labels --rates), or give it: --votes {kind}=1.5",
            "no-rate",
        )
    return rate
