"""Candidate plans (question form, assignment, number of answers) with their cost and expected error, and the choice of
the best one for a budget or the cheapest one for a threshold. Called by `decision.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.planning.adaptive_value import AdaptiveCurve
from sfumato.planning.answers_per_item import ErrorThreshold, rounded_up
from sfumato.planning.costs import CostModel
from sfumato.planning.criterion import Criterion, ExpectedError, VoteCurve
from sfumato.planning.exchange_estimates import PLAIN, VoteEquivalent
from sfumato.planning.plan_file import Budget, Cost, Fewest, PlanAdaptive
from sfumato.tables.errors import BadSetting

ANSWERS = "answers"
"""The unit of a budget in answers instead of money."""
SURE = 1.64
"""Standard errors by which adaptive assignment must be better to be chosen, because it is less simple."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One candidate for `n_items` items: question form, assignment, and expected error."""

    worth: VoteEquivalent
    answers: Fewest | PlanAdaptive
    n_items: int
    reading: ExpectedError
    spread: float = 0.0
    """Standard error of the simulated gain of an adaptive candidate."""
    gain: float = 1.0
    """The error divided by that of equally many answers for every item."""

    @property
    def kind(self) -> str:
        return self.worth.kind

    @property
    def each(self) -> float:
        return self.answers.on_average

    @property
    def n_answers(self) -> int:
        return max(round(self.each * self.n_items), 1)

    @property
    def votes(self) -> float:
        """Plain votes per item that the answers are worth."""
        return self.worth.votes(self.each)

    @property
    def is_shown_better(self) -> bool:
        """Whether the adaptive gain is larger than chance explains."""
        return self.gain + SURE * self.spread < 1


@dataclass(frozen=True, eq=False)
class PlanTerms:
    """What all candidates have in common: the error curve, prices, and the number of items."""

    criterion: Criterion
    curve: VoteCurve
    costs: CostModel
    worths: tuple[VoteEquivalent, ...]
    n_items: int
    most: int
    fewest: int
    audit: float
    adapted: AdaptiveCurve | None = None

    def uniform(self, worth: VoteEquivalent, each: int, n_items: int | None = None) -> Candidate:
        """Equally many answers for every item."""
        return Candidate(worth, Fewest(each=each), n_items or self.n_items, self.curve.at(worth.votes(float(each))))

    def adaptive(self, on_average: float) -> Candidate | None:
        """Plain votes assigned adaptively, `on_average` per item; None if that was not simulated."""
        found = self.adapted
        if found is None or not found.on_average[0] <= on_average <= found.on_average[-1] + 1e-9:
            return None
        at = np.log(on_average), np.log(found.on_average)
        ratio, spread = float(np.interp(*at, found.ratio)), float(np.interp(*at, found.spread))
        most = int(np.ceil(np.interp(*at, found.most)))
        lead = found.lead[np.argmin(np.abs(found.on_average - on_average))] if found.lead.any() else None
        answers = PlanAdaptive(
            index="lead" if lead is not None else self.criterion.index.name if self.criterion.index else "uniform",
            fewest=min(self.fewest, int(on_average)),
            most=max(most, int(np.ceil(on_average))),
            target=None,
            lead=None if lead is None else int(lead),
            audit=self.audit,
            # Rounded down: the plan must not exceed the budget.
            on_average=float(np.floor(on_average * 100 + 1e-6) / 100),
        )
        worth = next(worth for worth in self.worths if worth.kind == PLAIN)
        reading = self.curve.at(on_average).times(ratio, spread)
        return Candidate(worth, answers, self.n_items, reading, spread, ratio)

    def adaptive_averages(self, up_to: float) -> list[float]:
        """Possible mean numbers of answers per item of an adaptive candidate: those of each lead, else any."""
        if self.adapted is None:
            return []
        there = self.adapted.on_average
        if not self.adapted.lead.any():
            last = min(float(there[-1]), up_to)
            there = (
                np.append(np.arange(np.ceil(there[0] * 10), last * 10) / 10, last) if last >= there[0] else there[:0]
            )
        return [float(each) for each in there if each <= up_to + 1e-9]

    def an_answer(self, kind: str) -> float:
        return self.costs.money(kind)

    def money(self, way: Candidate) -> float:
        return way.n_answers * self.costs.money(way.kind)

    def hours(self, way: Candidate) -> float:
        return way.n_answers * self.costs.seconds(way.kind) / 3600

    def cost(self, way: Candidate) -> Cost:
        """The cost of a candidate; every participant answers one batch, and about an item once."""
        most = way.answers.most if isinstance(way.answers, PlanAdaptive) else way.answers.each
        return Cost(
            money=self.money(way),
            currency=self.costs.currency,
            answers=way.n_answers,
            hours=self.hours(way),
            people=max(-(-way.n_answers // self.costs.batch_size), most),
            an_answer=self.an_answer(way.kind),
        )

    def affordable(self, kind: str, budget: Budget) -> int:
        """How many answers of a kind a budget pays; 0 if not even one."""
        if budget.unit == ANSWERS:
            return int(budget.amount)
        try:
            return self.costs.affordable(kind, budget.amount)
        except BadSetting as error:
            if error.code != "budget-too-small":
                raise
            return 0

    def with_items(self, n_items: int) -> PlanTerms:
        return replace(self, n_items=n_items)


WASTE = 0.01
"""Answers that reduce the error by less than this share are not planned."""


@dataclass(frozen=True, eq=False)
class Selected:
    """The chosen candidate, and the best of every other form and assignment, best first."""

    way: Candidate
    others: tuple[Candidate, ...]
    terms: PlanTerms
    """The terms of the choice: with fewer items if the budget does not pay one answer for each."""
    budget_left: bool = False
    """Whether the budget pays answers that would not help: more than an item may get, or without effect on the
    error."""
    n_left_out: int = 0
    """Items that the budget does not cover."""
    spare: float = 0.0
    """Further answers that the budget would pay, as a share of those planned."""


def best_for(terms: PlanTerms, budget: Budget) -> Selected:
    """The candidate with the smallest error within the budget."""
    n_affordable = {worth.kind: terms.affordable(worth.kind, budget) for worth in terms.worths}
    most_answers = max(n_affordable.values())
    if not most_answers:
        raise _too_small(terms, budget)
    n_left_out = max(terms.n_items - most_answers, 0)
    if n_left_out:
        # One answer per item is the minimum, so the number of items is reduced.
        terms = terms.with_items(most_answers)
    ways: list[Candidate] = []
    for worth in terms.worths:
        each = min(n_affordable[worth.kind] // terms.n_items, terms.most)
        if each:
            ways.append(_without_waste(terms, worth, each))
    fewer = [
        terms.uniform(worth, 1, n_affordable[worth.kind])
        for worth in terms.worths
        if 0 < n_affordable[worth.kind] < terms.n_items
    ]
    up_to = min(n_affordable.get(PLAIN, 0) / terms.n_items, float(terms.most))
    adaptive = [way for each in terms.adaptive_averages(up_to) if (way := terms.adaptive(each)) is not None]
    # By chance a larger lead may have a larger error: take the best within the budget.
    others = sorted(adaptive, key=lambda way: way.reading.value)[:1]
    if others and others[0].is_shown_better:
        ways.append(others.pop())
    ways.sort(key=lambda way: (way.reading.value, terms.money(way)))
    way = ways[0]
    spare = n_affordable[way.kind] / way.n_answers - 1
    left = way.each >= terms.most or spare >= 1
    near = (*ways[1:], *others, *_worth_a_look(way, fewer))
    return Selected(way, near, terms, left, n_left_out, 0.0 if left or n_left_out else spare)


def cheapest_for(terms: PlanTerms, enough: ErrorThreshold, budget: Budget | None) -> Selected:
    """The cheapest candidate that reaches the threshold with its probability; an error if none does, or if it exceeds
    the budget."""
    target = error_allowed(enough)
    ways: list[Candidate] = []
    others: list[Candidate] = []
    for worth in terms.worths:
        way = _first_uniform(terms, worth, target, enough.probability)
        if way is not None:
            ways.append(way)
    for each in terms.adaptive_averages(float(terms.most)):
        found = terms.adaptive(each)
        if found is not None and _reaches(found, target, enough.probability):
            (ways if found.is_shown_better else others).append(found)
            break
    if not ways:
        raise _out_of_reach(terms, enough, target)
    ways.sort(key=lambda way: (terms.money(way), terms.hours(way)))
    if budget is not None and not _is_within(terms, ways[0], budget):
        raise _budget_misses(terms, enough, ways[0], budget)
    return Selected(ways[0], (*ways[1:], *others), terms)


def _without_waste(terms: PlanTerms, worth: VoteEquivalent, each: int) -> Candidate:
    """The fewest answers per item with at most 1% more error than `each`."""
    most = terms.uniform(worth, each)
    return next(way for fewer in range(1, each + 1) if _is_as_good(way := terms.uniform(worth, fewer), most))


def _is_as_good(way: Candidate, other: Candidate) -> bool:
    return way.reading.value <= (1 + WASTE) * other.reading.value


def _worth_a_look(way: Candidate, fewer: list[Candidate]) -> list[Candidate]:
    """The best form that the budget pays for only part of the items, if it gives more votes in total."""
    best = sorted(fewer, key=lambda other: (-other.n_items * other.votes, other.reading.value))[:1]
    return [other for other in best if other.n_items * other.votes > way.n_items * way.votes]


def error_allowed(enough: ErrorThreshold) -> float:
    """The largest error allowed: the threshold itself, or the share of items that may exceed it."""
    return enough.target if enough.share is None else 1 - enough.share


def _first_uniform(terms: PlanTerms, worth: VoteEquivalent, target: float, probability: float) -> Candidate | None:
    """The fewest answers per item from which on the error is always allowed."""
    found = None
    for each in range(terms.most, 0, -1):
        way = terms.uniform(worth, each)
        if not _reaches(way, target, probability):
            break
        found = way
    return found


def _reaches(way: Candidate, target: float, probability: float) -> bool:
    return way.reading.chance(target) >= probability and way.reading.value <= target * (1 + 1e-9)


def _is_within(terms: PlanTerms, way: Candidate, budget: Budget) -> bool:
    spent = way.n_answers if budget.unit == ANSWERS else terms.money(way)
    return spent <= budget.amount * (1 + 1e-9)


def sure_value(way: Candidate, probability: float) -> float:
    """The error that is not exceeded with this probability, given the pilot."""
    resampled = way.reading.resampled
    return max(float(np.quantile(resampled, probability)) if len(resampled) else 0.0, way.reading.value)


def _too_small(terms: PlanTerms, budget: Budget) -> BadSetting:
    cheapest = min(terms.worths, key=lambda worth: terms.an_answer(worth.kind))
    price = terms.an_answer(cheapest.kind)
    unit = terms.costs.currency if budget.unit != ANSWERS else ANSWERS
    return BadSetting(
        f"found a budget of {budget.amount:g} {budget.unit} at {price:.4g} {terms.costs.currency} per "
        f"{cheapest.kind} answer, the cheapest",
        expected="enough for at least one answer",
        fix=f"plan for {price:.4g} {unit} or more" if budget.unit != ANSWERS else "plan for 1 answer or more",
        code="budget-too-small",
    )


def _out_of_reach(terms: PlanTerms, enough: ErrorThreshold, target: float) -> BadSetting:
    best = min((terms.uniform(worth, terms.most) for worth in terms.worths), key=lambda way: way.reading.value)
    sure = sure_value(best, enough.probability)
    if enough.share is None:
        found, possible = f"a {terms.criterion.title} of {sure:.4g}", f"a threshold of {rounded_up(sure):g}"
    else:
        found = f"a {terms.criterion.title} of {sure:.3f}"
        possible = f"a share of {np.floor(100 * (1 - sure)) / 100:g}, or a larger threshold"
    return BadSetting(
        f"found {found} with {terms.most} {best.kind} answers per item, at {terms.money(best):,.2f} "
        f"{terms.costs.currency}",
        expected=f"{target:g} or less with probability {enough.probability:g}",
        fix=f"plan for {possible}, or allow more answers per item (--most)",
        code="out-of-reach",
    )


def _budget_misses(terms: PlanTerms, enough: ErrorThreshold, way: Candidate, budget: Budget) -> BadSetting:
    best = best_for(terms, budget)
    reached = sure_value(best.way, enough.probability)
    cost = f"{way.n_answers:,} answers" if budget.unit == ANSWERS else f"{terms.money(way):,.2f} {terms.costs.currency}"
    items = "" if best.terms.n_items == terms.n_items else f" for only {best.terms.n_items:,} items"
    return BadSetting(
        f"found a budget of {budget.amount:g} {budget.unit}, which reaches a {terms.criterion.title} of "
        f"{reached:.4g}{items}",
        expected=f"{error_allowed(enough):g} or less with probability {enough.probability:g}, which costs {cost}",
        fix=f"raise the budget to {cost}, allow {rounded_up(reached):g}, or plan for fewer items",
        code="budget-too-small",
    )
