"""`sfumato plan compare` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

from sfumato import Annotations, SoftLabels
from sfumato.cli.plan import command
from sfumato.tables.errors import SfumatoError

N = 40


def answers(kind: str, payloads: list[dict], seconds: float | None) -> Annotations:
    each = len(payloads) // N
    return Annotations.from_arrow(
        pa.table(
            {
                "item": [f"i{i}" for i in range(N) for _ in range(each)],
                "annotator": [f"p{j}" for _ in range(N) for j in range(each)],
                "kind": [f"{kind}/1"] * len(payloads),
                "payload": [json.dumps(payload) for payload in payloads],
                "seconds": pa.array([seconds] * len(payloads), pa.float64()),
            }
        ),
        ["cat", "dog"],
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four answers in tokens about each of 40 items, 30 votes on each, and tables that do not fit."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=N)
    tokens = [
        {"tokens": {"cat": int(t), "dog": 10 - int(t)}, "others": False} for t in rng.binomial(10, np.repeat(p, 4))
    ]
    answers("tokens", tokens, 9.0).write(tmp_path / "tokens.parquet")
    answers("tokens", tokens, None).write(tmp_path / "untimed.parquet")
    answers("tokens", tokens, 9.0).take(np.zeros(4 * N, bool)).write(tmp_path / "empty.parquet")
    choices = [{"class": "cat" if v else "dog"} for v in rng.random(4 * N) < np.repeat(p, 4)]
    answers("choice", choices, 2.0).write(tmp_path / "choice.parquet")
    alike = [
        {"other": f"i{j}", "rating": round(6 - 6 * abs(p[i] - p[j]))} for i in range(N) for j in range(N) if i != j
    ]
    answers("similarity", alike, 4.0).write(tmp_path / "similar.parquet")
    cats = rng.binomial(30, p)
    shares = np.stack([cats, 30 - cats], axis=1) / 30
    items = [f"i{i}" for i in range(N)]
    SoftLabels.from_numpy(items, shares, ["cat", "dog"], 30).write(tmp_path / "votes.parquet")
    SoftLabels.from_numpy([f"j{i}" for i in range(N)], shares, ["cat", "dog"], 30).write(tmp_path / "others.parquet")
    SoftLabels.from_numpy(items, np.round(shares), ["cat", "dog"]).write(tmp_path / "truth.parquet")
    rows = [
        {"kind": kind, "n_answers": m, "value": 0.1 + 0.2 / m / worth + 0.001 * rng.normal()}
        for kind, worth in (("choice", 1), ("tokens", 2))
        for m in (1, 2, 4, 8)
        for _ in range(3)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "runs.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, ["compare", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 100
    return done.output


def test_without_a_pilot_nothing_was_measured() -> None:
    shown = run("-o", "compared.csv")
    assert "nothing was measured" in shown
    assert "1,000 items of 10 classes" in shown
    assert "at equal budget: choice" in shown
    assert "other goals" in shown
    assert "calibration   at equal items" in shown
    assert "not known from answers alone" in " ".join(shown.split())
    frame = pl.read_csv("compared.csv")
    assert frame.height == 20
    assert frame["measured"].sum() == 0
    assert {"kind", "goal", "seconds", "money", "votes", "votes_low", "votes_high", "rank_items", "rank_budget"} <= set(
        frame.columns
    )


def test_a_pilot_with_votes() -> None:
    shown = run("--pilot", "tokens.parquet", "--votes", "votes.parquet", "--kinds", "choice,tokens", "-o", "c.parquet")
    assert "pilot: tokens: 160 answers about 40 items" in shown
    assert "votes: 1,200 about 40 items" in shown
    assert "1 tokens answer is worth" in shown
    assert "hard votes (95% CI" in shown
    assert "40 items of 2 classes" in shown
    frame = pl.read_parquet("c.parquet")
    tokens = frame.filter((pl.col("kind") == "tokens") & (pl.col("goal") == "distribution"))
    assert tokens["measured"][0] == 1
    assert np.isclose(tokens["seconds"][0], 9 * 1.29)
    # Ten tokens drawn from the crowd are ten votes.
    assert tokens["votes"][0] > 3
    assert 0 < tokens["flip_rate"][0] < 0.5


def test_pilots_of_two_kinds_similarities_and_a_truth() -> None:
    shown = run(
        "--pilot", "tokens.parquet", "--pilot", "choice.parquet", "--similarities", "similar.parquet",
        "--truth", "truth.parquet", "--goal", "geometry",
    )  # fmt: skip
    assert "by rank correlation with similarity judgments" in " ".join(shown.split())
    assert "goal: geometry" in shown
    assert "pilot: choice: 160 answers about 40 items" in shown


def test_runs_say_what_labels_are_worth_to_a_model() -> None:
    shown = run("--runs", "runs.csv", "--goal", "calibration", "--kinds", "choice,tokens")
    assert "1 tokens answer is worth 2." in shown
    assert "measured in runs" in shown


def test_prices_times_and_budgets_are_those_given() -> None:
    shown = run(
        "--seconds", "choice=10,top_two=20", "--wage", 36, "--fee", 0, "--overhead", 1, "--budget", 200,
        "--items", 500, "--classes", 3, "--kinds", "choice,top_two", "--utility", "logit", "--beta", 0.1,
    )  # fmt: skip
    assert "with 200.00 USD" in shown
    assert "500 items of 3 classes" in shown
    choice = next(line for line in shown.splitlines() if line.startswith("choice"))
    assert choice.split()[:5] == ["choice", "10.0", "0.1000", "1.00", "4.00"]


def test_the_map() -> None:
    shown = run("--map", "map.csv", "--items", 30, "--classes", 4, "--kinds", "choice,sliders")
    assert "simulated geometry: best kind at equal budget" in shown
    assert ">" in shown
    frame = pl.read_csv("map.csv")
    assert frame.filter(pl.col("yours") == 1)["n"].to_list() == [30, 30]


def test_kinds_that_name_no_class_do_not_win() -> None:
    shown = run("--kinds", "similarity,triplet")
    assert "none of these kinds serves the goal distribution" in shown
    assert "geometry      none of these kinds serves it" in shown
    assert "-*" not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--items", 5, "--classes", 10), "bad-setting", "10 classes for 5 items.*plan for more items"),
        (("--classes", 1), "bad-setting", "1 class;.*two classes or more"),
        (("--items", 0), "bad-setting", "items = 0"),
        (("--pilot", "empty.parquet"), "no-rows", "no rows"),
        (("--pilot", "untimed.parquet"), "no-times", "usual: --seconds tokens=.*"),
        (("--wage", -1), "bad-setting", "wage = -1"),
        (("--fee", -1), "bad-setting", "fee = -1"),
        (("--overhead", 0.5), "bad-setting", "overhead = 0.5.*1 or more"),
        (("--seconds", "choice=-2"), "bad-setting", "seconds of choice = -2"),
        (("--seconds", "choice"), "bad-setting", "KIND=NUMBER"),
        (("--seconds", "votes=3"), "unknown-kind", "choice, top_two"),
        (("--budget", 0.001), "budget-too-small", "per answer of kind choice.*plan for 0.01892 USD"),
        (("--budget", -5), "bad-setting", "budget = -5"),
        (("--kinds", "choice,toptwo"), "unknown-kind", "did you mean 'top_two'"),
        (("--goal", "accuracy"), "unknown-goal", "distribution, class, geometry, calibration"),
        (("--utility", "log"), "unknown-utility", "linear, sigmoid, logit"),
        (("--noise", -1), "bad-setting", "noise = -1"),
        (("--votes", "votes.parquet"), "bad-setting", "add --pilot"),
        (("--pilot", "tokens.parquet", "--votes", "others.parquet"), "no-shared-items", "none in both.*i0 and j0"),
        (("--pilot", "tokens.parquet", "-o", "tokens.parquet"), "bad-setting", "the same file"),
        (("--runs", "votes.parquet"), "missing-column", "kind"),
    ],
)
def test_what_cannot_be_done_says_what_can(arguments: tuple, code: str, says: str) -> None:
    with pytest.raises(SfumatoError, match=says) as caught:
        run(*arguments)
    assert caught.value.code == code


def test_a_pilot_without_times_may_be_given_one() -> None:
    shown = run(
        "--pilot", "untimed.parquet", "--votes", "votes.parquet", "--seconds", "tokens=9", "--kinds", "choice,tokens"
    )
    assert "time: given" in shown
