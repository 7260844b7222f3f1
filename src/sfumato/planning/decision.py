"""From a pilot or a prior, a goal and a budget (or an error threshold) to a Plan, with its curve, cost, alternatives
and assumptions. Called by `sfumato plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import numpy as np

import sfumato
from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.aggregation.pass_engine import Progress, quiet
from sfumato.planning.adaptive_gain import adaptive_curve_by_index, adaptive_curve_by_lead
from sfumato.planning.alternative_plans import alternatives, would_change
from sfumato.planning.answers_per_item import ErrorThreshold
from sfumato.planning.candidate_plans import (
    ANSWERS,
    AUDIT,
    FEWEST,
    Candidate,
    PlanTerms,
    best_within_budget,
    cheapest_within_threshold,
    check_budget,
)
from sfumato.planning.costs import FEE, OVERHEAD, WAGE, CostModel
from sfumato.planning.exchange_rates import ExchangeRates
from sfumato.planning.goal_error import Criterion
from sfumato.planning.goals import Goal
from sfumato.planning.item_prior import Population
from sfumato.planning.plan_file import (
    Assumption,
    Budget,
    Cost,
    Expected,
    Plan,
    PlanAdaptive,
    PlanDeeper,
    PlanProvenance,
    PlanQuestion,
    Point,
)
from sfumato.planning.vote_rates import PLAIN, TaskSize, vote_rate, vote_rates
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import at_least

if TYPE_CHECKING:
    from sfumato.planning.pilot_answers import Pilot

POINTS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500)
RESTS_ON = {
    Goal.DISTRIBUTION: "KL divergence of the crowd's distribution from the labels of bayes, in nats",
    Goal.CLASS: "probability that the most frequent class is not the one that most people would choose",
    Goal.GEOMETRY: "squared distance of the shares from the crowd's distribution, which blurs item similarities",
    Goal.CALIBRATION: "KL divergence as for the distribution: the cross-entropy lost by training on the labels",
}
"""The error that each goal minimizes."""


def _with_deeper(cost: Cost, terms: PlanTerms, deeper: PlanDeeper | None, n_deeper: int) -> Cost:
    """The cost with that of the deeper answers."""
    if deeper is None:
        return cost
    return msgspec.structs.replace(
        cost,
        money=cost.money + terms.costs.money(deeper.kind, n_deeper),
        answers=cost.answers + n_deeper,
        hours=cost.hours + n_deeper * deeper.seconds / 3600,
    )


def _curve(terms: PlanTerms, candidate: Candidate) -> tuple[Point, ...]:
    """The error with fewer and with more answers, with the assignment of the plan."""
    if isinstance(candidate.answers, PlanAdaptive):
        averages = terms.adaptive_averages(float(terms.most))
        if candidate.answers.lead is None:
            assert terms.adaptive_curve is not None
            averages = sorted({*terms.adaptive_curve.on_average.tolist(), candidate.each})
        candidates = [found for each in averages if (found := terms.adaptive(each)) is not None]
    else:
        shown = {m for m in POINTS if m <= min(terms.most, max(4 * candidate.each, 10))} | {candidate.answers.each}
        candidates = [terms.uniform(candidate.rate, m) for m in sorted(shown)]
    return tuple(
        Point(
            answers=each.each, value=each.error.value, low=each.error.low, high=each.error.high, money=terms.money(each)
        )
        for each in candidates
    )


def _assumptions(terms: PlanTerms, source: str, deeper: PlanDeeper | None) -> tuple[Assumption, ...]:
    costs = terms.costs
    rows = [
        ("error", RESTS_ON[terms.criterion.goal], "the goal"),
        ("items to label", f"{terms.n_items:,}, like those of the {source}", "given"),
    ]
    for rate in terms.rates:
        kind = rate.kind
        rows.append((f"seconds per {kind} answer", f"{costs.seconds(kind):.3g} paid", costs.time(kind).source))
        if rate.votes != 1.0 or kind != "choice":
            votes = f"{rate.votes:.3g} ({rate.low:.3g} to {rate.high:.3g})"
            rows.append((f"votes per {kind} answer", votes, rate.source))
    rows += [
        ("wage per hour", f"{costs.wage:g} {costs.currency}", _given(costs.wage, WAGE)),
        ("platform fee", f"{costs.fee:.0%} of the pay", _given(costs.fee, FEE)),
        ("session overhead", f"{costs.overhead:g} times", _given(costs.overhead, OVERHEAD)),
        ("answers per session", str(costs.batch_size), "the study, or the default"),
    ]
    if deeper is not None:
        known = "it is known which items they help, not by how much"
        rows.append(("deeper answers", "in the cost, but not in the expected error", known))
    if terms.criterion.measure.uses_prior:
        rows.append(("labels", "by bayes, with the prior fitted to the study's answers", "simulated"))
    return tuple(Assumption(what=what, value=value, source=source) for what, value, source in rows)


def _given(value: float, usual: float) -> str:
    return "assumed" if value == usual else "given"


VOTES = 40
"""The curve is computed up to this many votes per item, and extrapolated beyond."""
LEAST_ITEMS = 200
"""With fewer items a study cannot learn a prior that shows where to ask: adaptive assignment is not considered."""
MOST_SIMULATED = 1_000
MOST_ADAPTIVE = 30
"""With more answers per item, the choice of the next item hardly matters."""
MOST_TO_A_LEAD = 40


@dataclass(frozen=True)
class DeeperItems:
    """Items that are asked about with a richer form first, once each."""

    kind: str
    items: tuple[str, ...]


def decide(
    source: Pilot | DirichletMixture,
    *,
    goal: Goal,
    costs: CostModel,
    classes: Sequence[str],
    n_items: int,
    items: Sequence[str] | None = None,
    budget: Budget | None = None,
    threshold: ErrorThreshold | None = None,
    kinds: Sequence[str] | None = None,
    votes: Mapping[str, float] | None = None,
    measured: Mapping[str, ExchangeRates] | None = None,
    adaptive: bool = True,
    deeper_items: DeeperItems | None = None,
    most: int = 100,
    made: PlanProvenance | None = None,
    progress: Progress = quiet,
    rng: np.random.Generator,
) -> Plan:
    """The best plan for a goal: the smallest error within a budget, or the cheapest one that reaches a threshold.

    It compares the `kinds` of question (by default votes, and those whose votes per answer are given or `measured`; of
    others the rate is simulated or published, and does not decide),
    equal numbers for all items or adaptive assignment, and numbers of answers. `n_items` items like those of the source
    are to be labeled; `items` are their ids, if known. With a budget and a threshold: the cheapest plan that reaches
    the threshold, or an error.

    Assumptions: all people are draws from the same crowd, items are like the pilot's, and a richer answer is worth the
    same number of votes on every item. Adaptive assignment is simulated for plain choices only, and chosen only if it
    is better by more than chance; with fewer than 200 items it is not considered.
    """
    if budget is None and threshold is None:
        raise BadSetting(
            "neither a budget nor a threshold",
            "the money to spend, or the error that is small enough",
            "give --budget, --threshold, or both",
        )
    at_least("n_items", n_items, 1)
    at_least("most", most, 1)
    criterion = Criterion(goal, threshold.error if threshold is not None and threshold.share is not None else None)
    size = TaskSize(n_items, len(classes))
    rates = vote_rates(goal, kinds, costs, size=size, given=votes, measured=measured)
    # Rates of other data do not decide, unless there are no others.
    own = tuple(rate for rate in rates if rate.is_own)
    unsure = tuple(rate for rate in rates if own and not rate.is_own)
    rates = own or rates
    deeper = None
    if deeper_items is not None:
        kind = deeper_items.kind
        rate = vote_rate(kind, goal, costs, size=size, given=votes, measured=measured)
        deeper = PlanDeeper(kind=kind, votes=rate.votes, seconds=costs.seconds(kind))
    left = _what_is_left(budget, deeper_items, costs)
    if left is not None:
        check_budget(rates, costs, left)
    n_pilot = 0 if isinstance(source, DirichletMixture) else source.n_items
    curve = criterion.curve(
        source,
        n_items=n_items,
        most=min(most, VOTES),
        rng=rng,
        progress=progress,
    )
    terms = PlanTerms(criterion, curve, costs, rates, n_items, most)
    if adaptive:
        terms = _with_adaptive(terms, source, left, threshold, rng)
    if threshold is not None:
        chosen = cheapest_within_threshold(terms, threshold, left)
    else:
        assert left is not None
        chosen = best_within_budget(terms, left)
    terms, candidate, error = chosen.terms, chosen.candidate, chosen.candidate.error
    changes = would_change(chosen, goal=goal, threshold=threshold, measured=measured, n_pilot=n_pilot, unsure=unsure)
    first = deeper_items.items if deeper_items else ()
    kept = _kept(items, first, terms.n_items, rng)
    name = f"pilot of {n_pilot:,} items" if n_pilot else "assumed prior"
    plan = Plan(
        goal=goal,
        classes=tuple(classes),
        question=PlanQuestion(kind=candidate.kind, deeper=deeper, seconds=costs.seconds(candidate.kind)),
        items="all" if kept is None else kept,
        n_items=candidate.n_items,
        deeper_items=first if kept is None else tuple(item for item in first if item in set(kept)),
        answers=candidate.answers,
        expected=Expected(measure=criterion.name, value=error.value, low=error.low, high=error.high, source=name),
        cost=_with_deeper(terms.cost(candidate), terms, deeper, len(first)),
        budget=budget,
        curve=_curve(terms, candidate),
        alternatives=alternatives(chosen, budget, threshold),
        would_change=changes,
        assumptions=_assumptions(terms, name, deeper),
        made=made or provenance_now(),
    )
    plan.check()
    return plan


def provenance_now(command: str = "", seed: int | None = None) -> PlanProvenance:
    """The provenance of a plan made now."""
    return PlanProvenance(version=sfumato.__version__, at=datetime.now(UTC), command=command, seed=seed, pilot=None)


def _with_adaptive(
    terms: PlanTerms,
    source: Pilot | DirichletMixture,
    budget: Budget | None,
    threshold: ErrorThreshold | None,
    rng: np.random.Generator,
) -> PlanTerms:
    """The terms with the simulated value of adaptive assignment, if it is possible and may matter."""
    if PLAIN not in [rate.kind for rate in terms.rates]:
        return terms
    if terms.criterion.goal is Goal.CLASS:
        items = Population.of(source, MOST_SIMULATED * 4, rng)
        curve = adaptive_curve_by_lead(items, most=min(terms.most, MOST_TO_A_LEAD), rng=rng)
        return replace(terms, adaptive_curve=curve)
    index = terms.criterion.index
    up_to = _most_of_interest(terms, budget, threshold)
    if index is None or terms.n_items < LEAST_ITEMS or up_to <= FEWEST:
        return terms
    curve = adaptive_curve_by_index(
        Population.of(source, MOST_SIMULATED * 4, rng),
        index,
        terms.criterion.of_labels,
        n_items=min(terms.n_items, MOST_SIMULATED),
        n_simulated=2 * MOST_SIMULATED,
        up_to=up_to,
        fewest=FEWEST,
        audit=AUDIT,
        rng=rng,
    )
    return replace(terms, adaptive_curve=curve)


def _most_of_interest(terms: PlanTerms, budget: Budget | None, threshold: ErrorThreshold | None) -> float:
    """Plain votes per item up to which adaptive assignment is considered: what the budget pays, or what the threshold
    needs."""
    most = float(min(terms.most, MOST_ADAPTIVE))
    if budget is not None and threshold is None:
        most = min(most, terms.affordable(PLAIN, budget) / terms.n_items)
    if threshold is not None:
        target = threshold.allowed
        reached = [m for m in range(1, int(most) + 1) if terms.curve.at(float(m)).value <= target]
        most = min(most, 1.2 * reached[0] if reached else most)
    return most


def _what_is_left(budget: Budget | None, deeper_items: DeeperItems | None, costs: CostModel) -> Budget | None:
    """The budget after the deeper answers are paid."""
    if budget is None or deeper_items is None or not deeper_items.items:
        return budget
    kind, n = deeper_items.kind, len(deeper_items.items)
    spent = n if budget.unit == ANSWERS else costs.money(kind, n)
    if spent >= budget.amount:
        raise BadSetting(
            f"a budget of {budget.amount:g} {budget.unit}, and {n:,} {kind} answers that cost {spent:,.2f} of it",
            "budget left for the other answers",
            f"choose fewer items for {kind}, or a larger budget",
            "budget-too-small",
        )
    return Budget(amount=budget.amount - spent, unit=budget.unit)


def _kept(
    items: Sequence[str] | None, deeper: tuple[str, ...], n_items: int, rng: np.random.Generator
) -> tuple[str, ...] | None:
    """The items of the plan, deeper ones first and others at random if the budget does not cover all of them; None
    means all."""
    if items is None or len(items) == n_items:
        return None
    first = [item for item in deeper if item in set(items)][:n_items]
    rest = [item for item in items if item not in set(first)]
    drawn = rng.choice(len(rest), n_items - len(first), replace=False)
    chosen = {*first, *(rest[i] for i in drawn)}
    return tuple(item for item in items if item in chosen)
