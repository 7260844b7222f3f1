"""Pages in a real Chromium: every chart drawn, nothing asked of a network, in the dark and on a telephone."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from accessibility_checks import look_closely
from playwright.sync_api import Page as Tab

from sfumato.planning.plan_file import Plan
from sfumato.reporting import Chart, Page, Section
from sfumato.reporting.plan_page import plan_page

Visitor = Callable[..., Tab]
FEW = ("curve", "curves", "bars", "scatter")
FILLS = """() => [...document.querySelectorAll('#bars .mark-rect path')].map((bar) => getComputedStyle(bar).fill)"""
PANELS_HEIGHT = "() => document.querySelector('#curves svg').getBoundingClientRect().height"
BARS_WIDTH = "() => document.querySelector('#bars svg').getBoundingClientRect().width"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, charts: dict[str, Chart]) -> Path:
    """The page of every family of charts, and one of few, on disk."""
    place = tmp_path_factory.mktemp("pages")
    sections = (Section("Lines", tuple(charts.values())[:4]), Section("Areas", tuple(charts.values())[4:]))
    Page("Every chart", "All there are.", sections, kind="test").write(place / "charts.html")
    few = tuple(charts[name] for name in FEW)
    Page("Few charts", "Some.", (Section("Lines", few), Section("Words", ())), kind="test").write(place / "few.html")
    return place


def opened(tab: Tab, path: Path, n_charts: int) -> Tab:
    """The page once all its charts are drawn."""
    tab.goto(path.as_uri())
    tab.locator("[data-chart][data-drawn]").nth(n_charts - 1).wait_for(state="attached")
    return tab


def test_every_chart_is_drawn_under_the_pages_own_policy(visitor: Visitor, folder: Path) -> None:
    tab = opened(visitor(), folder / "charts.html", 10)
    drawn = tab.locator("[data-chart]").evaluate_all(
        "(all) => all.map((place) => [place.dataset.chart, place.querySelectorAll('svg .mark-group path').length])"
    )
    assert len(drawn) == 10
    assert all(n > 5 for _, n in drawn), drawn
    assert tab.locator("#curve .mark-symbol path").count() == 9


def test_nothing_runs_that_is_not_the_pages_own(visitor: Visitor, folder: Path, tmp_path: Path) -> None:
    html = (folder / "charts.html").read_text(encoding="utf-8")
    changed = html.replace("</main>", "<script>document.title = 'run'</script></main>")
    (tmp_path / "changed.html").write_text(changed)
    (tmp_path / "open.html").write_text(changed.replace("Content-Security-Policy", "Nothing"))
    tab = visitor(forgiving=True)
    tab.goto((tmp_path / "changed.html").as_uri())
    assert tab.title() == "Every chart"
    tab.goto((tmp_path / "open.html").as_uri())
    assert tab.title() == "run"


def test_pages_can_be_read_and_reached_by_everybody(
    visitor: Visitor, folder: Path, charts: dict[str, Chart], plan_with: Callable[..., Plan]
) -> None:
    plan = plan_page(plan_with())
    others = Section("Others", (charts["curves"], charts["gains"], charts["reliability"]))
    replace(plan, sections=(*plan.sections, others)).write(folder / "plan.html")
    tab = opened(visitor(bypass_csp=True), folder / "plan.html", 5)
    tab.locator("details").evaluate_all("(all) => all.forEach((each) => (each.open = true))")
    look_closely(tab, "report")


def test_the_dark_needs_no_redrawing(visitor: Visitor, folder: Path) -> None:
    tab = opened(visitor(color_scheme="light"), folder / "few.html", len(FEW))
    assert tab.evaluate(FILLS) == ["rgb(4, 82, 142)", "rgb(165, 76, 4)", "rgb(4, 82, 142)"]
    tab.locator("#bars svg").evaluate("(svg) => (svg.dataset.same = 'yes')")
    tab.emulate_media(color_scheme="dark")
    assert tab.evaluate(FILLS) == ["rgb(36, 140, 223)", "rgb(215, 111, 42)", "rgb(36, 140, 223)"]
    # Before the page is laid out for print, which may draw charts again at another width.
    assert tab.locator("#bars svg[data-same]").count() == 1
    tab.emulate_media(color_scheme="dark", media="print")
    assert tab.evaluate(FILLS) == ["rgb(4, 82, 142)", "rgb(165, 76, 4)", "rgb(4, 82, 142)"]
    assert tab.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"


def test_charts_are_as_wide_as_there_is_room(visitor: Visitor, folder: Path) -> None:
    tab = opened(visitor(), folder / "few.html", len(FEW))
    wide, side_by_side = tab.evaluate(BARS_WIDTH), tab.evaluate(PANELS_HEIGHT)
    tab.set_viewport_size({"width": 360, "height": 740})
    tab.locator("#bars [data-width='328']").wait_for()
    tab.wait_for_function("document.querySelector('#bars svg').getBoundingClientRect().width <= 328")
    assert wide > 600
    assert 300 < tab.evaluate(BARS_WIDTH) <= 328
    # Two panels side by side on a desk, one below the other on a telephone.
    tab.wait_for_function(f"({PANELS_HEIGHT})() > {1.5 * side_by_side}")


def test_a_point_says_its_numbers(visitor: Visitor, folder: Path) -> None:
    tab = opened(visitor(), folder / "few.html", len(FEW))
    tab.locator("#curve .mark-symbol path").nth(1).hover()
    tab.locator("#vg-tooltip-element.visible").wait_for()
    said = " ".join(tab.locator("#vg-tooltip-element").inner_text().split())
    assert said == "answers an item 2 error 0.5 from 0.4 to 0.6"


def test_the_csv_that_is_downloaded_has_the_data(visitor: Visitor, folder: Path, charts: dict[str, Chart]) -> None:
    tab = opened(visitor(), folder / "few.html", len(FEW))
    with tab.expect_download() as download:
        tab.locator("#scatter a.csv").click()
    assert download.value.suggested_filename == "scatter.csv"
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["p:cat"]) for row in rows] == list(charts["scatter"].columns["p:cat"])
    assert rows[3]["item"] == "</script>3"


def test_the_numbers_are_a_table_too(visitor: Visitor, folder: Path) -> None:
    tab = opened(visitor(), folder / "few.html", len(FEW))
    tab.locator("#curve details.numbers summary").click()
    assert tab.locator("#curve tbody tr").count() == 8
    assert tab.locator("#curve tbody tr").nth(3).inner_text().split() == ["4", "0.250", "0.200", "0.300"]
    assert tab.locator("#curve [role=img]").get_attribute("aria-label") == "A title. What is to be seen."


def test_paper_says_where_numbers_come_from(visitor: Visitor, folder: Path) -> None:
    tab = opened(visitor(), folder / "few.html", len(FEW))
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print")
    assert tab.locator("#curve .origin dd").first.is_visible()
    assert not tab.locator("#curve a.csv").is_visible()
    assert not tab.locator("nav").is_visible()
    assert tab.pdf(format="A4").startswith(b"%PDF")
    tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
    tab.emulate_media(media="screen")
    assert not tab.locator("#curve .origin dd").first.is_visible()
