"""The page of a plan: what was decided, the curve it was read from, what came close, and what would change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.planning.goals import Goal
from sfumato.planning.plan_file import Plan, PlanAdaptive
from sfumato.reporting.blocks import Block, Column, Commands, DataSource, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, Marked, curve, dots
from sfumato.reporting.page import Page, Section

MEASURES = {
    "kl": "KL divergence, nats",
    "tv": "total variation",
    "l2": "squared distance",
    "wrong_class": "share of wrong classes",
}
"""What errors are called on an axis; others by their own names."""
THE_PLAN = "the plan"
WIDE = 20
"""From so many times the fewest answers on, an axis of answers is logarithmic."""


def write_plan_page(plan: Plan, path: str | Path, *, file: str = "plan.json", study: str = "STUDY") -> None:
    """Write the page of `plan`; `file` and `study` are the files of the plan and the study, as commands name them."""
    plan_page(plan, file=file, study=study).write(path)


def plan_page(plan: Plan, *, file: str = "plan.json", study: str = "STUDY") -> Page:
    """The page of a plan, the decision first."""
    source = DataSource(plan.made.command, file, f"The error to expect is read from: {plan.expected.source}.")
    sections = [
        Section("How many answers", _how_many(plan, source)),
        Section("What came close", _close(plan, source)),
        Section("What would change it", (Points(tuple(_sentence(each) for each in plan.would_change)),)),
        Section("What it rests on", _rests_on(plan, source)),
        Section("How to run it", (Commands((f"sfumato serve {study} --plan {file}",)), _after(plan))),
    ]
    return Page(
        title=headline(plan),
        lead=decision(plan),
        sections=tuple(each for each in sections if any(not _is_empty(block) for block in each.blocks)),
        kind="sfumato · plan",
        opening=(_facts(plan),),
        made=_made(plan),
    )


def headline(plan: Plan) -> str:
    """The decision in a few words: how many items, how many answers each."""
    each = plan.answers.on_average
    average = " on average" if isinstance(plan.answers, PlanAdaptive) else ""
    items = f"{plan.n_items:,} item{'s' * (plan.n_items != 1)}"
    return f"{items}, {_figure(each)} answer{'s' * (each != 1)} each{average}"


def decision(plan: Plan) -> str:
    """The decision in a sentence or two: what is asked, of which items, how the answers are shared out, for what."""
    what = (
        f"Ask `{plan.question.kind}` questions about {'all' if plan.items == 'all' else 'these'} {plan.n_items:,} items"
    )
    if isinstance(plan.answers, PlanAdaptive):
        most, index = plan.answers.most, plan.answers.index
        shared = f"{plan.answers.fewest} to {most} answers each, the next where `{index}` finds it worth most"
    else:
        shared = f"{plan.answers.each} answer{'s' * (plan.answers.each != 1)} each"
    deeper = ""
    if plan.question.deeper is not None and plan.deeper_items:
        deeper = f" Ask about {len(plan.deeper_items):,} of them with `{plan.question.deeper.kind}` first."
    return f"{what}, {shared}.{deeper} The goal: {Goal(plan.goal).meaning}."


def _facts(plan: Plan) -> Facts:
    cost, expected = plan.cost, plan.expected
    budget = f"of {_amount(plan.budget.amount, plan.budget.unit)}" if plan.budget else "no budget was given"
    between = _between(expected.low, expected.high)
    people = f"{cost.people:,} {'people' if cost.people != 1 else 'person'}"
    return Facts((
        Fact(f"{cost.answers:,}", "answers", f"{_figure(plan.answers.on_average)} an item"),
        Fact(_amount(cost.money, cost.currency), "cost", budget),
        Fact(f"{cost.hours:,.1f} h", "paid time", people),
        Fact(f"{expected.value:.3g}", "expected error", f"{_measure(plan)}; {between}" if between else _measure(plan)),
    ))  # fmt: skip


def _how_many(plan: Plan, source: DataSource) -> tuple[Block, ...]:
    if not plan.curve:
        return ()
    points = plan.curve
    data: dict[str, Any] = {
        "answers": [point.answers for point in points],
        "error": [point.value for point in points],
        "low": [point.low for point in points],
        "high": [point.high for point in points],
        "money": [point.money for point in points],
    }
    each, value = plan.answers.on_average, plan.expected.value
    banded = all(point.low is not None and point.high is not None for point in points)
    fewest = min(point.answers for point in points)
    drawn = curve(
        "curve",
        title="What another answer buys",
        caption=_what_more_buys(plan),
        data=data,
        x=Field("answers", "answers an item", log=max(data["answers"]) > WIDE * fewest),
        y=Field("error", f"expected error: {_measure(plan)}", ".3~g", zero=True),
        low="low" if banded else None,
        high="high" if banded else None,
        marked=Marked(each, value, THE_PLAN),
        told=(Field("money", f"cost, {plan.cost.currency}", ",.2f"),),
        source=source,
    )
    return (drawn,)


def _what_more_buys(plan: Plan) -> str:
    """What the nearest cheaper and dearer points of the curve would give, in a sentence."""
    each, value = plan.answers.on_average, plan.expected.value
    fewer = [point for point in plan.curve if point.answers < 0.75 * each]
    more = [point for point in plan.curve if point.answers > 1.33 * each]
    said = [f"{_figure(p.answers)} answers an item would give {p.value:.3g}" for p in (*fewer[-1:], *more[:1])]
    band = " The band is the 95% interval." if all(point.low is not None for point in plan.curve) else ""
    tail = f"; {' and '.join(said)}" if said else ""
    return f"The plan's {_figure(each)} answers an item give an error of {value:.3g}{tail}.{band}"


def _close(plan: Plan, source: DataSource) -> tuple[Block, ...]:
    if not plan.alternatives:
        return ()
    others, expected = plan.alternatives, plan.expected
    chosen = f"{THE_PLAN}: {headline(plan)}"
    what = (chosen, *(each.what for each in others))
    value = (expected.value, *(each.value for each in others))
    money = (plan.cost.money, *(each.money for each in others))
    every = (plan.answers.on_average, *(each.each for each in others))
    n_items = (plan.n_items, *(each.n_items for each in others))
    low = (expected.low, *(each.low for each in others))
    high = (expected.high, *(each.high for each in others))
    lines = " Lines are 95% intervals, where there is one." if any(each is not None for each in low) else ""
    drawn: Chart = dots(
        "alternatives",
        title="The error of each",
        caption=f"Further left is better.{lines} The cost of each is under the pointer.",
        data={"what": what, "error": value, "low": low, "high": high, "money": money},
        of="what",
        value=Field("error", f"expected error: {_measure(plan)}", ".3~g"),
        low="low",
        high="high",
        emphasised=chosen,
        told=(Field("money", f"cost, {plan.cost.currency}", ",.2f"),),
        source=source,
    )
    listed = ReportTable(
        "alternatives-listed",
        "Why they were not chosen",
        "The plan first, then what came closest.",
        (
            Column("plan", (THE_PLAN, *what[1:])),
            Column("items", n_items, 0),
            Column("answers each", every, 1),
            Column("error", value),
            Column(f"cost, {plan.cost.currency}", money, 2),
            Column("why not", ("chosen", *(each.why_not for each in others))),
        ),
        source,
        emphasised=0,
    )
    return (drawn, listed)


def _rests_on(plan: Plan, source: DataSource) -> tuple[Block, ...]:
    if not plan.assumptions:
        return ()
    listed = ReportTable(
        "assumptions",
        "Figures the plan rests on",
        "Each with where it comes from; another figure may mean another plan.",
        (
            Column("what", tuple(each.what for each in plan.assumptions)),
            Column("figure", tuple(each.value for each in plan.assumptions)),
            Column("from", tuple(each.source for each in plan.assumptions)),
        ),
        source,
    )
    return (listed,)


def _after(plan: Plan) -> Prose:
    stop = "Items are finished one by one; the study ends when all are" if isinstance(plan.answers, PlanAdaptive) else (
        "The study ends when every item has its answers"
    )  # fmt: skip
    return Prose((f"{stop}, or when {plan.cost.answers:,} answers are in. Then `sfumato export` writes them.",))


def _made(plan: Plan) -> str:
    seed = f", seed {plan.made.seed}" if plan.made.seed is not None else ""
    return f"Made with sfumato {plan.made.version} on {plan.made.at:%d %B %Y}{seed}: `{plan.made.command}`."


def _measure(plan: Plan) -> str:
    return MEASURES.get(plan.expected.measure, plan.expected.measure.replace("_", " "))


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3g} to {high:.3g}"


def _amount(amount: float, unit: str) -> str:
    return f"{amount:,.0f} {unit}" if unit == "answers" else f"{unit} {amount:,.2f}"


def _figure(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _sentence(text: str) -> str:
    """A sentence that begins with a capital and ends with a point, whoever wrote it."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _is_empty(block: Block) -> bool:
    return isinstance(block, Points) and not block.points
