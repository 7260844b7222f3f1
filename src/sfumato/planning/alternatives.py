"""What came close to the plan, why it was not chosen, and what would change the decision."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.planning.answers_per_item import ErrorThreshold
from sfumato.planning.candidates import Candidate, PlanTerms, Selected, error_allowed
from sfumato.planning.exchange_estimates import PLAIN, ExchangeRates, worths_of
from sfumato.planning.goals import Goal
from sfumato.planning.plan_file import Alternative, Budget, PlanAdaptive

LITTLE = 1.25
"""An error larger by no more than a quarter is little to lose for half of the cost."""


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
            why = f"the error is {worse:.2g} times as large" + ("; a good bargain" if worse < LITTLE else "")
        result.append(_as_alternative(terms, cheaper, f"half the answers: {what_is(cheaper)}", why))
        if budget is not None:
            wider = terms.with_items(2 * terms.n_items)
            more = wider.uniform(way.worth, half)
            why = f"for twice as many items, if there are so many; each error is {worse:.2g} times as large"
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
    """What would change the decision, in sentences, each with the figure at which it would."""
    terms, way = chosen.terms, chosen.way
    said = [_other_form(terms, way, other) for other in _near(chosen) if other.kind != way.kind]
    for other in _near(chosen):
        if other.kind == way.kind and isinstance(other.answers, PlanAdaptive):
            said.append(
                f"asking adaptively came to {other.gain:.2f} times the error of equal numbers, known to within "
                f"{1.96 * other.spread:.2f}: with more items, or items that differ more, it may be worth it"
            )
    if isinstance(way.answers, PlanAdaptive):
        said.append(
            f"items that are more alike than the pilot's: asking adaptively takes the error to {way.gain:.2f} of what "
            f"equal numbers reach (within {1.96 * way.spread:.2f}), which rests on some being clear and others not"
        )
    elif terms.adapted is None:
        said.append(
            "asking adaptively was not looked at: that takes 200 items, more than two choices an item, and a goal "
            "other than geometry"
        )
    said.append(_other_goals(terms, goal, way.kind, measured))
    reading = way.reading
    if n_pilot and reading.low is not None and reading.high is not None:
        further = "four times as many would halve that range"
        if isinstance(way.answers, PlanAdaptive):
            further = (
                "part of that range is how well the gain of asking adaptively is known, and no larger pilot narrows it"
            )
        said.append(
            f"other items in the pilot: by its {n_pilot:,} items the error lies between {reading.low:.3g} and "
            f"{reading.high:.3g}; {further}"
        )
        if enough is not None:
            target = error_allowed(enough)
            said.append(
                f"less caution: the target is met with probability {reading.chance(target):.2f}; at "
                f"{reading.value:.3g} the expected error lies {1 - reading.value / target:.0%} below it"
            )
    else:
        said.append("a pilot: nothing here was measured, and under another prior the error may be several times this")
    if chosen.n_left_out:
        n_wanted = terms.n_items + chosen.n_left_out
        said.append(
            f"more money: the budget buys one answer about {terms.n_items:,} of {n_wanted:,} items; one for each costs "
            f"{n_wanted * terms.an_answer(way.kind):,.2f} {terms.costs.currency}"
        )
    if chosen.spare > 0.1:
        said.append(
            f"money for {chosen.spare:.0%} more answers is left over, which is too little for one more about every item"
        )
    if chosen.budget_left:
        why = (
            f"the budget buys more than {terms.most} answers an item, the most that were looked at"
            if way.each >= terms.most
            else "more answers about these would hardly take the error down, and the budget is not spent"
        )
        said.append(f"more items: {why}")
    return tuple(said)


def _near(chosen: Selected) -> list[Candidate]:
    """The other assignment, the best other form, and every form that costs no more than three times as much."""
    terms, way = chosen.terms, chosen.way
    first = next((other.kind for other in chosen.others if other.kind != way.kind), None)
    most = 3 * terms.money(way)
    return [other for other in chosen.others if other.kind in (way.kind, first) or terms.money(other) <= most]


def what_is(way: Candidate) -> str:
    """A way in words."""
    answers, items = way.answers, f"{way.n_items:,} item{'s' * (way.n_items != 1)}"
    if not isinstance(answers, PlanAdaptive):
        return f"{answers.each} {way.kind} answer{'s' * (answers.each != 1)} for each of {items}"
    rule = f"until one class is {answers.lead} ahead" if answers.lead else f"by {answers.index}"
    return f"{answers.on_average:.1f} {way.kind} answers an item on average, adaptively {rule}, {items}"


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
        return f"{other.gain:.2f} times the error of equal numbers (within {1.96 * other.spread:.2f}): no gain shown"
    if other.n_items < way.n_items:
        return f"the budget reaches for {other.n_items:,} of the {way.n_items:,} items alone"
    dearer = terms.money(other) / max(terms.money(way), 1e-12)
    worse = other.reading.value / max(way.reading.value, 1e-12)
    if worse > 1.005:
        return f"the error is {worse:.3g} times as large for {dearer:.2g} times the money"
    return f"costs {dearer:.3g} times as much for the same" if dearer > 1.005 else "as good; the simpler was taken"


def _other_form(terms: PlanTerms, way: Candidate, other: Candidate) -> str:
    """The price and the exchange rate at which another form would do as well for the same money."""
    needed = other.worth.answers(way.votes)
    seconds, worth = terms.costs.seconds(other.kind), other.worth.rate.votes
    # As many of its answers as are worth what the plan's are, for what those cost.
    breaks_even = way.each * terms.costs.seconds(way.kind) / needed
    votes = worth * seconds / breaks_even if breaks_even > 0 else float("inf")
    return (
        f"{other.kind} answers, if one took less than {breaks_even:.3g} paid seconds ({seconds:.3g} here) or was worth "
        f"more than {votes:.3g} votes ({worth:.3g} here, {other.worth.rate.low:.3g} to {other.worth.rate.high:.3g})"
    )


def _other_goals(terms: PlanTerms, goal: Goal, kind: str, measured: Mapping[str, ExchangeRates] | None) -> str:
    """The form that gives most votes for the money, where another goal would choose another."""
    differ = []
    for other in Goal:
        if other is goal:
            continue
        worths = worths_of(other, None, terms.costs, measured=measured)
        best = max(worths, key=lambda worth: worth.rate.votes / max(terms.costs.seconds(worth.kind), 1e-12))
        if best.kind != kind:
            differ.append(f"{other} would ask for {best.kind} ({best.rate.votes:.3g} votes an answer)")
    if differ:
        return f"another goal: {'; '.join(differ)}"
    same = "the form stays the same" if kind == PLAIN else f"{kind} stays the form"
    return f"another goal: {same}, but not how many answers are enough"
