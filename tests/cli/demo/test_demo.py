"""The demo as a user runs it, from images to a report, and what its findings say against the files by hand."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from accessibility_checks import RULES
from axe_playwright_python.sync_playwright import Axe
from chromium import launched

from sfumato import Beliefs, SoftLabels
from sfumato.cli.demo.demo_steps import QUICK, chapters

# The program's own hash is fixed: somebody may save a file while this runs.
RUN = """
import sys
from sfumato.cli.demo import step_journal
step_journal.program_hash = lambda: "this program"
from sfumato.cli import main
main(sys.argv[1:])
"""
STEPS = [step for chapter in chapters(QUICK) for step in chapter.steps]


@dataclass(frozen=True)
class Ran:
    folder: Path
    shown: str
    cpu_seconds: float

    @property
    def findings(self) -> str:
        return re.sub(r"\s+", " ", self.shown.partition("\nFindings (")[2])

    @property
    def remade(self) -> list[str]:
        """The steps that were not reused."""
        took = [line.split()[0] for line in self.shown.splitlines() if re.match(r" +(reused|[\d.]+ s)  ", line)]
        assert len(took) == len(STEPS)
        return [step.name for step, word in zip(STEPS, took, strict=True) if word != "reused"]


def run(folder: Path) -> Ran:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Everything is written down, so that nothing is a terminal.
    done = subprocess.run(
        [sys.executable, "-c", RUN, "demo", "-o", "out", "--quick"], cwd=folder, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return Ran(folder / "out", done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(tmp_path_factory.mktemp("demo"))


def test_every_step_is_shown_as_one_types_it(first: Ran) -> None:
    typed = [line.removeprefix("   $ ") for line in first.shown.splitlines() if line.startswith("   $ ")]
    assert typed[: len(STEPS)] == [step.line("out") for step in STEPS]
    assert typed[-1].startswith("sfumato serve out --store out/yours.sqlite")
    assert "http://127.0.0.1:8000" in first.shown
    assert f"Report: {first.folder / 'report.html'}" in first.shown
    assert first.remade == [step.name for step in STEPS]


def test_every_step_leaves_what_it_says(first: Ran) -> None:
    for step in STEPS:
        assert all((first.folder / name).exists() for name in (*step.makes, step.log)), step.name
    assert "<html" in (first.folder / "report.html").read_text()[:500].lower()
    left = [path for path in first.folder.rglob("*") if path.name.endswith(".part")]
    assert left == []


def test_the_report_in_a_browser(first: Ran) -> None:
    faults: list[str] = []
    with launched() as browser:
        # The page's own policy lets no script in but its own; axe is one. Elsewhere the policy is kept, and tried.
        page = browser.new_context(viewport={"width": 1200, "height": 800}, bypass_csp=True).new_page()
        page.on("pageerror", lambda error: faults.append(f"thrown: {error}"))
        page.on("console", lambda said: faults.append(f"console: {said.text}"))
        page.on("request", lambda sent: sent.url.startswith(("file:", "data:")) or faults.append(sent.url))
        page.goto((first.folder / "report.html").as_uri())
        n_charts = page.locator("[data-chart]").count()
        assert n_charts > 15
        page.locator("[data-chart][data-drawn]").nth(n_charts - 1).wait_for(state="attached", timeout=60_000)
        marks = page.locator("[data-chart]").evaluate_all(
            "(all) => all.map((place) => [place.dataset.chart, place.querySelectorAll('svg .mark-group path').length])"
        )
        found = Axe().run(page, options=RULES)
    assert faults == []
    assert all(n > 5 for _, n in marks), marks
    assert found.violations_count == 0, found.generate_report()


def test_careless_annotators_are_excluded_in_every_form(first: Ran) -> None:
    for form in ("", "choice", "top_two"):
        screening = pl.read_csv(first.folder / form / "screening.csv")
        (careless,) = screening.filter("set_aside")["annotator"].to_list()
        kept = Beliefs.read(first.folder / form / "beliefs.parquet").annotator.names.to_pylist()
        assert sorted([*kept, careless]) == sorted(screening["annotator"].to_list())
    assert f"1 of {QUICK.people} annotators were excluded" in first.findings


def test_the_doubt_it_speaks_of_is_that_of_the_beliefs(first: Ran) -> None:
    beliefs = Beliefs.read(first.folder / "beliefs.parquet")
    total = within = 0.0
    n_items = len(beliefs.item.names)
    for item in range(n_items):
        probs = beliefs.probs[beliefs.item.codes == item]
        total += 100 * np.mean([1 - p @ q for p, q in combinations(probs, 2)]) / n_items
        within += 100 * np.mean([1 - p @ p for p in probs]) / n_items
    said = re.search(
        r"differ in (\d+)% .*? of cases: (\d+)% .*?within annotators .*? and (\d+)% .*?between", first.findings
    )
    assert said is not None
    assert [float(each) for each in said.groups()] == pytest.approx([total, within, total - within], abs=0.51)


def test_soft_against_hard_is_as_the_predictions_have_it(first: Ran) -> None:
    people = SoftLabels.read(first.folder / "labels.parquet")
    mean = {}
    for target in ("soft", "hard"):
        scores = []
        for path in sorted((first.folder / "runs").glob(f"{target}.*/predictions.parquet")):
            predicted = SoftLabels.read(path)
            q = people.probs[people.rows_of(predicted.items.to_pylist())]
            scores.append(-(q * np.log(predicted.probs)).sum(axis=1).mean())
        assert len(scores) == QUICK.seeds
        mean[target] = np.mean(scores)
    gained = mean["hard"] - mean["soft"]
    pattern = (
        r"test images: (soft is better|soft is worse|no evidence of a difference).*? in cross-entropy by ([\d.]+)?"
    )
    said = re.search(pattern.replace(" by ", "(?: by )?"), first.findings)
    assert said is not None
    table = pl.read_csv(first.folder / "differences.csv", infer_schema_length=None).filter(
        (pl.col("target") == "soft") & (pl.col("metric") == "cross_entropy") & (pl.col("condition") == "all")
    )
    low, high = -table["high"][0], -table["low"][0]
    assert table["difference"][0] == pytest.approx(-gained, abs=1e-6)
    no_difference = "no evidence of a difference"
    assert said[1] == ("soft is better" if low > 0 else "soft is worse" if high < 0 else no_difference)
    if said[1] != no_difference:
        assert float(said[2]) == pytest.approx(abs(gained), abs=0.0051)


def test_the_plan_keeps_to_the_budget(first: Ran) -> None:
    plan = json.loads((first.folder / "plan.json").read_text())
    assert 0 < plan["cost"]["money"] <= 200
    assert f"{plan['cost']['money']:,.2f} USD" in first.findings


def test_a_second_run_reuses_all_of_it_and_says_the_same(first: Ran) -> None:
    again = run(first.folder.parent)
    assert again.remade == []
    assert f"{len(STEPS)} of {len(STEPS)} steps reused" in again.shown
    assert again.findings == first.findings
    assert again.cpu_seconds < 10


def test_only_a_damaged_file_is_made_again(first: Ran) -> None:
    beliefs = first.folder / "beliefs.parquet"
    whole = beliefs.read_bytes()
    beliefs.write_bytes(whole[:-20])
    assert run(first.folder.parent).remade == ["label-tokens"]
    assert beliefs.read_bytes() == whole
