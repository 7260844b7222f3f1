"""Sections as pages: whatever names items and classes have, in a real Chromium, and of many items."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from looking import look_closely
from people_evidence import evidence_of
from playwright.sync_api import Page as Tab

from sfumato import Annotations, Beliefs, SoftLabels
from sfumato.errors import BadSetting
from sfumato.inputs import Inputs
from sfumato.label import TopTwoClamp
from sfumato.report import Page
from sfumato.report.charts.places import sides_of
from sfumato.report.evidence import Evidence
from sfumato.report.gallery import Gallery
from sfumato.report.plotting import plot
from sfumato.report.sections import PEOPLE_SECTIONS, people_sections

EVIL = "</script><script>alert(1)</script>"
NAMES = (EVIL, 'say "cat" & `dog`', "a.b[0]\\'", "x" * 300, "<img src=x onerror=alert(1)>", "\u202eright to left", "猫")


def page_of(evidence: Evidence) -> Page:
    return Page("A study", "What was said.", people_sections(evidence), kind="sfumato · report")


def nasty(**settings: object) -> Evidence:
    classes = (*NAMES, *(f"{'x' * 60} {i}" for i in range(40 - len(NAMES))))
    items = [*NAMES, *(f"{EVIL} {i}" for i in range(60))]
    return evidence_of(classes=classes, items=items, sure=0.2, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", [False, True])
def test_names_cannot_break_the_page(texts: bool) -> None:
    evidence = nasty(texts=texts)
    page = page_of(evidence)
    assert len(page.sections) == len(PEOPLE_SECTIONS)
    html = page.html()
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert html.count("<script") == len(page.charts) + 1
    assert len(html) < 3_000_000


def test_all_sections_in_a_browser(visitor: Callable[..., Tab], tmp_path: Path) -> None:
    pairs = [evidence_of(), nasty()]
    for name, evidence in zip(("people", "nasty"), pairs, strict=True):
        page = page_of(evidence)
        page.write(tmp_path / f"{name}.html")
        tab = visitor(bypass_csp=True)
        tab.goto((tmp_path / f"{name}.html").as_uri())
        tab.locator("[data-chart][data-drawn]").nth(len(page.charts) - 1).wait_for(state="attached")
        shown = next(block for block in page.blocks if isinstance(block, Gallery))
        assert tab.locator("#disputed li").count() == len(shown.exhibits)
        assert tab.locator("#disputed img").first.evaluate("(img) => img.complete && img.naturalWidth") == 8
        tab.locator("details").evaluate_all("(all) => all.forEach((each) => (each.open = true))")
        look_closely(tab, f"report-{name}")


def test_bars_are_as_long_as_shares_under_the_pages_policy(visitor: Callable[..., Tab], tmp_path: Path) -> None:
    page = page_of(evidence_of())
    page.write(tmp_path / "page.html")
    tab = visitor()
    tab.goto((tmp_path / "page.html").as_uri())
    ratio = "(svg) => svg.querySelector('.part').getBoundingClientRect().width / svg.getBoundingClientRect().width"
    shown = next(block for block in page.blocks if isinstance(block, Gallery))
    drawn = tab.locator("#disputed li").first.locator("svg").evaluate_all(f"(all) => all.map({ratio})")
    assert drawn == pytest.approx([bar.share for bar in shown.exhibits[0].bars], abs=0.002)


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
            "(all) => all.map((each) => each.getBoundingClientRect()).map((b) => [b.x + b.width / 2, b.y + b.height / 2])"
        )
        seen = np.linalg.norm(np.array(boxes)[:, None] - np.array(boxes)[None], axis=2)[np.triu_indices(4, 1)]
        assert seen / seen.max() == pytest.approx(apart / apart.max(), abs=0.02)


def test_names_on_a_map_keep_out_of_each_others_way() -> None:
    assert sides_of(np.array([[0.0, 0.0], [0.02, 0.0]]), ["one", "two"]) == ["left", "right"]


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
    evidence = Evidence(
        beliefs=beliefs, labels={"labels": labels}, original=original, inputs=Inputs(tuple(names), pictures)
    )
    html = page_of(evidence).html()
    assert time.monotonic() - started < 20
    assert len(html.encode()) < 6_000_000


def test_cifar_10s_makes_a_whole_report(with_repeats: Annotations, cifar_10h: SoftLabels, published: Path) -> None:
    beliefs = TopTwoClamp(skip_bad_percents=True).label(with_repeats, cifar_10h.classes)
    inputs = Inputs.read(published / "cifar10-test" / "images.npz")
    items = beliefs.item.names.to_pylist()
    rows = [int(item) for item in items]
    people = replace(cifar_10h, items=beliefs.item.names, probs=cifar_10h.probs[rows], n_annotators=None)
    page = page_of(Evidence(annotations=with_repeats, beliefs=beliefs, labels={"labels": people}, inputs=inputs))
    text = re.sub(r"\s+", " ", page.html())
    assert "1,000" in text
    assert [section.title for section in page.sections][0] == "What was asked, and of whom"


def test_plots_are_the_charts_of_the_report() -> None:
    evidence = evidence_of()
    labels, beliefs = evidence.labels["mean"], evidence.beliefs
    assert beliefs is not None
    assert evidence.annotations is not None
    charts = {chart.name: chart for chart in page_of(replace(evidence, screening=None)).charts}
    drawn = plot(labels, inputs=evidence.inputs, original=evidence.original)
    found = [drawn.entropy(), drawn.confusion(), drawn.class_map(), plot(beliefs).doubt(), plot(beliefs).agreement()]
    found += [
        plot(evidence.annotations).seconds(),
        plot(evidence.annotations).session(),
        plot(beliefs).doubt_by_class(),
    ]
    for chart in found:
        assert chart.columns == charts[chart.name].columns
        assert chart.spec == charts[chart.name].spec
    assert drawn.entropy()._repr_svg_().startswith("<svg")
    assert len(drawn.disputed(3).exhibits) == 3
    assert drawn.moved(2).exhibits[0].look.picture
    assert "data:image/png" in plot(labels).disputed(2, inputs=evidence.inputs)._repr_html_()
    assert EVIL not in plot(nasty().labels["mean"]).disputed(5)._repr_html_()


def test_what_cannot_be_plotted_says_why() -> None:
    evidence = evidence_of()
    with pytest.raises(BadSetting, match="expected SoftLabels, Beliefs or Annotations"):
        plot(evidence)  # type: ignore[call-overload]
    with pytest.raises(BadSetting, match="found no original labels"):
        plot(evidence.labels["mean"]).moved()
    with pytest.raises(BadSetting, match="found n = 0"):
        plot(evidence.labels["mean"]).disputed(0)
    alone = Beliefs.from_votes(item=["a"], annotator=["x"], label=["cat"], classes=["cat", "dog"])
    with pytest.raises(BadSetting, match="found nothing to draw"):
        plot(alone).agreement()
