"""`sfumato map`, `sfumato duplicates` and `sfumato represent` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
import toy_data
from click.testing import CliRunner

from sfumato.cli import duplicates, represent
from sfumato.cli import map as map_command
from sfumato.cli import train as train_command
from sfumato.evaluation.data_map import DataMap
from sfumato.tables.errors import SfumatoError
from sfumato.tables.scores import Scores


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of two targets, trained for three epochs."""
    place = tmp_path_factory.mktemp("maps")
    toy_data.write_files(place)
    arguments = ["--inputs", place / "x.npz", "--labels", place / "labels.parquet", "--network", "simple-ffn"]
    arguments += ["--epochs", 3, "--batch-size", 16, "--processes", 1, "--seeds", 2, "--dynamics", "both"]
    arguments += ["--predictions-each-epoch", "-o", place / "runs"]
    done = CliRunner().invoke(train_command.command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return place


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def run(command: click.Command, *arguments: object) -> str:
    done = CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 100
    return done.output


def refused(command: click.Command, *arguments: object) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)
    return caught.value


def test_means_by_label_set_target_and_stratum() -> None:
    shown = run(map_command.command, "runs", "--people", "labels.parquet", "--strata", "class", "-o", "strata.csv")
    table = pl.read_csv("strata.csv")
    assert table.columns[:5] == ["target", "network", "label_set", "stratum", "n_items"]
    assert set(zip(table["target"], table["label_set"], strict=True)) == {("hard", "original"), ("soft", "people")}
    assert table["stratum"].to_list()[:4] == ["all", "class cat", "class dog", "class emu"]
    assert table["n_runs"].to_list() == [2] * 8
    run(map_command.command, "runs", "--target", "soft", "-o", "map.csv")
    drawn = DataMap.read("map.csv")
    whole = table.filter((pl.col("target") == "soft") & (pl.col("stratum") == "all"))
    np.testing.assert_allclose(whole["confidence"][0], drawn.confidence.mean())
    assert "class emu" in shown
    assert "without --people" in str(refused(map_command.command, "runs", "--strata", "class", "-o", "strata.csv"))


def write_doubt() -> None:
    rng = np.random.default_rng(0)
    lines = [f"{item},{rng.random():.3f}" for item in toy_data.ITEMS]
    Path("doubt.csv").write_text("item,mean_doubt\n" + "\n".join(lines) + "\n")


def test_a_map_of_runs() -> None:
    write_doubt()
    shown = run(
        map_command.command, "runs", "--target", "soft", "--network", "simple-ffn", "--doubt", "doubt.csv", "--last", 2,
        "--when", "end", "-o", "map.csv", "--scores", "scores.csv", "--shifts", "shifts.csv",
    )  # fmt: skip
    drawn = DataMap.read("map.csv")
    assert f"map.csv: DataMap, {len(drawn):,} items of 2 runs" in shown
    assert "confidence (end, 2 epochs per run)" in shown
    assert all(f"{region} " in shown for region in ("easy", "ambiguous", "hard", "between"))
    assert "of the variance is between runs" in shown
    assert "interval: 95% linearised over items" in shown
    assert "mean JSD from the previous epoch (nats)" in shown
    frames = [
        pl.read_parquet(f"runs/soft.simple-ffn.seed-{seed}.fold-0/dynamics.parquet").filter(
            (pl.col("when") == "end") & (pl.col("epoch") > 1)
        )
        for seed in range(2)
    ]
    expected = pl.concat(frames).group_by("item").agg(
        pl.col("gold").cast(pl.Float64).mean(), pl.col("gold").cast(pl.Float64).std(ddof=0).alias("sd")
    )  # fmt: skip
    both = drawn.to_polars().join(expected, on="item", validate="1:1")
    assert len(both) == len(drawn)
    np.testing.assert_allclose(both["confidence"], both["gold"], atol=1e-10)
    np.testing.assert_allclose(both["variability"], both["sd"], atol=1e-10)
    scores = Scores.read("scores.csv")
    assert scores.metric == ("confidence_mean_doubt_spearman", "variability_mean_doubt_spearman")
    assert pl.read_csv("shifts.csv")["epoch"].to_list() == [2, 3]


def test_regions_by_share_and_the_soft_form() -> None:
    run(map_command.command, "runs", "--target", "hard", "--share", 0.2, "--soft", "-o", "map.parquet")
    drawn = DataMap.read("map.parquet")
    assert abs((drawn.region == 1).mean() - 0.2) < 0.05


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "mixed-runs"),
        (("--target", "sofd"), "no-runs"),
        (("--target", "soft", "--easy", 0.2), "bad-setting"),
        (("--target", "soft", "--share", 0.3, "--easy", 0.9), "bad-setting"),
        (("--target", "soft", "--scores", "s.csv"), "bad-setting"),
        (("--target", "soft", "--last", 0), "bad-setting"),
        (("--target", "soft", "--level", 2), "bad-setting"),
    ],
)
def test_maps_that_cannot_be(arguments: tuple[object, ...], code: str) -> None:
    people = ("--people", "labels.parquet") if "--level" in arguments else ()
    assert refused(map_command.command, "runs", *arguments, *people, "-o", "none.csv").code == code
    assert not Path("none.csv").exists()


def test_duplicates_across_files() -> None:
    with np.load("x.npz") as arrays:
        images = arrays["images"]
    np.savez("test.npz", images=np.concatenate([images[:2], 255 - images[:1]]))
    shown = run(duplicates.command, "x.npz", "test.npz", "-o", "pairs.csv", "--groups", "groups.csv")
    assert "pairs.csv: Duplicates, 2 pairs among 63 items" in shown
    assert "2 exact pairs" in shown
    assert pl.read_csv("pairs.csv").rows() == [
        ("i0", 0, 0.0, "exact", "x", "test"),
        ("i1", 1, 0.0, "exact", "x", "test"),
    ]
    assert pl.read_csv("groups.csv").filter(pl.col("leave_out"))["split"].to_list() == ["test", "test"]
    assert refused(duplicates.command, "x.npz", "x.npz", "-o", "p.csv").code == "bad-setting"
    assert refused(duplicates.command, "x.npz", "-o", "x.npz").code != ""
    run(duplicates.command, "x.npz", "--exact", "--distance", 0.1, "--shift", 0, "-o", "pairs.parquet")


def test_features_of_a_run_compared_with_judgments() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "item": f"i{i}", "annotator": f"p{p}", "kind": "similarity/1",
            "payload": json.dumps({"other": f"i{j}", "rating": int(rng.integers(3, 7) if (i - j) % 3 == 0 else 1)}),
        }
        for p in range(4) for i in range(12) for j in range(i)
    ]  # fmt: skip
    rows += [
        {
            "item": f"i{i}", "annotator": f"p{i % 4}", "kind": "triplet/1",
            "payload": json.dumps({"a": f"i{i + 3}", "b": f"i{i + 1}", "closer": "a"}),
        }
        for i in range(20)
    ]  # fmt: skip
    pl.DataFrame(rows).write_parquet("judgments.parquet")
    asked = ("--judgments", "judgments.parquet", "-o", "scores.csv", "--by", "cosine")
    taken = ("--run", "runs/soft.simple-ffn.seed-0.fold-0", "--inputs", "x.npz", "--save-features", "f.npz")
    shown = run(represent.command, *taken, *asked)
    assert "f.npz: features, 60 items x 128" in shown
    assert "people: the noise ceiling" in shown
    scores = Scores.read("scores.csv")
    assert scores.metric == (
        "similarity_spearman", "leave_one_out_spearman", "implied_triplet_error", "triplet_error",
    )  # fmt: skip
    assert scores.value_of("similarity_spearman") > 0.3
    assert scores.value_of("triplet_error") < 0.2
    again = run(represent.command, "--features", "f.npz", *asked, "--over", "annotators")
    assert "jackknife over annotators" in again
    np.testing.assert_allclose(Scores.read("scores.csv").value, scores.value, atol=1e-12)
    assert refused(represent.command, *asked).code == "usage"
    assert refused(represent.command, "--features", "f.npz", *taken, *asked).code == "usage"
