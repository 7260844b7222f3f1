"""A plan as text: the decision, the curve, alternatives, what would change it, and the assumptions."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.planning.plan_file import Plan, PlanAdaptive
from sfumato.study.study import ABOUT_ONE_ITEM
from sfumato.tables.printed_text import bar, counted, wrapped


def plan_lines(plan: Plan, notes: Sequence[str] = ()) -> list[str]:
    """The whole text; `notes` say how the pilot was read. Assumptions about forms that were not chosen are only in the
    file."""
    article = "an" if plan.expected.source.startswith("assumed") else "a"
    lines = [f"based on {article} {plan.expected.source}"]
    for note in notes:
        lines += wrapped(note, "  - ")
    lines += ["", *wrapped(decision(plan))]
    if plan.deeper_items and plan.question.deeper:
        lines += wrapped(f"{len(plan.deeper_items):,} items get one {plan.question.deeper.kind} answer first.")
    lines += _curve(plan)
    if plan.alternatives:
        lines += ["", "alternatives:"]
        for each in plan.alternatives:
            cost = f"{each.money:,.2f} {plan.cost.currency}"
            lines += wrapped(f"{each.what}: {each.value:.4g} for {cost}; {each.why_not}", "  - ")
    lines += ["", "what would change it:"]
    for sentence in plan.would_change:
        lines += wrapped(sentence, "  - ")
    lines += ["", "assumptions:"]
    kinds = [kind for kind in ABOUT_ONE_ITEM if kind != plan.question.kind]
    others = {f"{what} per {kind} answer" for kind in kinds for what in ("seconds", "votes")}
    for fact in plan.assumptions:
        if fact.what not in others:
            lines += wrapped(f"{fact.what}: {fact.value} ({fact.source})", "  - ")
    return lines


def decision(plan: Plan) -> str:
    """The decision in words: what to collect, the expected error, and the cost."""
    answers, cost, expected = plan.answers, plan.cost, plan.expected
    titles = {"kl": "a mean KL divergence", "l2": "a mean squared distance", "wrong_class": "a share of wrong classes"}
    error = titles.get(expected.measure, f"a {expected.measure.replace('_', ' ')}")
    kind = "single-choice" if plan.question.kind == "choice" else plan.question.kind
    collect = "collect" if plan.budget else "Collect"
    what = f"{collect} {counted(cost.answers, f'{kind} answer')}"
    if isinstance(answers, PlanAdaptive):
        rule = f"until one class is {answers.lead} ahead" if answers.lead else "more for uncertain items"
        how = f"{answers.on_average:.2g} per item on average ({answers.fewest} to {answers.most}, {rule})"
    else:
        how = f"{answers.each} for each of {counted(plan.n_items, 'item')}"
    budget = f"With {plan.budget.amount:,g} {plan.budget.unit}: " if plan.budget else ""
    between = "" if expected.low is None else f" (95% CI {expected.low:.3g} to {expected.high:.3g})"
    return (
        f"{budget}{what}, {how}. Expected error: {error} of {expected.value:.3g}{between}. "
        f"Cost: {cost.money:,.2f} {cost.currency}, {cost.hours:,.1f} paid hours, about {cost.people:,} "
        f"{'people' if cost.people != 1 else 'person'}."
    )


def _curve(plan: Plan) -> list[str]:
    """The expected error and the cost by the number of answers per item."""
    if not plan.curve:
        return []
    has_interval = plan.curve[0].low is not None
    interval = f"  {'95% interval':^20}" if has_interval else ""
    lines = ["", f"{'answers':>7}  {'error':>8}{interval}  {'cost':>12}"]
    scale = max(point.value for point in plan.curve) or 1.0
    for point in plan.curve:
        between = f"  {point.low or 0:>8.4f} to {point.high or 0:<8.4f}" if has_interval else ""
        is_chosen = abs(point.answers - plan.answers.on_average) < 0.005
        line = f"{point.answers:>7.3g}  {point.value:>8.4f}{between}  {point.money:>12,.2f}"
        lines.append(f"{line}  {bar([(point.value / scale, '█')])} {'<- the plan' if is_chosen else ''}".rstrip())
    return lines
