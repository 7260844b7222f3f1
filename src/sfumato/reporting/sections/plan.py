"""Report section: the plan for the next answers, with cost and expected error."""

from __future__ import annotations

from dataclasses import replace

from sfumato.planning.plan_file import Plan
from sfumato.reporting.blocks import Block, DataSource, Points, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve
from sfumato.reporting.charts.curve import Marked
from sfumato.reporting.charts.field import Field
from sfumato.reporting.page import Section
from sfumato.reporting.plan_page import MEASURES, THE_PLAN, decision, plan_page
from sfumato.reporting.report_inputs import ReportInputs

TITLE = "Next steps"


def plan_section(evidence: ReportInputs) -> Section | None:
    """The decision, its cost and expected error, alternatives, and what would change the plan; None without a plan."""
    plan = evidence.plan
    if plan is None:
        return None
    source = evidence.source("plan", note=f"The expected error is from: {plan.expected.source}.")
    page = plan_page(plan, file=source.file or "plan.json")
    blocks: list[Block] = [Prose((decision(plan),)), *page.opening]
    blocks += _cost(plan, source)
    for section in page.sections:
        if any(isinstance(block, Points) for block in section.blocks):
            blocks.append(Prose(("The plan would change with:",)))
        blocks += [_named(block) for block in section.blocks]
    return Section(TITLE, tuple(blocks))


def _named(block: Block) -> Block:
    """The block with a name that is unique in the report."""
    return replace(block, name=f"plan-{block.name}") if isinstance(block, Chart | ReportTable) else block


def _cost(plan: Plan, source: DataSource) -> list[Block]:
    """The expected error by cost."""
    points = sorted(plan.curve, key=lambda point: point.money)
    if len(points) < 2:
        return []
    measure = MEASURES.get(plan.expected.measure, plan.expected.measure.replace("_", " "))
    banded = all(point.low is not None and point.high is not None for point in points)
    dearer = [point for point in points if point.money > plan.cost.money]
    more = (
        f" {plan.cost.currency} {dearer[0].money - plan.cost.money:,.2f} more would change the error by "
        f"{dearer[0].value - plan.expected.value:+.3g}."
        if dearer
        else ""
    )
    return [
        curve(
            "plan-cost",
            title="Expected error by cost",
            caption=f"The plan costs {plan.cost.currency} {plan.cost.money:,.2f} for an error of "
            f"{plan.expected.value:.3g}.{more}{' The band is the 95% interval.' if banded else ''}",
            data={
                "money": [point.money for point in points],
                "error": [point.value for point in points],
                "low": [point.low for point in points],
                "high": [point.high for point in points],
                "answers": [point.answers for point in points],
            },
            x=Field("money", f"cost, {plan.cost.currency}", ",.2~f"),
            y=Field("error", f"expected error: {measure}", ".3~g", zero=True),
            low="low" if banded else None,
            high="high" if banded else None,
            marked=Marked(plan.cost.money, plan.expected.value, THE_PLAN),
            tooltip=(Field("answers", "answers per item", ",.1~f"),),
            source=source,
        )
    ]
