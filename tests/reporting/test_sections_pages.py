"""Sections as pages: whatever names items and classes have, in a real Chromium, and of many items."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from accessibility_checks import RULES, SIZES, WIDTH_BEYOND, look_closely, views
from axe_playwright_python.sync_playwright import Axe
from people_evidence import evidence_of
from playwright.sync_api import Page as Tab

from sfumato import Annotations, Beliefs, SoftLabels
from sfumato.aggregation import Mean
from sfumato.labeling import TopTwoClamp
from sfumato.labeling.top_two_labelers import has_bad_percents
from sfumato.reporting import Page
from sfumato.reporting.charts.point_map import sides_of
from sfumato.reporting.gallery import Gallery
from sfumato.reporting.notebook_plots import plot
from sfumato.reporting.report import PEOPLE_SECTIONS
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.errors import BadSetting
from sfumato.tables.model_inputs import Inputs

EVIL = "</script><script>alert(1)</script>"
NAMES = (EVIL, 'say "cat" & `dog`', "a.b[0]\\'", "x" * 300, "<img src=x onerror=alert(1)>", "\u202eright to left", "猫")


def page_of(evidence: ReportInputs) -> Page:
    made = [section(evidence) for section in PEOPLE_SECTIONS]
    sections = tuple(each for each in made if each is not None)
    return Page("A study", "What was said.", sections, kind="sfumato · report")


def nasty(n_classes: int = 40, n_items: int = 60, **settings: object) -> ReportInputs:
    classes = (*NAMES, *(f"{'x' * 60} {i}" for i in range(n_classes - len(NAMES))))
    items = [*NAMES, *(f"{EVIL} {i}" for i in range(n_items - len(NAMES)))]
    return evidence_of(classes=classes, items=items, sure=0.2, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", [False, True])
def test_names_cannot_break_the_page(texts: bool) -> None:
    evidence = nasty(texts=texts)
    page = page_of(evidence)
    assert len(page.sections) == len(PEOPLE_SECTIONS)
    html = page.html()
    assert len(html) < 3_000_000
    seen = re.sub(r'<script type="(application/json|module)".*?</script>', "", html, flags=re.DOTALL)
    assert "<script" not in seen
    assert "<img src=x" not in seen


def test_all_sections_in_a_browser(visitor: Callable[..., Tab], tmp_path: Path) -> None:
    page = page_of(nasty(n_classes=9, n_items=14))
    assert len(page.sections) == len(PEOPLE_SECTIONS)
    tab = opened(visitor(bypass_csp=True), page, tmp_path)
    shown = next(block for block in page.blocks if isinstance(block, Gallery))
    assert tab.locator("#disputed li").count() == len(shown.cards)
    assert tab.locator("#disputed img").first.evaluate("(img) => img.complete && img.naturalWidth") == 8
    look_closely(tab, "report-people", (("phone", "light"),))
    # The parts that other pages have are looked at in the dark with those.
    for _ in views(tab, "report-people", (("desk", "dark"),)):
        found = Axe().run(tab, context=".gallery", options=RULES)
        assert found.violations_count == 0, found.generate_report()


def test_forty_classes_have_room_on_a_telephone(visitor: Callable[..., Tab], tmp_path: Path) -> None:
    tab = opened(visitor(viewport=SIZES["phone"]), page_of(nasty()), tmp_path)
    assert tab.evaluate(WIDTH_BEYOND) <= 0
    assert (
        tab.locator("[data-chart]:not([data-chart=confusion]) svg text").evaluate_all(
            "(all) => all.filter((text) => text.getBoundingClientRect().right > 361).map((text) => text.textContent)"
        )
        == []
    )


def opened(tab: Tab, page: Page, folder: Path) -> Tab:
    """The page once all its charts are drawn."""
    page.write(folder / "page.html")
    tab.goto((folder / "page.html").as_uri())
    tab.locator("[data-chart][data-drawn]").nth(len(page.charts) - 1).wait_for(state="attached")
    return tab


def test_bars_are_as_long_as_shares_under_the_pages_policy(visitor: Callable[..., Tab], tmp_path: Path) -> None:
    page = page_of(evidence_of())
    page.write(tmp_path / "page.html")
    tab = visitor()
    tab.goto((tmp_path / "page.html").as_uri())
    ratio = "(svg) => svg.querySelector('.part').getBoundingClientRect().width / svg.getBoundingClientRect().width"
    shown = next(block for block in page.blocks if isinstance(block, Gallery))
    drawn = tab.locator("#disputed li").first.locator("svg").evaluate_all(f"(all) => all.map({ratio})")
    assert drawn == pytest.approx([bar.share for bar in shown.cards[0].bars], abs=0.002)


def test_distances_on_the_map_are_true_on_a_telephone(visitor: Callable[..., Tab], tmp_path: Path) -> None:
    page = page_of(evidence_of())
    page.write(tmp_path / "page.html")
    chart = next(each for each in page.charts if each.name == "class-map")
    at = np.array([chart.columns["x"], chart.columns["y"]], float).T
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)[np.triu_indices(4, 1)]
    for width in (1200, 360):
        tab = visitor(viewport={"width": width, "height": 800})
        tab.goto((tmp_path / "page.html").as_uri())
        tab.locator("#class-map [data-drawn]").wait_for(state="attached")
        boxes = tab.locator("#class-map .mark-symbol path").evaluate_all(
            "(all) => all.map((point) => point.getBoundingClientRect())"
            ".map((box) => [box.x + box.width / 2, box.y + box.height / 2])"
        )
        seen = np.linalg.norm(np.array(boxes)[:, None] - np.array(boxes)[None], axis=2)[np.triu_indices(4, 1)]
        assert seen / seen.max() == pytest.approx(apart / apart.max(), abs=0.02)


def test_names_on_a_map_keep_out_of_each_others_way() -> None:
    assert sides_of(np.array([[50.0, 50.0], [60.0, 50.0]]), ["one", "two"], 300, 100) == ["left", "right"]
    assert sides_of(np.array([[290.0, 50.0]]), ["a long name"], 300, 100) == ["left"]


def test_ten_thousand_items_are_no_burden() -> None:
    rng = np.random.default_rng(0)
    n, m = 10_000, 8
    names, classes = [str(i) for i in range(n)], [f"class {k}" for k in range(10)]
    soft = rng.dirichlet(np.full(10, 0.2), n * m)
    beliefs = Beliefs.from_numpy(np.repeat(names, m), [f"p{j}" for j in rng.integers(0, 500, n * m)], soft, classes)
    labels = SoftLabels.from_numpy(names, soft.reshape(n, m, 10).mean(axis=1), classes, m)
    pictures = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    original = SoftLabels.one_hot(names, [classes[k] for k in rng.integers(0, 10, n)], classes)
    started = time.monotonic()
    evidence = ReportInputs(
        beliefs=beliefs, labels={"labels": labels}, original=original, inputs=Inputs(tuple(names), pictures)
    )
    html = page_of(evidence).html()
    assert time.monotonic() - started < 20
    assert len(html.encode()) < 6_000_000


def test_the_report_of_cifar_10s(first_pass: Annotations, cifar_10h: SoftLabels, published: Path) -> None:
    answers = first_pass.take(~has_bad_percents(first_pass))
    beliefs = TopTwoClamp().label(answers, cifar_10h.classes)
    table = np.full((len(beliefs.annotator.names), len(beliefs.item.names)), np.nan)
    table[beliefs.annotator.codes, beliefs.item.codes] = beliefs.probs.argmax(axis=1)
    alpha = krippendorff.alpha(table, level_of_measurement="nominal")
    inputs = Inputs.read(published / "cifar10-test" / "images.npz")
    labels = {"mean": Mean().aggregate(beliefs).labels}
    html = page_of(ReportInputs(annotations=answers, beliefs=beliefs, labels=labels, inputs=inputs)).html()
    said = html.partition('<script type="module">')[0]
    assert f"alpha is {alpha:.3f} (" in said
    assert f"{np.median(answers.seconds[np.isfinite(answers.seconds)]):.1f} s" in said
    assert said.count("data:image/png") >= 12


def test_plots_are_the_charts_of_the_report() -> None:
    evidence = evidence_of()
    labels, beliefs = evidence.labels["mean"], evidence.beliefs
    assert beliefs is not None
    assert evidence.annotations is not None
    charts = {chart.name: chart for chart in page_of(replace(evidence, screening=None)).charts}
    # Labels alone say nothing about votes, which the confusions of a report are counted from.
    alone = page_of(ReportInputs(labels={"mean": labels}, original=evidence.original))
    charts |= {chart.name: chart for chart in alone.charts if chart.name in ("confusion", "class-map")}
    drawn = plot(labels, inputs=evidence.inputs, original=evidence.original)
    found = [drawn.entropy(), drawn.confusion(), drawn.class_map(), beliefs.plot.doubt(), plot(beliefs).agreement()]
    found += [
        plot(evidence.annotations).seconds(),
        plot(evidence.annotations).session(),
        plot(beliefs).doubt_by_class(),
    ]
    for chart in found:
        assert chart.columns == charts[chart.name].columns
        assert chart.spec == charts[chart.name].spec
    assert drawn.entropy()._repr_svg_().startswith("<svg")
    assert len(drawn.disputed(3).cards) == 3
    assert drawn.changed_majority(2).cards[0].thumbnail.picture
    assert "data:image/png" in plot(labels).disputed(2, inputs=evidence.inputs)._repr_html_()
    assert EVIL not in plot(nasty().labels["mean"]).disputed(5)._repr_html_()


def test_what_cannot_be_plotted_says_why() -> None:
    evidence = evidence_of()
    with pytest.raises(BadSetting, match="expected SoftLabels, Beliefs or Annotations"):
        plot(evidence)  # type: ignore[call-overload]
    with pytest.raises(BadSetting, match="found no original labels"):
        plot(evidence.labels["mean"]).changed_majority()
    with pytest.raises(BadSetting, match="found n = 0"):
        plot(evidence.labels["mean"]).disputed(0)
    alone = Beliefs.from_votes(item=["a"], annotator=["x"], label=["cat"], classes=["cat", "dog"])
    with pytest.raises(BadSetting, match="found nothing to draw"):
        plot(alone).agreement()
