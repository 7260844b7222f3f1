"""Stating: what was decided as a Plan, with its curve, its cost and everything it rests on."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sfumato.planning.alternatives import alternatives
from sfumato.planning.answers_per_item import ErrorThreshold
from sfumato.planning.choosing import Selected
from sfumato.planning.costs import FEE, OVERHEAD, WAGE
from sfumato.planning.goals import Goal
from sfumato.planning.plan_file import Plan
from sfumato.planning.plan_parts import (
    Assumption,
    Budget,
    Cost,
    Expected,
    Made,
    PlanAdaptive,
    PlanDeeper,
    PlanQuestion,
    Point,
)
from sfumato.planning.ways import Candidate, PlanTerms

POINTS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500)
RESTS_ON = {
    Goal.DISTRIBUTION: "KL divergence of the crowd's distribution from the labels of bayes, in nats",
    Goal.CLASS: "chance that the class named most often is not the one most people would name",
    Goal.GEOMETRY: "squared distance of the shares from the crowd's distribution: what blurs which items are alike",
    Goal.CALIBRATION: "KL divergence as for the distribution: what training on the labels loses in cross-entropy",
}
"""The error that stands for each goal."""


def as_plan(
    chosen: Selected,
    *,
    classes: Sequence[str],
    items: tuple[str, ...] | None,
    deeper: PlanDeeper | None,
    deeper_items: tuple[str, ...],
    source: str,
    budget: Budget | None,
    enough: ErrorThreshold | None,
    changes: tuple[str, ...],
    made: Made,
) -> Plan:
    """The plan as it goes to a file; it is checked like one that is read."""
    terms, way = chosen.terms, chosen.way
    reading = way.reading
    plan = Plan(
        goal=terms.criterion.goal,
        classes=tuple(classes),
        question=PlanQuestion(kind=way.kind, deeper=deeper, seconds=terms.costs.seconds(way.kind)),
        items="all" if items is None else items,
        n_items=way.n_items,
        deeper_items=deeper_items if items is None else tuple(item for item in deeper_items if item in set(items)),
        answers=way.answers,
        expected=Expected(
            measure=terms.criterion.name, value=reading.value, low=reading.low, high=reading.high, source=source
        ),
        cost=_with_deeper(terms.cost(way), terms, deeper, len(deeper_items)),
        budget=budget,
        curve=_curve(terms, way),
        alternatives=alternatives(chosen, budget, enough),
        would_change=changes,
        assumptions=_assumptions(chosen, source, deeper),
        made=made,
    )
    plan.check()
    return plan


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


def _curve(terms: PlanTerms, way: Candidate) -> tuple[Point, ...]:
    """What fewer and more answers would give, assigned as the plan assigns them."""
    if isinstance(way.answers, PlanAdaptive):
        averages = terms.adaptive_averages(float(terms.most))
        if way.answers.lead is None:
            assert terms.adapted is not None
            averages = sorted({*terms.adapted.on_average.tolist(), way.each})
        ways = [found for each in averages if (found := terms.adaptive(each)) is not None]
    else:
        shown = {m for m in POINTS if m <= min(terms.most, max(4 * way.each, 10))} | {way.answers.each}
        ways = [terms.uniform(way.worth, m) for m in sorted(shown)]
    return tuple(
        Point(
            answers=each.each,
            value=each.reading.value,
            low=each.reading.low,
            high=each.reading.high,
            money=terms.money(each),
        )
        for each in ways
    )


def _assumptions(chosen: Selected, source: str, deeper: PlanDeeper | None) -> tuple[Assumption, ...]:
    terms, costs = chosen.terms, chosen.terms.costs
    said = [
        Assumption(what="error", value=RESTS_ON[terms.criterion.goal], source="the goal"),
        Assumption(what="items to be labelled", value=f"{terms.n_items:,}, like those of the {source}", source="given"),
    ]
    for worth in terms.worths:
        time = costs.time(worth.kind)
        paid = f"{costs.seconds(worth.kind):.3g} paid"
        said.append(Assumption(what=f"seconds of a {worth.kind}", value=paid, source=time.source))
        if worth.rate.votes != 1.0 or worth.kind != "choice":
            votes = f"{worth.rate.votes:.3g} ({worth.rate.low:.3g} to {worth.rate.high:.3g})"
            said.append(Assumption(what=f"votes of a {worth.kind}", value=votes, source=worth.rate.source))
    said += [
        Assumption(what="wage an hour", value=f"{costs.wage:g} {costs.currency}", source=_given(costs.wage, WAGE)),
        Assumption(what="fee of the platform", value=f"{costs.fee:.0%} of the pay", source=_given(costs.fee, FEE)),
        Assumption(
            what="overhead of a session", value=f"{costs.overhead:g} times", source=_given(costs.overhead, OVERHEAD)
        ),
        Assumption(what="answers a session", value=str(costs.batch_size), source="the study, or the usual"),
    ]
    if deeper is not None:
        said.append(
            Assumption(
                what="deeper answers",
                value="paid for, but not counted in the error to expect",
                source="which items they help is known, not by how much",
            )
        )
    if terms.criterion.measure.uses_prior:
        said.append(
            Assumption(what="labels", value="by bayes, its prior fitted to the study's own answers", source="simulated")
        )
    return tuple(said)


def _given(value: float, usual: float) -> str:
    return "assumed" if value == usual else "given"
