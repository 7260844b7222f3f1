"""Alternatives to a plan: other candidates, why they were not chosen, and what would change the decision. Called by
`decision.py`."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.planning.answers_per_item import ErrorThreshold
from sfumato.planning.candidates import Candidate, PlanTerms, Selected, error_allowed
from sfumato.planning.exchange_estimates import PLAIN, ExchangeRates, worths_of
from sfumato.planning.goals import Goal
from sfumato.planning.plan_file import Alternative, Budget, PlanAdaptive

LITTLE = 1.25
"""An error larger by at most a quarter is a small loss for half of the cost."""


def alternatives(chosen: Selected, budget: Budget | None, enough: ErrorThreshold | None) -> tuple[Alternative, ...]:
    """The other forms and assignments at their best; half the answers; and more items instead of more answers."""
    terms, way = chosen.terms, chosen.way
    result = [_as_alternative(terms, other, what_is(other), _why_not(terms, way, other)) for other in _near(chosen)]
    half = int(way.each // 2)
    if half and way.worth.kind in [worth.kind for worth in terms.worths]:
        cheaper = terms.uniform(way.worth, half)
        worse = cheaper.reading.value / max(way.reading.value, 1e-12)
        if enough is not None and cheaper.reading.value > error_allowed(enough):
            why = f"does not reach {error_allowed(enough):g}"
        else:
            why = f"the error is {worse:.2g} times as large" + ("; good value" if worse < LITTLE else "")
        result.append(_as_alternative(terms, cheaper, f"half the answers: {what_is(cheaper)}", why))
        if budget is not None:
            wider = terms.with_items(2 * terms.n_items)
            more = wider.uniform(way.worth, half)
            why = f"for twice as many items, if you have them; each error is {worse:.2g} times as large"
            result.append(_as_alternative(wider, more, f"twice the items: {what_is(more)}", why))
    return tuple(result)


def would_change(
    chosen: Selected,
    *,
    goal: Goal,
    enough: ErrorThreshold | None,
    measured: Mapping[str, ExchangeRates] | None,
    n_pilot: int,
) -> tuple[str, ...]:
    """What would change the decision, in sentences, each with the value at which it would."""
    terms, way = chosen.terms, chosen.way
    said = [_other_form(terms, way, other) for other in _near(chosen) if other.kind != way.kind]
    for other in _near(chosen):
        if other.kind == way.kind and isinstance(other.answers, PlanAdaptive):
            said.append(
                f"adaptive assignment: {other.gain:.2f} times the error of equal numbers (plus or minus "
                f"{1.96 * other.spread:.2f}); it may help with more items, or items that differ more"
            )
    if isinstance(way.answers, PlanAdaptive):
        said.append(
            f"items that differ less than the pilot's: adaptive assignment has {way.gain:.2f} times the error of equal "
            f"numbers (plus or minus {1.96 * way.spread:.2f}), because some items are clear and others are not"
        )
    elif terms.adapted is None:
        said.append(
            "adaptive assignment was not considered: it needs 200 items, more than two choices per item, and a goal "
            "other than geometry"
        )
    said.append(_other_goals(terms, goal, way.kind, measured))
    reading = way.reading
    if n_pilot and reading.low is not None and reading.high is not None:
        further = "four times as many items would halve that range"
        if isinstance(way.answers, PlanAdaptive):
            further = (
                "part of that range is the uncertainty about the adaptive gain, which a larger pilot does not reduce"
            )
        said.append(
            f"another pilot: with these {n_pilot:,} items the error is between {reading.low:.3g} and "
            f"{reading.high:.3g}; {further}"
        )
        if enough is not None:
            allowed = error_allowed(enough)
            said.append(
                f"a lower probability: the threshold is reached with probability {reading.chance(allowed):.2f}; the "
                f"expected error of {reading.value:.3g} is {1 - reading.value / allowed:.0%} below it"
            )
    else:
        said.append("a pilot: nothing here was measured; under another prior the error may be several times as large")
    if chosen.n_left_out:
        n_wanted = terms.n_items + chosen.n_left_out
        said.append(
            f"more money: the budget pays one answer for {terms.n_items:,} of {n_wanted:,} items; one for each item "
            f"costs {n_wanted * terms.an_answer(way.kind):,.2f} {terms.costs.currency}"
        )
    if chosen.spare > 0.1:
        said.append(f"unspent budget: it would pay {chosen.spare:.0%} more answers, too few for one more per item")
    if chosen.budget_left:
        why = (
            f"the budget pays more than {terms.most} answers per item, the largest number considered"
            if way.each >= terms.most
            else "more answers about these items would hardly reduce the error, and budget is left"
        )
        said.append(f"more items: {why}")
    return tuple(said)


def _near(chosen: Selected) -> list[Candidate]:
    """The other assignment, the best other form, and every form that costs at most three times as much."""
    terms, way = chosen.terms, chosen.way
    first = next((other.kind for other in chosen.others if other.kind != way.kind), None)
    most = 3 * terms.money(way)
    return [other for other in chosen.others if other.kind in (way.kind, first) or terms.money(other) <= most]


def what_is(way: Candidate) -> str:
    """The candidate in words."""
    answers, items = way.answers, f"{way.n_items:,} item{'s' * (way.n_items != 1)}"
    if not isinstance(answers, PlanAdaptive):
        return f"{answers.each} {way.kind} answer{'s' * (answers.each != 1)} for each of {items}"
    rule = f"until one class is {answers.lead} ahead" if answers.lead else f"by {answers.index}"
    return f"{answers.on_average:.1f} {way.kind} answers per item on average, adaptive {rule}, {items}"


def _as_alternative(terms: PlanTerms, way: Candidate, what: str, why_not: str) -> Alternative:
    return Alternative(
        what=what,
        kind=way.kind,
        assignment="adaptive" if isinstance(way.answers, PlanAdaptive) else "fewest",
        each=way.each,
        n_items=way.n_items,
        value=way.reading.value,
        low=way.reading.low,
        high=way.reading.high,
        money=terms.money(way),
        why_not=why_not,
    )


def _why_not(terms: PlanTerms, way: Candidate, other: Candidate) -> str:
    if isinstance(other.answers, PlanAdaptive) and not other.is_shown_better:
        return f"{other.gain:.2f} times the error of equal numbers (plus or minus {1.96 * other.spread:.2f}): no gain"
    if other.n_items < way.n_items:
        return f"the budget covers only {other.n_items:,} of the {way.n_items:,} items"
    dearer = terms.money(other) / max(terms.money(way), 1e-12)
    worse = other.reading.value / max(way.reading.value, 1e-12)
    if worse > 1.005:
        return f"the error is {worse:.3g} times as large for {dearer:.2g} times the money"
    return f"costs {dearer:.3g} times as much, same error" if dearer > 1.005 else "equally good; the simpler was chosen"


def _other_form(terms: PlanTerms, way: Candidate, other: Candidate) -> str:
    """The price and the exchange rate at which another form would be equally good for the same money."""
    needed = other.worth.answers(way.votes)
    seconds, worth = terms.costs.seconds(other.kind), other.worth.rate.votes
    breaks_even = way.each * terms.costs.seconds(way.kind) / needed
    votes = worth * seconds / breaks_even if breaks_even > 0 else float("inf")
    return (
        f"{other.kind} answers: better if one took less than {breaks_even:.3g} paid seconds (now {seconds:.3g}) or was "
        f"worth more than {votes:.3g} votes (now {worth:.3g}, 95% CI {other.worth.rate.low:.3g} to "
        f"{other.worth.rate.high:.3g})"
    )


def _other_goals(terms: PlanTerms, goal: Goal, kind: str, measured: Mapping[str, ExchangeRates] | None) -> str:
    """The form with most votes for the money, for each goal that would choose another form."""
    differ = []
    for other in Goal:
        if other is goal:
            continue
        worths = worths_of(other, None, terms.costs, measured=measured)
        best = max(worths, key=lambda worth: worth.rate.votes / max(terms.costs.seconds(worth.kind), 1e-12))
        if best.kind != kind:
            differ.append(f"{other} would use {best.kind} ({best.rate.votes:.3g} votes per answer)")
    if differ:
        return f"another goal: {'; '.join(differ)}"
    same = "the same form" if kind == PLAIN else f"{kind} remains the best form"
    return f"another goal: {same}, but another number of answers"
