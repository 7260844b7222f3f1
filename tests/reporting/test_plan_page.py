"""The page of a plan says what the plan says."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

from sfumato.planning.plan_file import Plan
from sfumato.reporting import Chart, ReportTable
from sfumato.reporting.plan_page import decision, headline, plan_page, write_plan_page

PlanWith = Callable[..., Plan]
ADAPTIVE = {
    "assignment": "adaptive", "index": "kl", "fewest": 2, "most": 25, "target": 0.02, "lead": None, "audit": 0.05,
    "on_average": 6.8,
}  # fmt: skip


def text_of(plan: Plan) -> str:
    """The words of the page, without scripts and tags."""
    html = re.sub(r"<(script|style).*?</\1>", "", plan_page(plan).html(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def named(plan: Plan, name: str) -> Chart | ReportTable:
    blocks = plan_page(plan).blocks
    return next(each for each in blocks if isinstance(each, Chart | ReportTable) and each.name == name)


def test_the_decision_comes_first(plan_with: PlanWith) -> None:
    plan = plan_with()
    assert headline(plan) == "1,000 items, 7 answers per item"
    assert decision(plan).startswith("Ask `choice` questions about all 1,000 items, 7 answers per item. Goal: ")
    text = text_of(plan)
    assert text.index("7 answers per item") < text.index("USD 72.31") < text.index("Expected error by answers per item")
    for figure in ("7,000", "USD 72.31", "of USD 500.00", "4.9 h", "35 annotators", "0.0213", "0.0188 to 0.0242"):
        assert figure in text, figure


def test_an_adaptive_plan_states_its_index(plan_with: PlanWith) -> None:
    deeper = {"kind": "top_two", "votes": 1.07, "seconds": 57.3}
    question = {"kind": "choice", "deeper": deeper, "seconds": 2.3}
    plan = plan_with(answers=ADAPTIVE, question=question, deeper_items=["a", "b"])
    assert headline(plan) == "1,000 items, 6.8 answers per item on average"
    assert "2 to 25 answers per item, assigned by the index `kl`" in decision(plan)
    assert "Ask about 2 of them with `top_two` first." in decision(plan)
    assert "every item has reached its stopping rule" in text_of(plan)


def test_the_curve_is_the_plans_with_its_point_marked(plan_with: PlanWith) -> None:
    chart = named(plan_with(), "curve")
    assert isinstance(chart, Chart)
    assert chart.columns["error"] == tuple(0.13 / m + 0.002 for m in (1, 2, 3, 5, 7, 10, 20))
    assert chart.columns["money"] == tuple(10.3 * m for m in (1, 2, 3, 5, 7, 10, 20))
    inline = [rows for name, rows in chart.spec["datasets"].items() if name != "rows"]
    assert [{"answers": 7.0, "error": 0.0213, "words": "the plan"}] in inline
    # By hand: 5 is the last below three quarters of 7, 10 the first above four thirds.
    assert "0.028 with 5 and 0.015 with 10." in chart.caption


def test_alternatives_are_listed_with_reasons(plan_with: PlanWith) -> None:
    plan = plan_with()
    chart, table = named(plan, "alternatives"), named(plan, "alternatives-listed")
    assert isinstance(chart, Chart)
    assert isinstance(table, ReportTable)
    assert chart.columns["error"] == (0.0213, 0.0262, 0.041)
    assert table.data["reason"] == ("chosen", "it costs more", "it takes longer")
    assert table.data["plan"] == ("the plan", "8 answers an item", "<i>top_two</i>")
    assert table.emphasized == 0
    assert "&lt;i&gt;top_two" in plan_page(plan).html()


def test_what_would_change_it_and_how_to_run_it(plan_with: PlanWith) -> None:
    text = text_of(plan_with())
    assert "A wage above 95 USD an hour." in text
    assert "sfumato serve STUDY --plan plan.json" in text
    assert "Written by sfumato 0.1.0 on 16 November 2026, seed 3" in text
    assert "wage an hour 12 USD assumed" in text


def test_a_plan_from_a_prior_has_no_intervals_and_its_page_has_none(plan_with: PlanWith) -> None:
    other = {"kind": "choice", "assignment": "fewest", "n_items": 9, "low": None, "high": None, "money": 1.0}
    bare = plan_with(
        expected={"measure": "share_beyond_0.1_kl", "value": 0.3, "low": None, "high": None, "from": "assumed prior"},
        curve=[{"answers": m, "value": 1 / m, "low": None, "high": None, "money": 1.0 * m} for m in (1, 2, 40)],
        alternatives=[{"what": "another", "each": 3, "value": 0.4, "why_not": "no", **other}],
        would_change=["another prior"],
        assumptions=[],
        budget=None,
    )
    page = plan_page(bare)
    titles = [section.title for section in page.sections]
    assert titles == ["Answers per item", "Alternatives", "What would change the plan", "How to run it"]
    chart, dots = page.charts
    assert all("x2" not in layer["encoding"] for layer in dots.spec["layer"])
    assert "interval" not in dots.caption
    assert all("y2" not in layer["encoding"] for layer in chart.spec["layer"])
    assert chart.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"
    assert "interval" not in chart.caption
    assert "no budget given" in text_of(bare)
    assert "Another prior." in text_of(bare)
    assert "<svg" in chart.svg()


def test_a_plan_without_alternatives_has_fewer_sections(plan_with: PlanWith) -> None:
    bare = plan_with(alternatives=[], would_change=[], assumptions=[], curve=[])
    assert [section.title for section in plan_page(bare).sections] == ["How to run it"]


def test_the_page_is_written_for_the_files_it_names(plan_with: PlanWith, tmp_path: Path) -> None:
    write_plan_page(plan_with(), tmp_path / "plan.html", file="other.json", study="birds.toml")
    assert "sfumato serve birds.toml --plan other.json" in (tmp_path / "plan.html").read_text(encoding="utf-8")
