"""Alternatives to a plan: other candidates, why they were not chosen, and what would change the decision. Called by
`decision.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sfumato.planning.answers_per_item import ErrorThreshold
from sfumato.planning.candidate_plans import Candidate, PlanTerms, Selected
from sfumato.planning.exchange_rates import ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.plan_file import Alternative, Budget, PlanAdaptive
from sfumato.planning.vote_rates import PLAIN, VoteRate, vote_rates

LITTLE = 1.25
"""An error larger by at most a quarter is a small loss for half of the cost."""


def alternatives(chosen: Selected, budget: Budget | None, threshold: ErrorThreshold | None) -> tuple[Alternative, ...]:
    """The other forms and assignments at their best; half the answers; and more items instead of more answers."""
    terms, candidate = chosen.terms, chosen.candidate
    result = [
        _as_alternative(terms, other, describe_candidate(other), _why_not(terms, candidate, other))
        for other in _near(chosen)
    ]
    half = int(candidate.each // 2)
    if half and candidate.rate.kind in [rate.kind for rate in terms.rates]:
        cheaper = terms.uniform(candidate.rate, half)
        worse = cheaper.error.value / max(candidate.error.value, 1e-12)
        if threshold is not None and cheaper.error.value > threshold.allowed:
            why = f"does not reach {threshold.allowed:g}"
        else:
            why = f"the error is {worse:.2g} times as large" + ("; good value" if worse < LITTLE else "")
        result.append(_as_alternative(terms, cheaper, f"half the answers: {describe_candidate(cheaper)}", why))
        if budget is not None:
            wider = replace(terms, n_items=2 * terms.n_items)
            more = wider.uniform(candidate.rate, half)
            why = f"for twice as many items, if you have them; each error is {worse:.2g} times as large"
            result.append(_as_alternative(wider, more, f"twice the items: {describe_candidate(more)}", why))
    return tuple(result)


def would_change(
    chosen: Selected,
    *,
    goal: Goal,
    threshold: ErrorThreshold | None,
    measured: Mapping[str, ExchangeRates] | None,
    n_pilot: int,
    unsure: Sequence[VoteRate] = (),
) -> tuple[str, ...]:
    """What would change the decision, in sentences, each with the value at which it would."""
    terms, candidate = chosen.terms, chosen.candidate
    sentences = [_other_form(terms, candidate, other) for other in _near(chosen) if other.kind != candidate.kind]
    sentences += [_unsure_form(terms, candidate, rate) for rate in unsure]
    for other in _near(chosen):
        if other.kind == candidate.kind and isinstance(other.answers, PlanAdaptive):
            sentences.append(
                f"adaptive assignment: {other.gain:.2f} times the error of equal numbers (plus or minus "
                f"{1.96 * other.spread:.2f}); it may help with more items, or items that differ more"
            )
    if isinstance(candidate.answers, PlanAdaptive):
        sentences.append(
            f"items that differ less than the pilot's: adaptive assignment has {candidate.gain:.2f} times the error of "
            f"equal numbers (plus or minus {1.96 * candidate.spread:.2f}), because only some items are clear"
        )
    elif terms.adaptive_curve is None:
        sentences.append(
            "adaptive assignment was not considered: it needs 200 items, more than two choices per item, and a goal "
            "other than geometry"
        )
    sentences.append(_other_goals(terms, goal, candidate.kind, measured))
    error = candidate.error
    if n_pilot and error.low is not None and error.high is not None:
        further = "four times as many items would halve that range"
        if isinstance(candidate.answers, PlanAdaptive):
            further = (
                "part of that range is the uncertainty about the adaptive gain, which a larger pilot does not reduce"
            )
        sentences.append(
            f"another pilot: with these {n_pilot:,} items the error is between {error.low:.3g} and "
            f"{error.high:.3g}; {further}"
        )
        if threshold is not None:
            sentences.append(
                "a lower probability: the threshold is reached with probability "
                f"{error.chance(threshold.allowed):.2f}; the expected error of "
                f"{error.value:.3g} is {1 - error.value / threshold.allowed:.0%} below it"
            )
    else:
        sentences.append(
            "a pilot: nothing here was measured; under another prior the error may be several times as large"
        )
    if chosen.n_left_out:
        n_wanted = terms.n_items + chosen.n_left_out
        sentences.append(
            f"more money: the budget pays one answer for {terms.n_items:,} of {n_wanted:,} items; one for each item "
            f"costs {n_wanted * terms.costs.money(candidate.kind):,.2f} {terms.costs.currency}"
        )
    if chosen.spare > 0.1:
        sentences.append(f"unspent budget: it would pay {chosen.spare:.0%} more answers, too few for one more per item")
    if chosen.budget_left:
        why = (
            f"the budget pays more than {terms.most} answers per item, the largest number considered"
            if candidate.each >= terms.most
            else "more answers about these items would hardly reduce the error, and budget is left"
        )
        sentences.append(f"more items: {why}")
    return tuple(sentences)


def _near(chosen: Selected) -> list[Candidate]:
    """The other assignment, the best other form, and every form that costs at most three times as much."""
    terms, candidate = chosen.terms, chosen.candidate
    first = next((other.kind for other in chosen.others if other.kind != candidate.kind), None)
    most = 3 * terms.money(candidate)
    return [other for other in chosen.others if other.kind in (candidate.kind, first) or terms.money(other) <= most]


def describe_candidate(candidate: Candidate) -> str:
    """The candidate in words."""
    answers, items = candidate.answers, f"{candidate.n_items:,} item{'s' * (candidate.n_items != 1)}"
    if not isinstance(answers, PlanAdaptive):
        return f"{answers.each} {candidate.kind} answer{'s' * (answers.each != 1)} for each of {items}"
    rule = f"until one class is {answers.lead} ahead" if answers.lead else f"by {answers.index}"
    return f"{answers.on_average:.1f} {candidate.kind} answers per item on average, adaptive {rule}, {items}"


def _as_alternative(terms: PlanTerms, candidate: Candidate, what: str, why_not: str) -> Alternative:
    return Alternative(
        what=what,
        kind=candidate.kind,
        assignment="adaptive" if isinstance(candidate.answers, PlanAdaptive) else "fewest",
        each=candidate.each,
        n_items=candidate.n_items,
        value=candidate.error.value,
        low=candidate.error.low,
        high=candidate.error.high,
        money=terms.money(candidate),
        why_not=why_not,
    )


def _why_not(terms: PlanTerms, candidate: Candidate, other: Candidate) -> str:
    if isinstance(other.answers, PlanAdaptive) and not other.is_significantly_better:
        return f"{other.gain:.2f} times the error of equal numbers (plus or minus {1.96 * other.spread:.2f}): no gain"
    if other.n_items < candidate.n_items:
        return f"the budget covers only {other.n_items:,} of the {candidate.n_items:,} items"
    dearer = terms.money(other) / max(terms.money(candidate), 1e-12)
    worse = other.error.value / max(candidate.error.value, 1e-12)
    if worse > 1.005:
        return f"the error is {worse:.3g} times as large for {dearer:.2g} times the money"
    return f"costs {dearer:.3g} times as much, same error" if dearer > 1.005 else "equally good; the simpler was chosen"


def _other_form(terms: PlanTerms, candidate: Candidate, other: Candidate) -> str:
    """The price and the exchange rate at which another form would be equally good for the same money."""
    needed = other.rate.answers(candidate.votes)
    seconds, rate = terms.costs.seconds(other.kind), other.rate
    breaks_even = candidate.each * terms.costs.seconds(candidate.kind) / needed
    votes = rate.votes * seconds / breaks_even if breaks_even > 0 else float("inf")
    return (
        f"{other.kind} answers: better if one took less than {breaks_even:.3g} paid seconds (now {seconds:.3g}) or was "
        f"worth more than {votes:.3g} votes (now {rate.votes:.3g}, 95% CI {rate.low:.3g} to {rate.high:.3g})"
    )


PILOT_ITEMS, PILOT_ANSWERS = 50, 3
"""A pilot that shows what another form is worth: this many items, with this many answers of either form each."""


def _unsure_form(terms: PlanTerms, candidate: Candidate, rate: VoteRate) -> str:
    """What a form would have to be worth, whose rate is not from the user's data, and the pilot that would show it."""
    costs = terms.costs
    even = costs.seconds(rate.kind) / costs.seconds(candidate.kind) if costs.seconds(candidate.kind) else float("inf")
    n = PILOT_ITEMS * PILOT_ANSWERS
    price = costs.money(rate.kind, n) + costs.money(PLAIN, n) if PLAIN in costs.times else costs.money(rate.kind, n)
    return (
        f"{rate.kind} answers: better if one is worth more than {even:.3g} {candidate.kind} answers; {rate.votes:.3g} "
        f"votes is {rate.source}, so it does not decide; a pilot of {PILOT_ITEMS} items with {PILOT_ANSWERS} answers "
        f"of both would show it, for {price:,.2f} {costs.currency}"
    )


def _other_goals(terms: PlanTerms, goal: Goal, kind: str, measured: Mapping[str, ExchangeRates] | None) -> str:
    """The form with most votes for the money, for each goal that would choose another form."""
    differ = []
    for other in Goal:
        if other is goal:
            continue
        rates = vote_rates(other, None, terms.costs, measured=measured)
        best = max(rates, key=lambda rate: rate.votes / max(terms.costs.seconds(rate.kind), 1e-12))
        if best.kind != kind:
            differ.append(f"{other} would use {best.kind} ({best.votes:.3g} votes per answer)")
    if differ:
        return f"another goal: {'; '.join(differ)}"
    same = "the same form" if kind == PLAIN else f"{kind} remains the best form"
    return f"another goal: {same}, but another number of answers"
