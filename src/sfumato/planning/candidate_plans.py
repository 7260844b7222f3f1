"""Candidate plans (question form, assignment, number of answers) with their cost and expected error, and the choice of
the best one for a budget or the cheapest one for a threshold. Called by `decision.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.planning.adaptive_gain import AdaptiveCurve
from sfumato.planning.answers_per_item import ErrorThreshold, rounded_up
from sfumato.planning.costs import CostModel
from sfumato.planning.goal_error import Criterion, ExpectedError, VoteCurve
from sfumato.planning.plan_file import Budget, Cost, Fewest, PlanAdaptive
from sfumato.planning.vote_rates import PLAIN, VoteRate
from sfumato.tables.errors import BadSetting

ANSWERS = "answers"
"""The unit of a budget in answers instead of money."""
FEWEST, AUDIT = 2, 0.1
"""Of adaptive assignment: the fewest answers per item, and the share of answers that go to open items at random."""
SURE = 1.64
"""Standard errors by which adaptive assignment must be better to be chosen, because it is less simple."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One candidate for `n_items` items: question form, assignment, and expected error."""

    rate: VoteRate
    answers: Fewest | PlanAdaptive
    n_items: int
    error: ExpectedError
    spread: float = 0.0
    """Standard error of the simulated gain of an adaptive candidate."""
    gain: float = 1.0
    """The error divided by that of equally many answers for every item."""

    @property
    def kind(self) -> str:
        return self.rate.kind

    @property
    def each(self) -> float:
        return self.answers.on_average

    @property
    def n_answers(self) -> int:
        return max(round(self.each * self.n_items), 1)

    @property
    def votes(self) -> float:
        """Plain votes per item that the answers are worth."""
        return self.rate.at(self.each).votes

    @property
    def is_significantly_better(self) -> bool:
        """Whether the adaptive gain is larger than chance explains."""
        return self.gain + SURE * self.spread < 1


@dataclass(frozen=True, eq=False)
class PlanTerms:
    """What all candidates have in common: the error curve, prices, and the number of items."""

    criterion: Criterion
    curve: VoteCurve
    costs: CostModel
    rates: tuple[VoteRate, ...]
    n_items: int
    most: int
    adaptive_curve: AdaptiveCurve | None = None

    def uniform(self, rate: VoteRate, each: int, n_items: int | None = None) -> Candidate:
        """Equally many answers for every item."""
        return Candidate(rate, Fewest(each=each), n_items or self.n_items, self.curve.at(rate.at(float(each)).votes))

    def adaptive(self, on_average: float) -> Candidate | None:
        """Plain votes assigned adaptively, `on_average` per item; None if that was not simulated."""
        found = self.adaptive_curve
        if found is None or not found.on_average[0] <= on_average <= found.on_average[-1] + 1e-9:
            return None
        at = np.log(on_average), np.log(found.on_average)
        ratio, spread = float(np.interp(*at, found.ratio)), float(np.interp(*at, found.spread))
        most = int(np.ceil(np.interp(*at, found.most)))
        lead = found.lead[np.argmin(np.abs(found.on_average - on_average))] if found.lead.any() else None
        answers = PlanAdaptive(
            index="lead" if lead is not None else self.criterion.index.name if self.criterion.index else "uniform",
            fewest=min(FEWEST, int(on_average)),
            most=max(most, int(np.ceil(on_average))),
            threshold=None,
            lead=None if lead is None else int(lead),
            audit=AUDIT,
            # Rounded down: the plan must not exceed the budget.
            on_average=float(np.floor(on_average * 100 + 1e-6) / 100),
        )
        rate = next(rate for rate in self.rates if rate.kind == PLAIN)
        error = self.curve.at(on_average).times(ratio, spread)
        return Candidate(rate, answers, self.n_items, error, spread, ratio)

    def adaptive_averages(self, up_to: float) -> list[float]:
        """Possible mean numbers of answers per item of an adaptive candidate: those of each lead, else any."""
        if self.adaptive_curve is None:
            return []
        there = self.adaptive_curve.on_average
        if not self.adaptive_curve.lead.any():
            last = min(float(there[-1]), up_to)
            there = (
                np.append(np.arange(np.ceil(there[0] * 10), last * 10) / 10, last) if last >= there[0] else there[:0]
            )
        return [float(each) for each in there if each <= up_to + 1e-9]

    def money(self, candidate: Candidate) -> float:
        return candidate.n_answers * self.costs.money(candidate.kind)

    def hours(self, candidate: Candidate) -> float:
        return candidate.n_answers * self.costs.seconds(candidate.kind) / 3600

    def cost(self, candidate: Candidate) -> Cost:
        """The cost of a candidate; every participant answers one batch, and about an item once."""
        most = candidate.answers.most if isinstance(candidate.answers, PlanAdaptive) else candidate.answers.each
        return Cost(
            money=self.money(candidate),
            currency=self.costs.currency,
            answers=candidate.n_answers,
            hours=self.hours(candidate),
            people=max(-(-candidate.n_answers // self.costs.batch_size), most),
            an_answer=self.costs.money(candidate.kind),
        )

    def affordable(self, kind: str, budget: Budget) -> int:
        """How many answers of a kind a budget pays; 0 if not even one."""
        return _affordable(self.costs, kind, budget)


def check_budget(rates: Sequence[VoteRate], costs: CostModel, budget: Budget) -> None:
    """Raise unless the budget pays at least one answer of some kind."""
    if any(_affordable(costs, rate.kind, budget) for rate in rates):
        return
    cheapest = min(rates, key=lambda rate: costs.money(rate.kind))
    price = costs.money(cheapest.kind)
    raise BadSetting(
        f"a budget of {budget.amount:g} {budget.unit} at {price:.4g} {costs.currency} per {cheapest.kind} answer, the "
        "cheapest",
        "enough for at least one answer",
        f"plan for {price:.4g} {costs.currency} or more" if budget.unit != ANSWERS else "plan for 1 answer or more",
        "budget-too-small",
    )


def _affordable(costs: CostModel, kind: str, budget: Budget) -> int:
    if budget.unit == ANSWERS:
        return int(budget.amount)
    try:
        return costs.affordable(kind, budget.amount)
    except BadSetting as error:
        if error.code != "budget-too-small":
            raise
        return 0


WASTE = 0.01
"""Answers that reduce the error by less than this share are not planned."""


@dataclass(frozen=True, eq=False)
class Selected:
    """The chosen candidate, and the best of every other form and assignment, best first."""

    candidate: Candidate
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


def best_within_budget(terms: PlanTerms, budget: Budget) -> Selected:
    """The candidate with the smallest error within the budget, which pays at least one answer."""
    n_affordable = {rate.kind: terms.affordable(rate.kind, budget) for rate in terms.rates}
    most_answers = max(n_affordable.values())
    n_left_out = max(terms.n_items - most_answers, 0)
    if n_left_out:
        # One answer per item is the minimum, so the number of items is reduced.
        terms = replace(terms, n_items=most_answers)
    candidates = [
        _without_waste(terms, rate, each)
        for rate in terms.rates
        if (each := min(n_affordable[rate.kind] // terms.n_items, terms.most))
    ]
    fewer = [
        terms.uniform(rate, 1, n_affordable[rate.kind])
        for rate in terms.rates
        if 0 < n_affordable[rate.kind] < terms.n_items
    ]
    up_to = min(n_affordable.get(PLAIN, 0) / terms.n_items, float(terms.most))
    adaptive = [candidate for each in terms.adaptive_averages(up_to) if (candidate := terms.adaptive(each)) is not None]
    # By chance a larger lead may have a larger error: take the best within the budget.
    others = sorted(adaptive, key=lambda candidate: candidate.error.value)[:1]
    if others and others[0].is_significantly_better:
        candidates.append(others.pop())
    candidates.sort(key=lambda candidate: (candidate.error.value, terms.money(candidate)))
    candidate = candidates[0]
    spare = n_affordable[candidate.kind] / candidate.n_answers - 1
    pays_one_more = n_affordable[candidate.kind] // terms.n_items > candidate.each
    left = candidate.each >= terms.most or spare >= 1 or pays_one_more
    near = (*candidates[1:], *others, *_worth_a_look(candidate, fewer))
    return Selected(candidate, near, terms, left, n_left_out, 0.0 if left or n_left_out else spare)


def cheapest_within_threshold(terms: PlanTerms, threshold: ErrorThreshold, budget: Budget | None) -> Selected:
    """The cheapest candidate that reaches the threshold with its probability; an error if none does, or if it exceeds
    the budget."""
    allowed = threshold.allowed
    uniform = [_first_uniform(terms, each, allowed, threshold.probability) for each in terms.rates]
    candidates = [candidate for candidate in uniform if candidate is not None]
    others: list[Candidate] = []
    for each in terms.adaptive_averages(float(terms.most)):
        found = terms.adaptive(each)
        if found is not None and _reaches(found, allowed, threshold.probability):
            (candidates if found.is_significantly_better else others).append(found)
            break
    if not candidates:
        raise _out_of_reach(terms, threshold, allowed)
    candidates.sort(key=lambda candidate: (terms.money(candidate), terms.hours(candidate)))
    if budget is not None and not _is_within(terms, candidates[0], budget):
        raise _budget_misses(terms, threshold, candidates[0], budget)
    return Selected(candidates[0], (*candidates[1:], *others), terms)


def _without_waste(terms: PlanTerms, rate: VoteRate, each: int) -> Candidate:
    """The fewest answers per item with at most 1% more error than `each`."""
    allowed = (1 + WASTE) * terms.uniform(rate, each).error.value
    candidates = (terms.uniform(rate, fewer) for fewer in range(1, each + 1))
    return next(candidate for candidate in candidates if candidate.error.value <= allowed)


def _worth_a_look(candidate: Candidate, fewer: list[Candidate]) -> list[Candidate]:
    """The best form that the budget pays for only part of the items, if it gives more votes in total."""
    best = sorted(fewer, key=lambda other: (-other.n_items * other.votes, other.error.value))[:1]
    return [other for other in best if other.n_items * other.votes > candidate.n_items * candidate.votes]


def _first_uniform(terms: PlanTerms, rate: VoteRate, allowed: float, probability: float) -> Candidate | None:
    """The fewest answers per item from which on the error is always allowed."""
    found = None
    for each in range(terms.most, 0, -1):
        candidate = terms.uniform(rate, each)
        if not _reaches(candidate, allowed, probability):
            break
        found = candidate
    return found


def _reaches(candidate: Candidate, allowed: float, probability: float) -> bool:
    return candidate.error.chance(allowed) >= probability and candidate.error.value <= allowed * (1 + 1e-9)


def _is_within(terms: PlanTerms, candidate: Candidate, budget: Budget) -> bool:
    spent = candidate.n_answers if budget.unit == ANSWERS else terms.money(candidate)
    return spent <= budget.amount * (1 + 1e-9)


def sure_value(candidate: Candidate, probability: float) -> float:
    """The error that is not exceeded with this probability, given the pilot."""
    resampled = candidate.error.resampled
    return max(float(np.quantile(resampled, probability)) if len(resampled) else 0.0, candidate.error.value)


def _out_of_reach(terms: PlanTerms, threshold: ErrorThreshold, allowed: float) -> BadSetting:
    best = min(
        (terms.uniform(rate, terms.most) for rate in terms.rates),
        key=lambda candidate: candidate.error.value,
    )
    sure = sure_value(best, threshold.probability)
    if threshold.share is None:
        found, possible = f"a {terms.criterion.title} of {sure:.4g}", f"a threshold of {rounded_up(sure):g}"
    else:
        found = f"a {terms.criterion.title} of {sure:.3f}"
        possible = f"a share of {np.floor(100 * (1 - sure)) / 100:g}, or a larger threshold"
    return BadSetting(
        f"{found} with {terms.most} {best.kind} answers per item, at {terms.money(best):,.2f} {terms.costs.currency}",
        f"{allowed:g} or less with probability {threshold.probability:g}",
        f"plan for {possible}, or allow more answers per item (--most)",
        "out-of-reach",
    )


def _budget_misses(terms: PlanTerms, threshold: ErrorThreshold, candidate: Candidate, budget: Budget) -> BadSetting:
    best = best_within_budget(terms, budget)
    reached = sure_value(best.candidate, threshold.probability)
    cost = (
        f"{candidate.n_answers:,} answers"
        if budget.unit == ANSWERS
        else f"{terms.money(candidate):,.2f} {terms.costs.currency}"
    )
    items = "" if best.terms.n_items == terms.n_items else f" for only {best.terms.n_items:,} items"
    return BadSetting(
        f"a budget of {budget.amount:g} {budget.unit}, which reaches a {terms.criterion.title} of {reached:.4g}{items}",
        f"{threshold.allowed:g} or less with probability {threshold.probability:g}, which costs {cost}",
        f"raise the budget to {cost}, allow {rounded_up(reached):g}, or plan for fewer items",
        "budget-too-small",
    )
