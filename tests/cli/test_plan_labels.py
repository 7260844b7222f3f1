"""`sfumato plan labels` as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

from sfumato import Annotations, SoftLabels
from sfumato.cli.plan import command
from sfumato.cli.study import command as study_command
from sfumato.planning.exchange_rates import ExchangeRates
from sfumato.planning.informativeness.label_types import HardLabels
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import SfumatoError

N = 40
CLASSES = ["ant", "bee", "cow", "dog"]
QUICK = ("--dimensions", "3", "--worlds", "4")


def answers(kind: str, payloads: list[dict], seconds: float) -> Annotations:
    each = len(payloads) // N
    return Annotations.from_arrow(
        pa.table({
            "item": [f"i{i}" for _ in range(each) for i in range(N)],
            "annotator": [f"{kind}{j}" for j in range(each) for _ in range(N)],
            "kind": [f"{kind}/1"] * len(payloads),
            "payload": [json.dumps(payload) for payload in payloads],
            "seconds": pa.array([seconds] * len(payloads), pa.float64()),
        }),
        CLASSES,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four people's choices and four people's sliders about each of 40 items, votes, and features."""
    rng = np.random.default_rng(0)
    world = LatentWorld.sample(N, len(CLASSES), 3, rng=rng)
    seen = [world.soft_labels(noise=0.6, rng=rng) for _ in range(20)]
    named = [[CLASSES[k] for k in each.argmax(axis=1)] for each in seen]
    choices = [{"class": name} for each in named[:4] for name in each]
    sliders = [dict(zip(CLASSES, (row / row.max()).round(3).tolist(), strict=True)) for s in seen[4:8] for row in s]
    answers("choice", choices, 3.0).write(tmp_path / "choice.parquet")
    answers("sliders", sliders, 9.0).write(tmp_path / "sliders.parquet")
    shares = np.mean([HardLabels().labels(each) for each in seen], axis=0)
    SoftLabels.from_numpy([f"i{i}" for i in range(N)], shares, CLASSES, 20).write(tmp_path / "votes.parquet")
    np.savez(tmp_path / "features.npz", features=rng.standard_normal((60, 7)))
    np.savez(tmp_path / "images.npz", images=np.zeros((20, 4, 4), np.uint8))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, ["labels", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 110
    return re.sub(r"\s+", " ", done.output)


def test_the_example_of_the_paper_in_one_command() -> None:
    """80 items of 20 classes, hard and soft, beta = 10, logit: with beta in units of the dearest kind hard labels win,
    because soft ones cost 10 units of utility and recover 4 more."""
    given = ("--items", 80, "--classes", 20, "--kinds", "hard,soft", "--utility", "logit", "--beta", 10, "--worlds", 6)
    shown = run(*given, "-o", "kinds.csv")
    assert "Collect hard labels" in shown
    assert "the dearest kind compared (soft: 1,600 hard labels" in shown
    table = pl.read_csv("kinds.csv")
    assert table["kind"].to_list() == ["hard", "soft"]
    assert table["total"].to_list() == [80, 1600]
    assert table["loss"][1] > table["loss"][0]
    assert table["rho"][1] > 0.8
    again = run(
        "--items", 80, "--classes", 20, "--kinds", "hard,soft", "--utility", "logit", "--beta", 1, "--worlds", 6
    )
    assert "Collect soft labels" in again


def test_numbers_of_items_and_classes_matter() -> None:
    few = run("--items", 100, "--classes", 2, "--kinds", "hard,soft", *QUICK, "-o", "few.csv")
    many = run("--items", 60, "--classes", 60, "--kinds", "hard,soft", *QUICK, "-o", "many.csv")
    assert few != many
    rho = [pl.read_csv(name)["rho"].to_list() for name in ("few.csv", "many.csv")]
    assert abs(rho[0][0] - rho[1][0]) > 0.1
    assert abs(rho[0][1] - rho[1][1]) > 0.05


def test_worth_in_money_and_a_budget() -> None:
    given = ("--items", 30, "--classes", 5, "--cost", "hard=0.02USD,soft=0.2USD", "--noise", 0.5, *QUICK)
    shown = run(*given, "--worth", "0.5:0.9=200", "--budget", 6)
    assert "from --worth: rho 0.5 to 0.9 is worth 200 USD" in shown
    assert "Collect soft labels" in shown
    assert "At equal budget (300 hard labels, 6.00 USD)" in shown
    assert "a hard label costs 0.02 USD (given)" in shown
    cheap = run(*given, "--worth", "0.5:0.9=0.01")
    assert "Collect hard labels" in cheap


def test_a_pilot_gives_sizes_noise_dimensions_prices_and_rates(folder: Path) -> None:
    given = ("--pilot", "choice.parquet", "--pilot", "sliders.parquet", "--kinds", "hard,soft", "--worlds", 6)
    shown = run(*given, "--votes", "votes.parquet", "--rates", "rates.csv")
    assert "40 items of 4 classes" in shown
    assert "noise of hard labels" in shown
    assert "your pilot: two answers contradict each other" in shown
    assert "dimensions:" in shown
    assert "1 sliders answer is worth" in shown
    assert "at equal budget" in shown.lower()
    rates = ExchangeRates.read(folder / "rates.csv")
    assert {rate.kind for rate in rates.rates} == {"sliders"}
    shown = run(*given, "--cost", "hard=0.02USD", "-o", "kinds.csv")
    table = pl.read_csv("kinds.csv")
    assert table["price"].to_list() == [1, 3]  # 9 s and 3 s
    assert "not your data" not in shown


def test_a_study_gives_items_classes_and_words(folder: Path) -> None:
    done = CliRunner().invoke(study_command, ["new", "study", "--demo", "--kind", "choice"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    shown = run("--study", "study", "--kinds", "hard,soft", *QUICK)
    assert re.search(r"\d+ items of 2 classes", shown)
    with pytest.raises(SfumatoError, match="the study's 2 classes"):
        run("--study", "study", "--classes", 3)


def test_features_give_items_and_dimensions() -> None:
    shown = run("--features", "features.npz", "--classes", 3, "--kinds", "hard,soft", "--worlds", 2)
    assert "60 items of 3 classes" in shown
    assert "dimensions: 7 (" in shown


def test_a_page_a_map_and_a_second_call_from_the_cache(folder: Path) -> None:
    given = ("--items", 9, "--classes", 4, "--kinds", "hard,soft,sparse:2..3,top:2", *QUICK, "--map", "map.csv")
    first = run(*given, "--page", "plan.html")
    html = (folder / "plan.html").read_text(encoding="utf-8")
    for words in (
        "Loss of each kind",
        "Recovery from soft and from hard labels",
        "The red frame is your data, 9 items",
    ):
        assert words in html
    assert "sfumato plan labels --items 9 --classes 4" in html
    assert len(pl.read_csv("map.csv").filter(pl.col("yours") == 1)) == 6
    n_files = len(list((folder / "cache").rglob("*.npz")))
    assert n_files
    # Progress comes first, and only if the machine is slow.
    result = "9 items of 4 classes"
    assert run(*given, "--page", "plan.html").partition(result)[1:] == first.partition(result)[1:]
    assert len(list((folder / "cache").rglob("*.npz"))) == n_files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--items", 20, "--classes", 3, "--beta", 1, "--worth", "0.5:0.9=2"), "both --beta and --worth"),
        (("--items", 20, "--classes", 3, "--kinds", "sparse:2..9"), "at most 3, the number of classes"),
        (("--items", 20, "--classes", 3, "--kinds", "soggy"), "hard, soft, similarity"),
        (("--items", 2, "--classes", 3), "three items or more"),
        (("--items", 20, "--classes", 1), "two classes or more"),
        (("--items", 20, "--classes", 3, "--dimensions", "0"), "whole numbers, 1 or more"),
        (("--items", 20, "--classes", 3, "--page", "plan.pdf"), "ends in .html"),
        (("--items", 20, "--classes", 3, "--votes", "votes.parquet"), "--votes without --pilot"),
        (("--items", 20, "--classes", 3, "--utility", "cubic"), "linear, sigmoid"),
        (("--pilot", "choice.parquet", "--classes", 5), "a pilot of 4 classes"),
        (("--features", "images.npz", "--classes", 3), "images in images.npz"),
        (("--classes", 3), "add --items 80"),
    ],
)
def test_what_cannot_be_asked(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(SfumatoError, match=message):
        CliRunner().invoke(command, ["labels", *map(str, arguments)], catch_exceptions=False)
    assert not Path("plan.pdf").exists()
