"""`sfumato plan annotators` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from sfumato import SoftLabels
from sfumato.cli.plan import command
from sfumato.tables.errors import SfumatoError

SMALL = ("--resamples", "20", "--most", "20")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Labels of 600 items by eight people each, and tables that are no pilot."""
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(8, p) for p in rng.dirichlet([3, 0.5, 0.2], 600)])
    items = [f"i{i}" for i in range(600)]
    SoftLabels.from_numpy(items, counts / 8, ["cat", "dog", "emu"], 8).write(tmp_path / "labels.parquet")
    SoftLabels.from_numpy(items, counts / 8, ["cat", "dog", "emu"]).write(tmp_path / "uncounted.parquet")
    SoftLabels.from_numpy([], np.empty((0, 2)), ["cat", "dog"], 0).write(tmp_path / "empty.parquet")
    (tmp_path / "one.csv").write_text("item,annotator,p:cat\na,x,1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, ["annotators", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 100
    return done.output


def test_the_whole_answer() -> None:
    shown = run("--pilot", "labels.parquet", *SMALL, "--target", 0.1, "--budget", 5000, "-o", "curve.csv")
    assert "from a pilot of 600 items with 8 answers each" in shown
    assert "<- enough" in shown
    assert "answers per item: a mean total variation of at most 0.1 with probability 0.95." in shown
    assert "other items in the pilot: " in shown
    assert "errors with a budget of 5,000 answers" in shown
    curve = pl.read_csv("curve.csv")
    assert curve.columns == ["n_answers", "value", "low", "high", "chance"]
    assert curve["n_answers"].to_list() == list(range(1, 21))
    enough = int(shown.split(" answers per item: a mean")[0].splitlines()[-1])
    assert curve["chance"][enough - 1] >= 0.95 > curve["chance"][enough - 2]


def test_a_share_by_kl_with_a_price() -> None:
    options = ("--measure", "kl", "--target", 0.2, "--share", 0.8, "--seconds-per-answer", 3, "--wage", 12)
    shown = run("--pilot", "labels.parquet", *SMALL, *options, "--budget", 20)
    assert "items within 0.2" in shown
    assert "80% of items within a KL divergence of 0.2" in shown
    assert "errors with a budget of 20 at 0.01 per answer" in shown


def test_without_a_goal_or_a_pilot() -> None:
    shown = run("--prior", "uniform", "--classes", 2, "--most", 10)
    assert "nothing here was measured" in shown
    assert "0.3333" in shown  # one answer: 2 E p (1 - p) under a uniform p
    assert "give --threshold to see" in shown
    assert "0.3333" in run("--prior", "dirichlet:1,1", "--most", 2, "--measure", "l2")


def test_out_of_reach_still_shows_the_curve() -> None:
    done = CliRunner().invoke(command, ["annotators", "--pilot", "labels.parquet", *SMALL, "--target", "0.001"])
    assert isinstance(done.exception, SfumatoError)
    assert done.exception.code == "out-of-reach"
    assert "mean total variation" in done.output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("", "bad-setting"),
        ("--pilot labels.parquet --prior uniform", "bad-setting"),
        ("--pilot empty.parquet", "no-rows"),
        ("--pilot uncounted.parquet", "no-counts"),
        ("--pilot one.csv", "bad-classes"),
        ("--pilot absent.parquet", "no-such-file"),
        ("--pilot labels.parquet --share 0.9", "bad-setting"),
        ("--pilot labels.parquet --target -1", "bad-setting"),
        ("--pilot labels.parquet --measure l1", "unknown-measure"),
        ("--pilot labels.parquet --most 0", "bad-setting"),
        ("--pilot labels.parquet --wage 10", "bad-setting"),
        ("--pilot labels.parquet --wage -10 --seconds-per-answer 1", "bad-setting"),
        ("--pilot labels.parquet --budget 0.5", "budget-too-small"),
        ("--pilot labels.parquet --seed -1", "bad-setting"),
        ("--pilot labels.parquet -o curve.txt", "file-kind"),
        ("--prior uniform", "bad-setting"),
        ("--prior beta:1,1", "bad-setting"),
        ("--prior dirichlet:1,x", "bad-setting"),
        ("--prior dirichlet:1,-1", "bad-prior"),
        ("--prior uniform --classes 1", "bad-setting"),
    ],
)
def test_what_is_refused(arguments: str, code: str) -> None:
    done = CliRunner().invoke(command, ["annotators", *arguments.split()])
    assert isinstance(done.exception, SfumatoError), done.output
    assert done.exception.code == code
