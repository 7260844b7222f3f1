"""Exchange rates estimated from data: how many hard votes an answer of a richer kind is worth, per goal; and the vote
equivalents of the kinds that a plan compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.planning.costs import CostModel
from sfumato.planning.exchange_rates import (
    PUBLISHED_RATES,
    ExchangeRate,
    ExchangeRates,
    VoteRate,
    rate_for,
    rate_sentence,
)
from sfumato.planning.goals import Goal
from sfumato.planning.label_quality import (
    ClassQuality,
    DistributionQuality,
    GeometryQuality,
    LabelQuality,
    QualitySplit,
    Similarities,
)
from sfumato.planning.matched_answers import MatchedAnswers
from sfumato.study.study import ABOUT_ONE_ITEM
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.payloads import PAYLOAD_KINDS
from sfumato.tables.settings import above_0, at_least
from sfumato.tables.soft_labels import SoftLabels

__all__ = [
    "PUBLISHED_RATES",
    "ExchangeRate",
    "ExchangeRates",
    "exchange_rates",
    "qualities",
    "rate_sentence",
    "votes_worth",
]

STEPS = np.array([*range(13), 15, 18, 21, 25, 30, 35, 40, 50, 60])
"""Numbers of votes that are compared; between them the quality is interpolated linearly."""
SPLITS = 12
RESAMPLES = 300
MOST_NUMBERS = 2**24
"""Upper limit of the numbers in all splits: with many items, fewer splits are made."""
LEVEL = 0.95
ENOUGH_HELD_OUT = 10
"""From this many held-out votes per item, total variation is reliable."""


def qualities(
    matched: MatchedAnswers, *, similarities: Similarities | None = None, truth: SoftLabels | None = None
) -> tuple[LabelQuality, ...]:
    """The quality measures of answers; the first one per goal counts."""
    known = None if truth is None else truth.probs[truth.rows_of(matched.items)]
    losses = ("tv", "log-loss") if matched.most_votes >= ENOUGH_HELD_OUT else ("squared", "log-loss")
    return (*(DistributionQuality(loss) for loss in losses), ClassQuality(known), GeometryQuality(similarities))


def exchange_rates(
    rich: Beliefs | Annotations,
    votes: Beliefs | Annotations | SoftLabels | None = None,
    *,
    kind: str,
    similarities: Similarities | None = None,
    truth: SoftLabels | None = None,
    goals: Sequence[Goal] = tuple(Goal),
    splits: int = SPLITS,
    resamples: int = RESAMPLES,
    rng: np.random.Generator,
) -> ExchangeRates:
    """How many votes about the same items serve each goal as well as 1, 2, ... rich answers.

    Half of every item's votes are compared with, the other half is the reference; repeated for up to `splits` random
    splits and averaged. Intervals are a bootstrap over items; smoothing is chosen again in each draw. Held-out votes
    favor votes, because a crowd's choices are predicted best by choices: give `similarities` or a `truth` if available.
    Without `votes`, each answer is compared with its own top class, and other people's top classes are the reference:
    that shows what the form adds, not what other people would say.
    """
    matched = MatchedAnswers.of(rich, votes)
    size = matched.n_items * len(matched.classes) * (matched.most_votes + matched.most_rich + 2)
    n_splits = max(1, min(at_least("splits", splits, 1), MOST_NUMBERS // size))
    halves = [matched.split(rng) for _ in range(n_splits)]
    weights = np.ones((1, matched.n_items))
    drawn = Bootstrap.of(matched.n_items, level=LEVEL, draws=resamples, rng=rng).times_drawn.astype(np.float64)
    steps = STEPS[: np.searchsorted(STEPS, matched.most_votes, side="right")]
    source = "measured against the leading classes of the same answers" if matched.same_people else "measured"
    rates = []
    for quality in qualities(matched, similarities=similarities, truth=truth):
        if quality.goal not in goals:
            continue
        shown = steps[(steps % 2 == 1) | (steps == 0)] if quality.odd_only else steps
        some = halves[: quality.most_splits]
        of_votes = quality.curve((QualitySplit(half.votes[:, shown], half.reference) for half in some), matched.items)
        of_rich = quality.curve((QualitySplit(half.rich, half.reference) for half in some), matched.items)
        value = votes_worth(shown, of_votes.values(weights), of_rich.values(weights))[0]
        spread = votes_worth(shown, of_votes.values(drawn), of_rich.values(drawn))
        low = np.quantile(spread, (1 - LEVEL) / 2, axis=0, method="lower")
        high = np.quantile(spread, (1 + LEVEL) / 2, axis=0, method="higher")
        for m in range(1, matched.most_rich + 1):
            rates.append(
                ExchangeRate(
                    kind, quality.goal, quality.measure, m, float(value[m]), float(low[m]), float(high[m]),
                    int(shown[-1]), matched.n_items, source,
                )
            )  # fmt: skip
    return ExchangeRates(tuple(rates))


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


PLAIN = "choice"
USUAL = ABOUT_ONE_ITEM
"""The kinds that are compared by default: those that ask for the classes of one item."""
GIVEN_POWER = 1.0


@dataclass(frozen=True)
class VoteEquivalent:
    """A kind of question, and what its answers are worth for a goal."""

    kind: str
    rate: VoteRate

    def votes(self, each: float) -> float:
        """Plain votes that `each` answers per item are worth."""
        return self.rate.at(each).votes

    def answers(self, votes: float) -> float:
        """Answers per item that are worth this many votes; infinite if no number is."""
        times = votes / self.rate.votes
        if times <= 1:
            return times
        return float(times ** (1 / self.rate.power)) if self.rate.power > 0 else float("inf")


def vote_equivalents(
    goal: Goal,
    kinds: Sequence[str] | None,
    costs: CostModel,
    *,
    given: Mapping[str, float] | None = None,
    measured: Mapping[str, ExchangeRates] | None = None,
) -> tuple[VoteEquivalent, ...]:
    """The kinds to compare for a goal, each with its votes per answer: as `given`, as measured, or as published.

    An error if a kind is unknown, has no price, or does not serve the goal.
    """
    if kinds is None:
        kinds = (*USUAL, *(kind for kind in given or {} if kind not in USUAL))
        kinds = [kind for kind in kinds if kind in costs.times]
    return tuple(vote_equivalent(kind, goal, costs, given=given, measured=measured) for kind in dict.fromkeys(kinds))


def vote_equivalent(
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
            f"no exchange rate of {kind} answers for the goal {goal} ({rate.source})",
            f"one of {', '.join(USUAL)}, or the votes that an answer is worth",
            f"measure it (sfumato plan compare), or give it: --votes {kind}=1.5",
            "no-rate",
        )
    return VoteEquivalent(kind, rate)
