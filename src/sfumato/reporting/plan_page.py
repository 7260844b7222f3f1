"""The page of a plan: the decision, expected error by answers, alternatives, sensitivity and assumptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.planning.goals import Goal
from sfumato.planning.plan_file import Plan, PlanAdaptive
from sfumato.reporting.blocks import Block, Column, Commands, DataSource, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve
from sfumato.reporting.charts.comparison import dots
from sfumato.reporting.charts.curve import Marked
from sfumato.reporting.charts.field import Field
from sfumato.reporting.page import Page, Section

MEASURES = {
    "kl": "KL divergence, nats",
    "tv": "total variation",
    "l2": "squared distance",
    "wrong_class": "share of wrong classes",
}
"""The names of errors on an axis; others keep their own."""
THE_PLAN = "the plan"
WIDE = 20
"""An axis of answers is logarithmic if it spans more than this factor."""


def write_plan_page(plan: Plan, path: str | Path, *, file: str = "plan.json", study: str = "STUDY") -> None:
    """Write the page of `plan`; `file` and `study` are the files named in its commands."""
    plan_page(plan, file=file, study=study).write(path)


def plan_page(plan: Plan, *, file: str = "plan.json", study: str = "STUDY") -> Page:
    """The page of a plan."""
    source = DataSource(plan.made.command, file, f"The expected error is from: {plan.expected.source}.")
    sections = [
        Section("Answers per item", _curve(plan, source)),
        Section("Alternatives", _alternatives(plan, source)),
        Section("What would change the plan", (Points(tuple(_sentence(each) for each in plan.would_change)),)),
        Section("Assumptions", _assumptions(plan, source)),
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
    """The decision in a few words: `1,000 items, 7 answers per item`."""
    each = plan.answers.on_average
    average = " on average" if isinstance(plan.answers, PlanAdaptive) else ""
    items = f"{plan.n_items:,} item{'s' * (plan.n_items != 1)}"
    return f"{items}, {_number(each)} answer{'s' * (each != 1)} per item{average}"


def decision(plan: Plan) -> str:
    """The decision in one to three sentences: question type, items, answers per item, and goal."""
    items = f"{'all' if plan.items == 'all' else 'these'} {plan.n_items:,} items"
    if isinstance(plan.answers, PlanAdaptive):
        most, index = plan.answers.most, plan.answers.index
        answers = f"{plan.answers.fewest} to {most} answers per item, assigned by the index `{index}`"
    else:
        answers = f"{plan.answers.each} answer{'s' * (plan.answers.each != 1)} per item"
    deeper = ""
    if plan.question.deeper is not None and plan.deeper_items:
        deeper = f" Ask about {len(plan.deeper_items):,} of them with `{plan.question.deeper.kind}` first."
    return f"Ask `{plan.question.kind}` questions about {items}, {answers}.{deeper} Goal: {Goal(plan.goal).meaning}."


def _facts(plan: Plan) -> Facts:
    cost, expected = plan.cost, plan.expected
    budget = f"of {_amount(plan.budget.amount, plan.budget.unit)}" if plan.budget else "no budget given"
    interval = _interval(expected.low, expected.high)
    error = f"{_measure(plan)}; {interval}" if interval else _measure(plan)
    people = f"{cost.people:,} annotator{'s' * (cost.people != 1)}"
    return Facts((
        Fact(f"{cost.answers:,}", "answers", f"{_number(plan.answers.on_average)} per item"),
        Fact(_amount(cost.money, cost.currency), "cost", budget),
        Fact(f"{cost.hours:,.1f} h", "paid time", people),
        Fact(f"{expected.value:.3g}", "expected error", error),
    ))  # fmt: skip


def _curve(plan: Plan, source: DataSource) -> tuple[Block, ...]:
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
    chart = curve(
        "curve",
        title="Expected error by answers per item",
        caption=_curve_caption(plan),
        data=data,
        x=Field("answers", "answers per item", log=max(data["answers"]) > WIDE * fewest),
        y=Field("error", f"expected error: {_measure(plan)}", ".3~g", zero=True),
        low="low" if banded else None,
        high="high" if banded else None,
        marked=Marked(each, value, THE_PLAN),
        tooltip=(Field("money", f"cost, {plan.cost.currency}", ",.2f"),),
        source=source,
    )
    return (chart,)


def _curve_caption(plan: Plan) -> str:
    """The expected error of the plan, and with fewer and more answers."""
    each, value = plan.answers.on_average, plan.expected.value
    fewer = [point for point in plan.curve if point.answers < 0.75 * each]
    more = [point for point in plan.curve if point.answers > 1.33 * each]
    others = [f"{p.value:.3g} with {_number(p.answers)}" for p in (*fewer[-1:], *more[:1])]
    band = " The band is the 95% interval." if all(point.low is not None for point in plan.curve) else ""
    tail = f", {' and '.join(others)}" if others else ""
    return f"The expected error is {value:.3g} with the planned {_number(each)} answers per item{tail}.{band}"


def _alternatives(plan: Plan, source: DataSource) -> tuple[Block, ...]:
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
    lines = " Lines are 95% intervals, if known." if any(each is not None for each in low) else ""
    chart: Chart = dots(
        "alternatives",
        title="Expected error of the alternatives",
        caption=f"Lower is better.{lines} Hover over a point for its cost.",
        data={"what": what, "error": value, "low": low, "high": high, "money": money},
        of="what",
        value=Field("error", f"expected error: {_measure(plan)}", ".3~g"),
        low="low",
        high="high",
        emphasized=chosen,
        tooltip=(Field("money", f"cost, {plan.cost.currency}", ",.2f"),),
        source=source,
    )
    listed = ReportTable(
        "alternatives-listed",
        "Reasons against the alternatives",
        "The plan first, then the best alternatives.",
        (
            Column("plan", (THE_PLAN, *what[1:])),
            Column("items", n_items, 0),
            Column("answers per item", every, 1),
            Column("error", value),
            Column(f"cost, {plan.cost.currency}", money, 2),
            Column("reason", ("chosen", *(each.why_not for each in others))),
        ),
        source,
        emphasized=0,
    )
    return (chart, listed)


def _assumptions(plan: Plan, source: DataSource) -> tuple[Block, ...]:
    if not plan.assumptions:
        return ()
    listed = ReportTable(
        "assumptions",
        "Values assumed by the plan",
        "With their sources; other values may lead to another plan.",
        (
            Column("assumption", tuple(each.what for each in plan.assumptions)),
            Column("value", tuple(each.value for each in plan.assumptions)),
            Column("source", tuple(each.source for each in plan.assumptions)),
        ),
        source,
    )
    return (listed,)


def _after(plan: Plan) -> Prose:
    is_adaptive = isinstance(plan.answers, PlanAdaptive)
    stop = "every item has reached its stopping rule" if is_adaptive else "every item has its answers"
    text = f"The study ends when {stop}, or after {plan.cost.answers:,} answers. Then `sfumato export` writes them."
    return Prose((text,))


def _made(plan: Plan) -> str:
    seed = f", seed {plan.made.seed}" if plan.made.seed is not None else ""
    return f"Written by sfumato {plan.made.version} on {plan.made.at:%d %B %Y}{seed}: `{plan.made.command}`."


def _measure(plan: Plan) -> str:
    return MEASURES.get(plan.expected.measure, plan.expected.measure.replace("_", " "))


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3g} to {high:.3g}"


def _amount(amount: float, unit: str) -> str:
    return f"{amount:,.0f} {unit}" if unit == "answers" else f"{unit} {amount:,.2f}"


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _is_empty(block: Block) -> bool:
    return isinstance(block, Points) and not block.points
