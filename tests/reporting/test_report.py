"""The report: findings that the data decide, sections in the order of the path, every file with its hash."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import reported
import trained
from accessibility_checks import look_closely
from playwright.sync_api import Page as Tab

import sfumato
from sfumato.planning.plan_file import Plan
from sfumato.reporting import Page, Points, ReportTable
from sfumato.reporting.findings import findings
from sfumato.reporting.missing_scores import score_models
from sfumato.reporting.report import SUMMARY, Report, digest_of
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.errors import BadFile, MissingExtra

Visitor = Callable[..., Tab]
NO_DIFFERENCE = "No evidence of a difference in cross-entropy"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reported.write_study(tmp_path_factory.mktemp("reported"))


def said(folder: Path, **changes: object) -> list[str]:
    evidence = replace(ReportInputs.read(folder), **{"shifted": None, "attacked": None, **changes})
    return [each.replace("\u00a0", " ") for each in findings(evidence, score_models(evidence, resamples=200))]


def of_cross_entropy(sentences: list[str]) -> str:
    return next(each for each in sentences if "cross-entropy" in each)


def test_findings_are_of_this_data(folder: Path) -> None:
    sentences = said(folder)
    assert 3 <= len(sentences) <= 6
    # Labels do not show who disagreed.
    most = f"{100 * trained.people().probs.max(axis=1).mean():.0f}%"
    assert sentences[0].startswith(f"The most probable class has {most}")
    assert not any("People disagree" in each for each in sentences)
    closer = "Models trained on `soft` are closer to people's labels than models trained on `hard`: cross-entropy"
    assert closer in of_cross_entropy(sentences)
    models = score_models(replace(ReportInputs.read(folder), shifted=None, attacked=None), resamples=200)
    assert models is not None
    found = models.difference("cross_entropy")
    assert found is not None
    assert f"{found.value:.3f} and {found.baseline_value:.3f}" in of_cross_entropy(sentences)
    assert f"{found.low:+.3f} to {found.high:+.3f}".replace("-", "−") in of_cross_entropy(sentences)
    assert "; 4 seeds and 40 items; for these people)" in of_cross_entropy(sentences)


@pytest.mark.parametrize(
    ("near", "expected"),
    [(0.8, "are closer to people's labels"), (0.05, "are further from people's labels"), (0.3, NO_DIFFERENCE)],
)
def test_findings_change_with_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, near: float, expected: str
) -> None:
    monkeypatch.setattr(trained, "NEARNESS", {"hard": 0.3, "majority": near})
    trained.people().write(tmp_path / "labels.parquet")
    for run in trained.grid(("hard", "majority"), range(5)):
        trained.write_run(tmp_path / "runs", run)
    sentence = of_cross_entropy(said(tmp_path))
    assert expected in sentence
    low, high = (float(each) for each in sentence.split("CI ")[1].split(";")[0].replace("−", "-").split(" to "))
    assert (low < 0 < high) == (expected == NO_DIFFERENCE)


def test_findings_without_models_are_of_people_and_the_plan(folder: Path, plan_with: Callable[..., Plan]) -> None:
    evidence = replace(ReportInputs.read(folder), runs=None, plan=plan_with())
    sentences = findings(evidence, None)
    other = trained.people().probs.argmax(axis=1) != trained.original().probs.argmax(axis=1)
    assert sentences[1].startswith(f"For {int(other.sum())} of 40 items")
    assert sentences[-1].startswith("Next: Ask `choice` questions about all 1,000 items")


def test_one_target_alone_is_compared_with_nothing(tmp_path: Path) -> None:
    reported.write_study(tmp_path, ("soft",), range(2))
    sentences = said(tmp_path)
    assert sentences[-1].startswith("Models trained on `soft` reach accuracy 1.000 and cross-entropy 0.697")
    assert not any("No significant difference" in each for each in sentences)
    evidence = replace(ReportInputs.read(tmp_path), shifted=None, attacked=None)
    titles = [section.title for section in Report(evidence, resamples=100).page().sections]
    assert "Comparison of training targets" in titles
    assert "Label sets compared" not in titles


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return Report(ReportInputs.read(folder), "Of <three> classes", resamples=200, command="sfumato report .").page()


def test_the_sections_follow_the_path(page: Page) -> None:
    titles = [section.title for section in page.sections]
    assert titles[0] == SUMMARY
    assert titles[-1] == "Sources"
    order = [
        "Comparison of training targets",
        "Calibration",
        "Model and human uncertainty",
        "Robustness",
        "Label sets compared",
    ]
    assert [title for title in titles if title in order] == order
    assert "Data maps" not in titles
    points = next(block for block in page.sections[0].blocks if isinstance(block, Points))
    assert 3 <= len(points.points) <= 6


def test_every_figure_says_where_it_comes_from(page: Page) -> None:
    for chart in page.charts:
        assert chart.source is not None, chart.name
        assert chart.source.file or chart.source.command, chart.name


def test_every_file_has_its_hash(page: Page, folder: Path) -> None:
    files = next(block for block in page.blocks if isinstance(block, ReportTable) and block.name == "files").data
    found = dict(zip(files["file"], files["SHA-256"], strict=True))
    assert found["labels.parquet"] == hashlib.sha256((folder / "labels.parquet").read_bytes()).hexdigest()
    assert found["runs/"] == digest_of(folder / "runs")
    by_shell = "find . -name predictions.parquet | sed 's,^./,,' | LC_ALL=C sort | xargs sha256sum | sha256sum"
    shell = subprocess.run(["bash", "-c", by_shell], cwd=folder / "runs", capture_output=True, text=True, check=True)
    assert shell.stdout.split()[0] == found["runs/"]


def test_a_digest_changes_with_any_prediction(folder: Path, tmp_path: Path) -> None:
    trained.write_run(tmp_path, trained.trained("soft", 0))
    before = digest_of(tmp_path)
    place = trained.write_run(tmp_path, trained.trained("soft", 1))
    assert digest_of(tmp_path) != before
    (place / "predictions.parquet").unlink()
    assert digest_of(tmp_path) == before
    assert digest_of(None) is None
    assert digest_of(folder / "missing") is None


def test_nothing_to_report_on_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="nothing to report on"):
        ReportInputs.read(tmp_path)


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []
    trained.people().write(tmp_path / "labels.parquet")
    trained.write_run(tmp_path / "runs", trained.trained("soft", 0))
    report = Report(ReportInputs.read(tmp_path), resamples=100)
    report.save(tmp_path / "r.html", on_progress=lambda share, line: told.append((share, line)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert 0.9 <= shares[-1] <= 1
    assert "<!doctype html>" in (tmp_path / "r.html").read_text(encoding="utf-8")[:20]


def test_it_is_a_public_name_that_asks_for_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sfumato.Report is Report
    monkeypatch.setattr("sfumato.reporting.chart_renderer.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="sfumato\\[report\\]"):
        Page("T", "L", ()).html()


def opened(tab: Tab, path: Path, n_charts: int) -> Tab:
    """The page once all its charts are drawn."""
    tab.goto(path.as_uri())
    assert tab.locator("[data-chart]").count() == n_charts
    tab.locator("[data-chart][data-drawn]").nth(n_charts - 1).wait_for(state="attached", timeout=60_000)
    return tab


def test_every_chart_is_drawn_on_a_telephone(visitor: Visitor, page: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    page.write(path)
    assert len(page.charts) >= 12
    tab = opened(visitor(viewport={"width": 360, "height": 740}), path, len(page.charts))
    drawn = tab.locator("[data-chart]").evaluate_all(
        "(all) => all.map((place) => [place.dataset.chart, place.querySelectorAll('svg .mark-group path').length])"
    )
    assert all(n > 5 for _, n in drawn), drawn
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_everybody_can_read_it(visitor: Visitor, page: Page, tmp_path: Path) -> None:
    # Of every kind of block one: charts of other families are looked at with their families.
    names = ("right", "scores", "reliability", "across-accuracy", "files")
    section = page.sections[2:-1]
    kept = [each for each in page.blocks if getattr(each, "name", "") in names]
    small = replace(page, sections=(page.sections[0], replace(section[0], title="Some", blocks=tuple(kept))))
    small.write(tmp_path / "small.html")
    tab = opened(visitor(bypass_csp=True), tmp_path / "small.html", 3)
    tab.locator("details").evaluate_all("(all) => all.forEach((each) => (each.open = true))")
    look_closely(tab, "whole-report")


def test_intervals_have_an_axis_each_and_shaded_points_their_steps() -> None:
    from sfumato.reporting.charts import Field, intervals, shaded_scatter

    words = {"title": "T", "caption": "C"}
    chart = intervals(
        "x", **words, of="t", value=Field("v", "v"), panel="m", low="low", high="high", zero_line=True,
        data={"t": ["a", "b"] * 2, "m": ["p", "p", "q", "q"], "v": [0.1, 0.2, 10, 20], "low": [0, 0.1, 9, None],
              "high": [0.2, 0.3, 11, None]},
    )  # fmt: skip
    assert chart.spec["resolve"] == {"scale": {"x": "independent"}}
    marks = [layer["mark"]["type"] for layer in chart.spec["spec"]["layer"]]
    assert marks == ["rule", "rule", "point", "text", "text"]
    assert "<svg" in chart.svg()
    values = np.array([0.9, 0.1, 0.5])
    dots = shaded_scatter(
        "y", **words, x=Field("x", "x"), y=Field("y", "y"), value=Field("d", "doubt"),
        data={"x": [1, 2, 3], "y": [1, 2, 3], "d": values},
    )  # fmt: skip
    assert dots.columns["d"] == (0.1, 0.5, 0.9)
    assert dots.columns["x"] == (2, 3, 1)
    scale = dots.spec["layer"][0]["encoding"]["color"]["scale"]
    assert scale["type"] == "threshold"
    assert len(scale["range"]) == len(scale["domain"]) + 1
