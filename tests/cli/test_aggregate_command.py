"""`sfumato aggregate` as a user types it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from sfumato_command import sfumato

from sfumato import Beliefs, Counts, SoftLabels
from sfumato.aggregation import AGGREGATORS, AggregationInputs, DawidSkene, Estimand, Mean, calibrate
from sfumato.cli.aggregate import _aggregators, command
from sfumato.tables.errors import BadSetting

CLASSES = ("cat", "dog")


@pytest.fixture
def beliefs(tmp_path: Path) -> Beliefs:
    """Sixty items, four of eight people each, right three times of four; written to b.parquet."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=60)
    who = np.concatenate([rng.choice(8, 4, replace=False) for _ in range(60)])
    said = np.where(rng.random(240) < 0.75, np.repeat(truth, 4), 1 - np.repeat(truth, 4))
    items = [f"i{i}" for i in range(60) for _ in range(4)]
    table = Beliefs.from_numpy(items, [f"a{w}" for w in who], said, CLASSES)
    table.write(tmp_path / "b.parquet")
    gold = SoftLabels.one_hot([f"i{i}" for i in range(20)], [CLASSES[k] for k in truth[:20]], CLASSES)
    gold.write(tmp_path / "gold.csv")
    return table


def test_the_mean_is_the_default(beliefs: Beliefs, tmp_path: Path) -> None:
    shown = sfumato("aggregate", "b.parquet", "-o", "l.parquet", cwd=tmp_path).stdout
    assert "SoftLabels of 60 items: how people judge" in shown
    assert "by mean, from 240 answers of 8 annotators" in shown
    labels = SoftLabels.read(tmp_path / "l.parquet")
    assert labels.estimand is Estimand.JUDGMENT
    assert np.array_equal(labels.probs, Mean().aggregate(beliefs).labels.probs)
    assert labels.n_annotators is not None
    assert labels.n_annotators.tolist() == [4] * 60


def test_everything_at_once(beliefs: Beliefs, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("annotator,weight\na0,2\n")
    shown = sfumato(
        *("aggregate", "b.parquet", "--by", "dawid-skene", "--prior", 5, "--weights", "w.csv"),
        *("--calibrate-on", "gold.csv", "--annotators", "q.csv", "--intervals", "i.csv", "--level", 0.8),
        *("-o", "l.parquet"),
        cwd=tmp_path,
    ).stdout
    assert "how probable each class is to be true" in shown
    assert "converged after" in shown
    assert "calibrated on gold items" in shown
    assert "120 intervals at 0.8" in shown
    fitted = DawidSkene(prior=5.0).aggregate(beliefs, AggregationInputs(weights={"a0": 2.0}))
    expected = calibrate(fitted, SoftLabels.read(tmp_path / "gold.csv"))
    labels = SoftLabels.read(tmp_path / "l.parquet")
    np.testing.assert_allclose(labels.probs, expected.labels.probs, atol=1e-9)
    quality = pl.read_csv(tmp_path / "q.csv")
    assert quality["annotator"].to_list() == beliefs.annotator.names.to_pylist()
    assert quality["n_answers"].sum() == 240
    assert {"accuracy", "information", "says cat | is cat", "says dog | is cat"} <= set(quality.columns)
    table = pl.read_csv(tmp_path / "i.csv")
    assert table.columns == ["item", "class", "value", "low", "high", "level", "kind"]
    assert table["class"].to_list() == ["cat", "dog"] * 60
    np.testing.assert_allclose(table["value"].to_numpy().reshape(-1, 2), labels.probs, atol=1e-12)


def test_gold_is_fixed(beliefs: Beliefs, tmp_path: Path) -> None:
    sfumato("aggregate", "b.parquet", "--by", "one-coin", "--gold", "gold.csv", "-o", "l.csv", cwd=tmp_path)
    gold = SoftLabels.read(tmp_path / "gold.csv")
    assert np.array_equal(SoftLabels.read(tmp_path / "l.csv").probs[:20], gold.probs)


def test_the_seconds_of_annotators(tmp_path: Path) -> None:
    rows = [f'{i},a,choice/1,"{{""class"": ""cat""}}",{seconds}' for i, seconds in enumerate((2, 4, 9))]
    (tmp_path / "a.csv").write_text("\n".join(["item,annotator,kind,payload,seconds", *rows]) + "\n")
    sfumato("label", "a.csv", "--by", "one-hot", "--classes", "cat,dog", "-o", "b.parquet", cwd=tmp_path)
    sfumato(
        *("aggregate", "b.parquet", "--annotators", "q.csv", "--annotations", "a.csv", "-o", "l.parquet"), cwd=tmp_path
    )
    assert pl.read_csv(tmp_path / "q.csv")["seconds"].to_list() == [4.0]


def test_a_step_never_overwrites_its_source(beliefs: Beliefs, tmp_path: Path) -> None:
    before = (tmp_path / "b.parquet").read_bytes()
    assert "bad-setting" in sfumato("aggregate", "b.parquet", "-o", "b.parquet", cwd=tmp_path, code=2).stderr
    assert (tmp_path / "b.parquet").read_bytes() == before


def test_the_help_lists_every_aggregator() -> None:
    listed = [(each.name, each.settings) for members in _aggregators().values() for each in members]
    assert listed == [(each.name, tuple(field.name for field in fields(each))) for each in AGGREGATORS]
    shown = sfumato("aggregate", "--help", cwd=Path.cwd()).stdout
    assert all(f"\n  {each.name} " in shown for each in AGGREGATORS)


def test_methods_are_compared_with_the_truth(beliefs: Beliefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.csv").write_text("item,label\ni0,cat\ni1,dog\ni2,\n")
    options = ["b.parquet", "--by", "mean", "--by", "dawid-skene:prior=5", "--truth", "truth.csv", "-o", "labels"]
    shown = CliRunner().invoke(command, options, catch_exceptions=False).output
    lines = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.startswith(("mean", "dawid"))}
    assert list(lines) == ["mean", "dawid-skene:prior=5"]
    mean = Mean().aggregate(beliefs).labels
    own = [mean.probs[mean.items.to_pylist().index(item), k] for item, k in (("i0", 0), ("i1", 1))]
    accuracy = np.mean([0.5 if p == 0.5 else float(p > 0.5) for p in own])
    with np.errstate(divide="ignore"):
        expected = [
            "judgment",
            f"{accuracy:.4f}",
            f"{-np.log(own).mean():.4f}",
            f"{np.mean([2 * (1 - p) ** 2 for p in own]):.4f}",
        ]
    assert [cell.rstrip("*") for cell in lines["mean"][:4]] == expected
    assert "2 of 60 items have a known class" in shown
    assert np.array_equal(SoftLabels.read(tmp_path / "labels" / "mean.parquet").probs, mean.probs)


def test_all_methods_on_counts_are_those_that_need_no_annotators(
    beliefs: Beliefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Counts.of(beliefs).write("n.csv")
    (tmp_path / "truth.csv").write_text("item,label\ni0,cat\ni1,dog\n")
    shown = CliRunner().invoke(command, ["n.csv", "--by", "all", "--truth", "truth.csv"], catch_exceptions=False)
    methods = [line.split()[0] for line in shown.stdout.splitlines() if line.split()[1] in ("judgment", "truth")]
    assert methods == ["mean", "bayes", "log-pool", "majority"]
    assert "left out dawid-skene: votes per class, without annotators" in shown.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "mean"], "no -o"),
        (["--by", "mean", "--by", "glad"], "--truth FILE"),
        (["--by", "mean", "--by", "glad", "--prior", "3", "-o", "x"], "--by mean:prior=3"),
        (["--by", "mean", "--by", "glad", "--annotators", "q.csv", "-o", "x"], "a single --by"),
    ],
)
def test_what_does_not_go_together_is_refused(
    beliefs: Beliefs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadSetting, match=message):
        CliRunner().invoke(command, ["b.parquet", *options], catch_exceptions=False)
