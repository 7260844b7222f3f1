"""A plan as a page, and as a section of a report: decision, expected error, alternatives and assumptions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfumato.planning.goals import Goal
from sfumato.planning.plan_file import Plan, PlanAdaptive
from sfumato.reporting.blocks import Block, Column, Commands, DataSource, Fact, Facts, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve
from sfumato.reporting.charts.comparison import dots
from sfumato.reporting.charts.curve import Marked
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.page import Page, Section
from sfumato.reporting.phrases import capitalized, counted
from sfumato.reporting.report_inputs import ReportInputs

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
    changes = [capitalized(each) + ("" if each.endswith((".", "!", "?")) else ".") for each in plan.would_change]
    is_adaptive = isinstance(plan.answers, PlanAdaptive)
    stop = "every item has reached its stopping rule" if is_adaptive else "every item has its answers"
    end = f"The study ends when {stop}, or after {plan.cost.answers:,} answers. Then `sfumato export` writes them."
    seed = f", seed {plan.made.seed}" if plan.made.seed is not None else ""
    sections = [
        Section("Answers per item", _curve(plan, source)),
        Section("Alternatives", _alternatives(plan, source)),
        Section("What would change the plan", (Points(tuple(changes)),) if changes else ()),
        Section("Assumptions", _assumptions(plan, source)),
        Section("How to run it", (Commands((f"sfumato serve {study} --plan {file}",)), Prose((end,)))),
    ]
    return Page(
        title=headline(plan),
        lead=decision(plan),
        sections=tuple(each for each in sections if each.blocks),
        kind="sfumato · plan",
        opening=(_facts(plan),),
        made=f"Written by sfumato {plan.made.version} on {plan.made.at:%d %B %Y}{seed}: `{plan.made.command}`.",
    )


def headline(plan: Plan) -> str:
    """The decision in a few words: `1,000 items, 7 answers per item`."""
    each = plan.answers.on_average
    average = " on average" if isinstance(plan.answers, PlanAdaptive) else ""
    return f"{counted(plan.n_items, 'item')}, {_number(each)} answer{'s' * (each != 1)} per item{average}"


def decision(plan: Plan) -> str:
    """The decision in one to three sentences: question type, items, answers per item, and goal."""
    items = f"{'all' if plan.items == 'all' else 'these'} {plan.n_items:,} items"
    if isinstance(plan.answers, PlanAdaptive):
        most, index = plan.answers.most, plan.answers.index
        answers = f"{plan.answers.fewest} to {most} answers per item, assigned by the index `{index}`"
    else:
        answers = f"{counted(plan.answers.each, 'answer')} per item"
    deeper = ""
    if plan.question.deeper is not None and plan.deeper_items:
        deeper = f" Ask about {len(plan.deeper_items):,} of them with `{plan.question.deeper.kind}` first."
    return f"Ask `{plan.question.kind}` questions about {items}, {answers}.{deeper} Goal: {Goal(plan.goal).meaning}."


def plan_section(evidence: ReportInputs) -> Section | None:
    """The plan in a report, as on its own page and with the error by cost; None without a plan."""
    plan = evidence.plan
    if plan is None:
        return None
    source = evidence.source("plan", note=f"The expected error is from: {plan.expected.source}.")
    page = plan_page(plan, file=source.file or "plan.json")
    blocks: list[Block] = [Prose((decision(plan),)), *page.opening, *_cost(plan, source)]
    for section in page.sections:
        if any(isinstance(block, Points) for block in section.blocks):
            blocks.append(Prose(("The plan would change with:",)))
        blocks += [_renamed(block) for block in section.blocks]
    return Section("Next steps", tuple(blocks))


def _renamed(block: Block) -> Block:
    """The block with a name that is unique in the report."""
    return replace(block, name=f"plan-{block.name}") if isinstance(block, Chart | ReportTable) else block


def _cost(plan: Plan, source: DataSource) -> list[Chart]:
    """The expected error by cost."""
    if len(plan.curve) < 2:
        return []
    cost, expected = plan.cost, plan.expected
    dearer, more = [point for point in plan.curve if point.money > cost.money], ""
    if dearer:
        least = min(dearer, key=lambda point: point.money)
        change = f"change the error by {least.value - expected.value:+.3g}"
        more = f" {cost.currency} {least.money - cost.money:,.2f} more would {change}."
    caption = f"The plan costs {cost.currency} {cost.money:,.2f} for an error of {expected.value:.3g}.{more}"
    x = Field("money", f"cost, {cost.currency}", ",.2~f")
    return [_error_curve(plan, source, "plan-cost", caption, x, Field("answers", "answers per item", ",.1~f"))]


def _facts(plan: Plan) -> Facts:
    cost, expected = plan.cost, plan.expected
    budget = f"of {_amount(plan.budget.amount, plan.budget.unit)}" if plan.budget else "no budget given"
    known = expected.low is not None and expected.high is not None
    error = f"{_measure(plan)}; {expected.low:.3g} to {expected.high:.3g}" if known else _measure(plan)
    return Facts((
        Fact(f"{cost.answers:,}", "answers", f"{_number(plan.answers.on_average)} per item"),
        Fact(_amount(cost.money, cost.currency), "cost", budget),
        Fact(f"{cost.hours:,.1f} h", "paid time", counted(cost.people, "annotator")),
        Fact(f"{expected.value:.3g}", "expected error", error),
    ))  # fmt: skip


def _curve(plan: Plan, source: DataSource) -> tuple[Block, ...]:
    """The expected error by answers per item; the caption states it for the plan, and for fewer and more answers."""
    if not plan.curve:
        return ()
    each = plan.answers.on_average
    fewer = [point for point in plan.curve if point.answers < 0.75 * each]
    more = [point for point in plan.curve if point.answers > 1.33 * each]
    others = " and ".join(f"{p.value:.3g} with {_number(p.answers)}" for p in (*fewer[-1:], *more[:1]))
    caption = f"The expected error is {plan.expected.value:.3g} with the planned {_number(each)} answers per item"
    answers = [point.answers for point in plan.curve]
    x = Field("answers", "answers per item", log=max(answers) > WIDE * min(answers))
    money = Field("money", f"cost, {plan.cost.currency}", ",.2f")
    return (_error_curve(plan, source, "curve", f"{caption}, {others}." if others else f"{caption}.", x, money),)


def _error_curve(plan: Plan, source: DataSource, name: str, caption: str, x: Field, other: Field) -> Chart:
    """The expected error by answers or by cost, with the plan marked; the other one is in the tooltip."""
    points = sorted(plan.curve, key=lambda point: getattr(point, x.column))
    columns = {x.column: x.column, "error": "value", "low": "low", "high": "high", other.column: other.column}
    is_banded = all(point.low is not None and point.high is not None for point in points)
    planned = {"answers": plan.answers.on_average, "money": plan.cost.money}
    return curve(
        name,
        title=f"Expected error by {x.title.partition(',')[0]}",
        caption=caption + " The band is the 95% interval." * is_banded,
        data={column: [getattr(point, part) for point in points] for column, part in columns.items()},
        x=x,
        y=Field("error", f"expected error: {_measure(plan)}", ".3~g", zero=True),
        low="low" if is_banded else None,
        high="high" if is_banded else None,
        marked=Marked(planned[x.column], plan.expected.value, THE_PLAN),
        tooltip=(other,),
        source=source,
    )


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


def _measure(plan: Plan) -> str:
    return MEASURES.get(plan.expected.measure, plan.expected.measure.replace("_", " "))


def _amount(amount: float, unit: str) -> str:
    return f"{amount:,.0f} {unit}" if unit == "answers" else f"{unit} {amount:,.2f}"


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")
