"""Run folders: found, brought together by seed, and what cannot be scored named."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import trained

from sfumato import SoftLabels
from sfumato.evaluation import read_runs
from sfumato.tables.errors import BadFile, BadTable, SfumatoWarning

FIRST, REST = slice(0, 15), slice(15, None)


def test_runs_are_found_wherever_they_stand(tmp_path: Path) -> None:
    for k, run in enumerate(trained.grid(seeds=(0, 1))):
        trained.write_run(tmp_path / f"part-{k % 2}", run)
    found = read_runs(tmp_path)
    assert [run.name for run in found] == ["hard.ffn.seed-0", "hard.ffn.seed-1", "soft.ffn.seed-0", "soft.ffn.seed-1"]
    expected = trained.trained("soft", 1).predictions
    assert np.array_equal(found[3].predictions.probs, expected.probs)


def test_folds_of_a_seed_are_one_table(tmp_path: Path) -> None:
    run = trained.trained("soft", 0)
    trained.write_run(tmp_path, run, fold=0, rows=REST)
    trained.write_run(tmp_path, run, fold=1, rows=FIRST)
    (found,) = read_runs(tmp_path)
    order = found.predictions.rows_of(trained.ITEMS)
    assert np.array_equal(found.predictions.probs[order], run.predictions.probs)


def test_what_cannot_be_scored_is_named(tmp_path: Path) -> None:
    for seed in range(4):
        run = trained.trained("soft", seed)
        trained.write_run(tmp_path, run, fold=0, rows=FIRST, ended="diverged" if seed == 1 else "finished")
        if seed != 2:
            trained.write_run(tmp_path, run, fold=1, rows=REST)
    (tmp_path / "soft.ffn.seed-3.fold-1" / "predictions.parquet").unlink()
    with pytest.warns(SfumatoWarning) as said:
        found = read_runs(tmp_path)
    assert [run.seed for run in found] == [0]
    text = str(said[0].message)
    assert "soft.ffn.seed-1 (diverged)" in text
    assert "soft.ffn.seed-2 (1 of 2 folds missing)" in text
    assert "soft.ffn.seed-3 (no predictions)" in text


def test_half_finished_folders(tmp_path: Path) -> None:
    for run in trained.grid(seeds=(0, 1)):
        trained.write_run(tmp_path, run)
    (tmp_path / "soft.ffn.seed-1.fold-0" / "run.json").unlink()
    (tmp_path / "unfinished" / "stack.ffn.seed-2.fold-0.abcdefgh").mkdir(parents=True)
    with pytest.warns(SfumatoWarning, match=r"skipped 2 unfinished trainings: soft.ffn.seed-1"):
        found = read_runs(tmp_path)
    assert [run.name for run in found] == ["hard.ffn.seed-0", "hard.ffn.seed-1", "soft.ffn.seed-0"]


def test_pretrained_networks_are_a_row_of_their_own(tmp_path: Path) -> None:
    place = trained.write_run(tmp_path, trained.trained("soft", 0))
    shutil.copytree(place, tmp_path / "pretrained.ffn.seed-0")
    text = (place / "run.json").read_text().replace('"soft"', '"pretrained"').replace('"fold": 0', '"fold": null')
    (tmp_path / "pretrained.ffn.seed-0" / "run.json").write_text(text)
    assert [run.target for run in read_runs(tmp_path)] == ["pretrained", "soft"]


def test_one_table_a_target(tmp_path: Path) -> None:
    for run in trained.grid(seeds=(0, 1)):
        run.predictions.write(tmp_path / f"{run.target}.seed-{run.seed}.parquet")
    trained.people().write(tmp_path / "smoothing.share-0.2.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_runs(tmp_path)
    assert [(run.target, run.network, run.seed) for run in found] == [
        ("hard", "", 0), ("hard", "", 1), ("smoothing.share-0.2", "", 0), ("soft", "", 0), ("soft", "", 1),
    ]  # fmt: skip


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no such folder"):
        read_runs(tmp_path / "nowhere")
    with pytest.raises(BadFile, match="neither runs nor predictions"):
        read_runs(tmp_path)
    run = trained.trained("soft", 0)
    place = trained.write_run(tmp_path / "a", run)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    with pytest.raises(BadTable, match="the same run"):
        read_runs(tmp_path)
    trained.write_run(tmp_path / "a", run, fold=1)
    with pytest.raises(BadTable, match="two folds of a seed"):
        read_runs(tmp_path / "a")
    (place / "run.json").write_text('{"target": "soft", "seed": "0"}')
    with pytest.raises(BadFile, match="found no network, seed, ended"):
        read_runs(tmp_path / "a")
    (place / "run.json").write_text("{")
    with pytest.raises(BadFile, match="not JSON"):
        read_runs(tmp_path / "a")
    shutil.rmtree(tmp_path / "a")
    place = trained.write_run(tmp_path / "a", run, ended="diverged")
    with pytest.raises(BadFile, match="no finished run"), pytest.warns(SfumatoWarning):
        read_runs(tmp_path / "a")


def test_folds_with_other_classes(tmp_path: Path) -> None:
    run = trained.trained("soft", 0)
    trained.write_run(tmp_path, run, fold=0, rows=FIRST)
    place = trained.write_run(tmp_path, run, fold=1, rows=REST)
    table = run.predictions
    turned = SoftLabels.from_numpy(trained.ITEMS[15:], table.probs[15:, ::-1], table.classes[::-1], 0)
    turned.write(place / "predictions.parquet")
    (found,) = read_runs(tmp_path)
    assert np.array_equal(found.predictions.probs, table.probs)
    SoftLabels.from_numpy(["x"], [[1, 0, 0]], ["a", "b", "c"]).write(place / "predictions.parquet")
    with pytest.raises(BadTable, match="those of the other folds"):
        read_runs(tmp_path)
