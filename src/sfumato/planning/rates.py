"""Rates: what any number of answers of a kind is worth in hard votes, measured or from what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.planning.exchange_rates import ExchangeRate, ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.published_rates import PUBLISHED_RATES
from sfumato.tables.settings import not_negative, share

USUAL_POWER = 0.65
"""How answers add up where nobody measured it: as those of CIFAR-10S do for the distribution."""
NOT_IN_VOTES = "does not say which class"
BY_DISTRIBUTION = "answers alone cannot tell; as for the distribution"


@dataclass(frozen=True)
class VoteRate:
    """One answer is worth `votes` hard votes, between `low` and `high`; `m` of them `m ** power` times as much.

    The power is below 1 where people who say more say the same things. NaN votes: the kind does not speak to the goal.
    """

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
        """The votes that so many answers an item are worth; below one answer an item, that share of the items."""
        times = n_answers if n_answers < 1 else n_answers**self.power
        return replace(self, votes=self.votes * times, low=self.low * times, high=self.high * times)


def rate_of(rates: Sequence[ExchangeRate], *, measured: bool = True) -> VoteRate:
    """The rate behind exchange rates of one kind, goal and measure, that of one answer first.

    The power is fitted to all numbers of answers that could be compared, from 0 to 1: whatever people said further is
    at most as new as what they said first. A rate beyond the votes that were there counts as that many.
    """
    first = rates[0]
    votes = [min(rate.votes, rate.most) for rate in rates]
    known = [i for i, rate in enumerate(rates) if rate.n_answers > 1 and 0 < rate.votes < rate.most and votes[0] > 0]
    m = np.log([rates[i].n_answers / first.n_answers for i in known])
    gained = np.log([votes[i] / votes[0] for i in known])
    alone = 1.0 if first.kind == "choice" else USUAL_POWER
    power = float(np.clip(m @ gained / (m @ m), 0, 1)) if len(known) else alone
    beyond = f", at least: more than the {first.most} votes there were" if np.isinf(first.votes) else ""
    source = f"{first.source}, {first.n_items:,} items, by {first.measure}" if first.n_items else first.source
    low, high = min(first.low, float(first.most)), first.high
    each = first.n_answers**power
    return VoteRate(votes[0] / each, low / each, high / each, power, source + beyond, measured)


def rate_for(kind: str, goal: Goal, measured: Mapping[str, ExchangeRates] | None = None) -> VoteRate:
    """The rate of a kind for a goal: measured where a pilot or runs say, else published.

    Calibration is a matter of models: unless runs say, it is taken as for the distribution, and the source says so.
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
    return rate_of(found, measured=False) if found else VoteRate(np.nan, np.nan, np.nan, 1.0, NOT_IN_VOTES)
