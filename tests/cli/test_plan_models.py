"""`sfumato plan models` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from sfumato import SoftLabels
from sfumato.cli.plan import command
from sfumato.tables.errors import SfumatoError

PAIR = ("--predicted", "good=good.csv", "--predicted", "bad=bad.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The votes of five people about 200 items, and the predictions of two models."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([3, 1, 0.5], 200)
    items = [f"i{i}" for i in range(200)]
    counts = np.array([rng.multinomial(5, p) for p in truth])
    SoftLabels.from_numpy(items, counts / 5, ["cat", "dog", "emu"], 5).write(tmp_path / "votes.csv")
    SoftLabels.from_numpy(items, np.eye(3)[counts.argmax(axis=1)], ["cat", "dog", "emu"], 1).write(tmp_path / "one.csv")
    for name, noise in (("good", 0.1), ("bad", 0.4)):
        mixed = (1 - noise) * truth + noise * rng.dirichlet([1, 1, 1], 200)
        SoftLabels.from_numpy(items, mixed, ["cat", "dog", "emu"], 0).write(tmp_path / f"{name}.csv")
        SoftLabels.from_numpy(items[:90], mixed[:90], ["cat", "dog", "emu"], 0).write(tmp_path / f"few-{name}.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, ["models", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 100
    return done.output


def test_the_whole_answer() -> None:
    shown = run("--pilot", "votes.csv", *PAIR, "--budget", "1,000 answers", "--items", 900, "-o", "power.csv")
    assert "from a pilot of 200 items with 5 answers each" in shown
    assert "cross_entropy of good minus bad: -0." in shown
    assert "To find a difference of 0." in shown
    assert "in cross_entropy with probability 0.8: " in shown
    assert "at equal budget, about 1,000 answers:" in shown
    assert "<- best" in shown
    curve = pl.read_csv("power.csv")
    assert curve.columns == ["n_items", "n_answers", "answers", "difference", "item_sd", "power", "low", "high"]
    assert ((curve["low"] <= curve["power"]) & (curve["power"] <= curve["high"])).all()
    n_items = int(shown.split("with probability 0.8: ")[1].split(" items")[0].replace(",", ""))
    reached = curve.filter((pl.col("n_answers") == 1) & (pl.col("n_items") >= n_items))
    assert reached["power"].min() >= 0.8


def test_a_stated_difference_and_money() -> None:
    shown = run("--difference", 0.02, "--item-sd", 0.3, "--answer-sd", 0.4, "--budget", 50, "--answers", "1,5")
    assert "from a stated difference: nothing here was measured" in shown
    assert "To find such a difference of 0.02" in shown
    more = run("--difference", 0.02, "--item-sd", 0.3, "--budget", 50, "--answers", "1", "--seconds", 1, "--wage", 6)

    def bought(text: str) -> int:
        return int(text.split("about ")[1].split(" answers")[0].replace(",", ""))

    assert bought(more) > bought(shown)


def test_a_difference_out_of_reach() -> None:
    assert "Not even 50 items find" in run("--difference", 0.001, "--item-sd", 0.3, "--items", 50)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), "bad-setting", "neither a pilot nor a difference"),
        (("--pilot", "votes.csv"), "bad-setting", "predictions of no models"),
        (("--pilot", "votes.csv", "--predicted", "good.csv"), "bad-setting", "predictions of one model"),
        (("--pilot", "votes.csv", *PAIR, "--difference", 1), "bad-setting", "both --pilot and --difference"),
        (("--pilot", "votes.csv", *PAIR, "--metric", "acuracy"), "unknown-metric", "acuracy"),
        (("--pilot", "votes.csv", *PAIR, "--metric", "ece"), "bad-setting", "no mean over all items"),
        (("--pilot", "votes.csv", *PAIR, "--answers", "x"), "bad-setting", "whole numbers"),
        (("--pilot", "votes.csv", *PAIR, "--power", 1.5), "bad-setting", "power"),
        (("--pilot", "one.csv", *PAIR), "one-answer", "one answer per item"),
        (
            ("--pilot", "votes.csv", "--predicted", "a=good.csv", "--predicted", "b=good.csv"),
            "same-models",
            "identical",
        ),
        (
            ("--pilot", "votes.csv", "--predicted", "few-good.csv", "--predicted", "few-bad.csv"),
            "missing-items",
            "110 of 200 items",
        ),
        (("--difference", 0.02), "bad-setting", "without --item-sd"),
    ],
)
def test_bad_input_gets_one_message(arguments: tuple, code: str, said: str) -> None:
    with pytest.raises(SfumatoError, match=said) as caught:
        run(*arguments)
    assert caught.value.code == code
