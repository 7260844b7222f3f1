"""Worth: the kinds of question a plan weighs, each with what its answers stand for in plain votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.planning.costs import CostModel
from sfumato.planning.exchange import ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.rates import VoteRate, rate_for
from sfumato.study.study import ABOUT_ONE_ITEM
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.payloads import PAYLOAD_KINDS
from sfumato.tables.settings import above_0

PLAIN = "choice"
USUAL = ABOUT_ONE_ITEM
"""The kinds that are weighed unless others are asked for: those that ask which classes an item may be of."""
GIVEN_POWER = 1.0


@dataclass(frozen=True)
class VoteEquivalent:
    """A kind of question, and what its answers are worth for a goal."""

    kind: str
    rate: VoteRate

    def votes(self, each: float) -> float:
        """Plain votes that `each` answers an item are worth."""
        return self.rate.at(each).votes

    def answers(self, votes: float) -> float:
        """Answers an item that are worth so many votes; infinite where no number is."""
        times = votes / self.rate.votes
        if times <= 1:
            return times
        return float(times ** (1 / self.rate.power)) if self.rate.power > 0 else float("inf")


def worths_of(
    goal: Goal,
    kinds: Sequence[str] | None,
    costs: CostModel,
    *,
    given: Mapping[str, float] | None = None,
    measured: Mapping[str, ExchangeRates] | None = None,
) -> tuple[VoteEquivalent, ...]:
    """The kinds to weigh for a goal, each with its worth: as `given` (votes an answer), as measured, or as published.

    An error where a kind is unknown, has no price, or does not speak to the goal.
    """
    if kinds is None:
        kinds = (*USUAL, *(kind for kind in given or {} if kind not in USUAL))
        kinds = [kind for kind in kinds if kind in costs.times]
    return tuple(worth_of(kind, goal, costs, given=given, measured=measured) for kind in dict.fromkeys(kinds))


def worth_of(
    kind: str,
    goal: Goal,
    costs: CostModel,
    *,
    given: Mapping[str, float] | None = None,
    measured: Mapping[str, ExchangeRates] | None = None,
) -> VoteEquivalent:
    """What answers of a kind are worth for a goal."""
    known = [each.name for each in PAYLOAD_KINDS]
    if kind not in known:
        raise unknown("kind", kind, known)
    costs.seconds(kind)
    if given and kind in given:
        votes = above_0(f"votes of {kind}", given[kind])
        return VoteEquivalent(kind, VoteRate(votes, votes, votes, GIVEN_POWER, "given"))
    rate = rate_for(kind, goal, measured)
    if np.isnan(rate.votes) or rate.votes <= 0:
        raise BadSetting(
            f"found no exchange rate of {kind} answers for the goal {goal} ({rate.source})",
            expected=f"one of {', '.join(USUAL)}, or the votes that an answer is worth",
            fix=f"measure it (sfumato plan compare), or say it: --votes {kind}=1.5",
            code="no-rate",
        )
    return VoteEquivalent(kind, rate)
