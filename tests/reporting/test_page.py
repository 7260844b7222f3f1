"""Pages: whole in themselves, closed to the world, and true to their data."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from sfumato.reporting import (
    Chart,
    Column,
    Commands,
    DataSource,
    Fact,
    Facts,
    Page,
    Points,
    Prose,
    ReportTable,
    Section,
)
from sfumato.tables.errors import BadSetting, CannotWrite

EVIL = '</script><script>alert(1)</script><!-- `x` & "y" \''


def page_of(*blocks: object, **settings: object) -> Page:
    return Page(**{"title": "T", "lead": "L", "sections": (Section("One", blocks),), **settings})  # type: ignore[arg-type]


def listing(name: str = "costs") -> ReportTable:
    columns = (Column("what", ("soft", EVIL)), Column("cost", (1234.5, 9.0), 2))
    return ReportTable(
        name, "Costs", "What each costs.", columns, DataSource("sfumato plan", "p.parquet"), emphasized=0
    )


def policy_of(html: str) -> str:
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert found
    return unescape(found[1])


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_only_its_own_script_and_style_may_run(charts: dict[str, Chart]) -> None:
    html = page_of(*charts.values()).html()
    policy = policy_of(html)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    scripts = re.findall(r'<script type="module">(.*?)</script>', html, re.DOTALL)
    assert style
    assert hashed(style[1]) in policy
    assert len(scripts) == 1
    assert hashed(scripts[0]) in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_nothing_is_loaded_from_elsewhere(charts: dict[str, Chart]) -> None:
    html = page_of(*charts.values()).html()
    html = re.sub(r'<script type="module">.*?</script>', "", html, flags=re.DOTALL)
    assert not re.search(r'(src|href)="(?!#|data:text/csv)', html)
    assert "url(" not in html
    assert "@import" not in html


def test_vega_is_there_once_and_only_for_charts(charts: dict[str, Chart]) -> None:
    assert len(page_of(*charts.values()).html()) < 1_300_000
    assert "<script" not in page_of(listing()).html()
    assert "script-src" not in policy_of(page_of(listing()).html())


def test_text_is_text() -> None:
    blocks = (Prose((EVIL,)), Points((EVIL,)), Commands((EVIL,)), Facts((Fact(EVIL, EVIL, EVIL),)), listing())
    html = page_of(*blocks, title=EVIL, lead=EVIL, kind=EVIL, made=EVIL).html()
    assert "<script" not in html
    assert "<!--" not in html
    assert "<code>x</code>" in html


def test_data_cannot_end_the_script_they_stand_in(charts: dict[str, Chart]) -> None:
    html = page_of(charts["scatter"]).html()
    inside = re.search(r'id="scatter-data">(.*?)</script>', html, re.DOTALL)
    assert inside
    assert inside[1].endswith("}")
    assert inside[1].count("\\u003c/script>") == 30


def test_figures_and_tables_are_numbered_each_for_itself(charts: dict[str, Chart]) -> None:
    html = page_of(charts["curve"], listing(), charts["dots"], listing("other")).html()
    assert re.findall(r'eyebrow">(Figure \d|Table \d)', html) == ["Figure 1", "Table 1", "Figure 2", "Table 2"]


def test_the_csv_has_the_data_in_full(charts: dict[str, Chart]) -> None:
    html = page_of(charts["curve"], listing()).html()
    links = dict(re.findall(r'download="([^"]+)" href="data:text/csv;charset=utf-8,([^"]*)"', html))
    rows = list(csv.DictReader(io.StringIO(unquote(links["curve.csv"]), newline="")))
    assert [float(row["error"]) for row in rows] == [1 / m for m in range(1, 9)]
    costs = list(csv.DictReader(io.StringIO(unquote(links["costs.csv"]), newline="")))
    assert costs[1] == {"what": EVIL, "cost": "9.0"}


def test_long_data_are_shown_in_part_and_given_whole() -> None:
    chart = Chart("long", "Long", "c", {"mark": "point"}, {"x": list(range(1000))})
    html = page_of(chart).html().partition('<script type="module">')[0]
    assert html.count("<tr><td") == 60
    assert "The first 60 of 1,000 rows" in html


def test_where_numbers_come_from_is_said(charts: dict[str, Chart]) -> None:
    html = page_of(charts["curve"]).html()
    assert "<code>sfumato plan --pilot p.parquet</code>" in html
    assert "Of <code>p.parquet</code> alone." in html


def test_names_on_a_page_are_distinct(charts: dict[str, Chart]) -> None:
    with pytest.raises(BadSetting, match="figure or table 'curve'"):
        page_of(charts["curve"], charts["curve"])
    with pytest.raises(BadSetting, match="section 'one'"):
        Page("T", "L", (Section("One", ()), Section("One!", ())))


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    page_of(listing()).write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page_of(listing()).html()
    with pytest.raises(CannotWrite):
        page_of(listing()).write(tmp_path / "nowhere" / "page.html")
