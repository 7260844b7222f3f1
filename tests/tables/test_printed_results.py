"""What `print` and notebooks show of a result is what its command prints."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.aggregation.truth_scores import truth_scores
from sfumato.cli import group
from sfumato.tables.printed_text import is_symmetric, name_width, printable

N = 60
CLASSES = ["cat", "dog", "<b>emu"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Votes of 6 people, predictions, and the true classes."""
    rng, place = np.random.default_rng(5), tmp_path_factory.mktemp("printed")
    truth = rng.integers(0, 3, N)
    shares = 0.25 + 0.25 * np.eye(3)[truth]
    chosen = np.array([rng.choice(3, 6, p=row) for row in shares])
    items, people = [f"photo-{i}" for i in range(N)], [f"person-{k}" for k in range(6)]
    votes = sf.Beliefs.from_votes(
        item=[item for item in items for _ in people], annotator=people * N,
        label=[CLASSES[k] for k in chosen.reshape(-1)], classes=CLASSES,
    )  # fmt: skip
    votes.write(place / "votes.parquet")
    sf.SoftLabels.from_numpy(items, shares, CLASSES, 0).write(place / "predicted.parquet")
    sf.SoftLabels.one_hot(items, [CLASSES[k] for k in truth], CLASSES).write(place / "truth.parquet")
    return place


def printed(folder: Path, *words: str) -> str:
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(group, words, catch_exceptions=False)
    finally:
        os.chdir(before)
    return done.output


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, object]:
    votes, predicted = sf.read(folder / "votes.parquet"), sf.SoftLabels.read(folder / "predicted.parquet")
    labels, truth = sf.aggregate(votes), sf.SoftLabels.read(folder / "truth.parquet")
    return {
        "evaluate": sf.evaluate(predicted=predicted, people=votes, metrics="brier,accuracy"),
        "compare": sf.compare({"a": predicted, "b": labels}, people=votes, metrics="brier"),
        "doubt": sf.doubt(votes),
        "mean_doubt": sf.mean_doubt(votes),
        "agreement": sf.agreement(votes, ["alpha-nominal"]),
        "camps": sf.camps(votes),
        "sets": sf.prediction_sets(predicted=predicted, people=labels),
        "plan": sf.plan(pilot=votes, budget=50),
        "truth": truth_scores({"mean": labels, "majority": sf.aggregate(votes, by="majority")}, truth),
    }


COMMANDS = {
    "evaluate": ("evaluate", "--predicted", "predicted.parquet", "--people", "votes.parquet", "--metrics",
                 "brier,accuracy", "-o", "scores.csv"),
    "doubt": ("doubt", "votes.parquet"),
    "mean_doubt": ("doubt", "votes.parquet"),
    "agreement": ("agreement", "votes.parquet", "--measure", "alpha-nominal"),
    "camps": ("agreement", "votes.parquet", "--measure", "alpha-nominal", "--camps"),
    "sets": ("evaluate", "--predicted", "predicted.parquet", "--people", "labels.parquet", "--sets", "0.9", "--metrics",
             "brier", "-o", "scores.csv"),
    "plan": ("plan", "--pilot", "votes.parquet", "--budget", "50", "-o", "plan.json"),
    "truth": ("aggregate", "votes.parquet", "--by", "mean", "--by", "majority", "--truth", "truth.parquet"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sfumato.SfumatoWarning")
def test_print_shows_the_lines_of_the_command(folder: Path, results: dict[str, object]) -> None:
    sf.aggregate(sf.read(folder / "votes.parquet")).write(folder / "labels.parquet")
    for name, command in COMMANDS.items():
        output = " ".join(printed(folder, *command).replace("95% interval", "interval").split())
        # The command prints the mean of doubt as a sentence, and the name of the model above sets.
        lines = str(results[name]).replace("95% interval", "interval").splitlines()[name in ("doubt", "sets") :]
        assert len(lines) > (name == "truth"), name
        for line in lines:
            assert " ".join(line.split()) in output, (name, line)


@pytest.mark.filterwarnings("ignore::sfumato.SfumatoWarning")
def test_notebooks_show_the_same_text_escaped(folder: Path, results: dict[str, object]) -> None:
    for name, result in results.items():
        html = result._repr_html_()  # type: ignore[attr-defined]
        assert html.startswith('<pre class="sfumato">'), name
        assert "<b>" not in html, name
        assert not str(result).startswith("<"), name
    table = sf.aggregate(sf.read(folder / "votes.parquet"))
    assert "<table>" in table._repr_html_()
    assert str(table) == repr(table)


def test_the_scores_are_in_the_text(folder: Path) -> None:
    people = sf.aggregate(sf.read(folder / "votes.parquet"))
    scores = sf.evaluate(predicted=folder / "predicted.parquet", people=people, metrics="brier")
    row = next(line for line in str(scores).splitlines() if line.startswith("brier"))
    assert row.split()[1:5] == [f"{scores.value[0]:.4f}", f"{scores.low[0]:.4f}", "to", f"{scores.high[0]:.4f}"]
    assert row.split()[-1] == str(N)


@pytest.mark.parametrize(("low", "high", "said"), [(0.4, 0.6, True), (0.4, 0.601, True), (0.4, 0.7, False)])
def test_plus_minus_is_only_for_symmetric_intervals(low: float, high: float, said: bool) -> None:
    assert is_symmetric(0.5, low, high) is said
    assert is_symmetric(0.5, np.nan, np.nan)


def test_names_of_targets_can_be_told_apart() -> None:
    assert name_width(["hard", "soft"]) == 6
    assert name_width(["a" * 40, "b" * 40]) == 19
    same = ["smoothing:share=0.1", "smoothing:share=0.2"]
    assert len({printable(name, name_width(same, limit=13)) for name in same}) == 2
    assert name_width(["hard", "majority@weighted"], limit=13) == len("majority@weighted")
