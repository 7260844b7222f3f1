"""Runs: written whole, read back, never done twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
import toy_data

from sfumato.tables.errors import BadFile, BadSetting, BadTable, SfumatoWarning, UnknownName
from sfumato.tables.model_inputs import Inputs
from sfumato.training.experiment import UNFINISHED, Experiment
from sfumato.training.grid import GROUP, Grid, RunGroupKey
from sfumato.training.item_join import join_items
from sfumato.training.network_training import run_group
from sfumato.training.networks import LeNet, SimpleFfn
from sfumato.training.optimizers import Adam, Sgd
from sfumato.training.recipe import Recipe
from sfumato.training.run_folder import MODEL, Run
from sfumato.training.seeds import rng_of
from sfumato.training.splits import KFold, NoSplit, RandomSplit
from sfumato.training.targets import (
    DeaggregatedTarget,
    DistilledTarget,
    HardTarget,
    ShuffledTarget,
    SoftTarget,
    UniformTarget,
)
from sfumato.training.worker_pool import run_experiment

GRID = Grid({"hard": HardTarget(), "soft": SoftTarget()}, {"ffn": SimpleFfn()}, (0,), Recipe(epochs=2, batch_size=16))


def experiment(folder: Path, grid: Grid = GRID, split: Any = RandomSplit(), **more: Any) -> Experiment:  # noqa: B008
    data = more.pop("data", None) or toy_data.data()
    return Experiment(grid, data, tuple(split.folds(data)), folder, **more)


def done(folder: Path, *args: Any, **more: Any) -> Experiment:
    made = experiment(folder, *args, **more)
    run_experiment(made, processes=1)
    return made


def weights(folder: Path, name: str) -> dict[str, np.ndarray]:
    return Run.read(folder / name).weights()


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


SOFT = "soft.ffn.seed-0.fold-0"
HARD = "hard.ffn.seed-0.fold-0"


def test_a_run_says_what_it_is(tmp_path: Path) -> None:
    made = done(tmp_path)
    run = Run.read(tmp_path / SOFT)
    said = run.metadata
    assert (said["target"], said["network"], said["seed"], said["fold"]) == ("soft", "ffn", 0, 0)
    assert said["settings"]["target"] == {"name": "soft"}
    assert said["settings"]["recipe"]["optimiser"]["name"] == "adam"
    assert (said["ended"], said["epochs"]) == ("finished", 2)
    assert said["classes"] == ["cat", "dog", "emu"]
    assert said["environment"]["threads"] == 1
    assert said["environment"]["torch"] == torch.__version__
    assert said["data"]["people"] == made.data.hashes()["people"]
    assert said["seconds"]["side_by_side"] == 2
    train = toy_data.images()[made.folds[0].train] / 255
    assert said["scale"]["mean"] == pytest.approx([train.mean()])
    assert said["scale"]["std"] == pytest.approx([train.std()])
    assert sorted(path.name for path in (tmp_path / SOFT).iterdir()) == [
        "dynamics.parquet", "history.csv", "model.safetensors", "predictions.parquet", "run.json"
    ]  # fmt: skip
    assert not (tmp_path / UNFINISHED).exists()
    table = pl.read_csv(tmp_path / "runs.csv")
    assert table["run"].to_list() == [HARD, SOFT]
    assert table["status"].to_list() == ["done", "done"]


def test_predictions_are_those_of_the_network(tmp_path: Path) -> None:
    made = done(tmp_path)
    run = Run.read(tmp_path / SOFT)
    tested = made.folds[0].test
    assert run.predictions is not None
    assert run.predictions.items.to_pylist() == [toy_data.ITEMS[i] for i in tested]
    assert run.predictions.n_annotators.tolist() == [0] * 18
    again = run.predictor().predict(toy_data.inputs().take(tested))
    np.testing.assert_allclose(run.predictions.probs, again.probs, atol=1e-6)
    assert again.items.equals(run.predictions.items)
    # It has learnt something: there is a bar to be seen.
    assert (again.probs.argmax(1) == toy_data.NUMBERS[tested]).mean() > 0.6


def test_a_predictor_takes_pictures_of_its_size_alone(tmp_path: Path) -> None:
    done(tmp_path)
    predictor = Run.read(tmp_path / SOFT).predictor()
    with pytest.raises(BadTable, match="found images of 14 x 28 pixels in 1 channel; expected images of 28 x 28"):
        predictor.predict(Inputs(("a",), np.zeros((1, 14, 28), np.uint8)))
    with pytest.raises(BadTable, match="found texts"):
        predictor.predict(Inputs(("a",), texts=("cat",)))


class Own:
    """A network of somebody else's, without settings we could know."""

    name = "own"

    def build(self, shape: tuple[int, int, int], n_classes: int) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(shape[0] * shape[1] * shape[2], n_classes))


def test_a_network_of_ones_own(tmp_path: Path) -> None:
    grid = replace(GRID, networks={"mine": Own()})
    made = done(tmp_path, grid)
    run = Run.read(tmp_path / "soft.mine.seed-0.fold-0")
    again = run.predictor(Own()).predict(toy_data.inputs().take(made.folds[0].test))
    np.testing.assert_allclose(run.predictions.probs, again.probs, atol=1e-6)
    with pytest.raises(UnknownName):
        run.predictor()
    # Another object of the same kind is the same network.
    assert experiment(tmp_path, replace(GRID, networks={"mine": Own()})).missing(grid.run_groups(1)) == []


def test_history_and_dynamics(tmp_path: Path) -> None:
    recipe = Recipe(epochs=3, batch_size=16, validation=0.25, dynamics="both", optimiser=Adam(rate=0.002))
    made = done(tmp_path, replace(GRID, recipe=recipe))
    run = Run.read(tmp_path / SOFT)
    assert run.history["epoch"].to_list() == [1, 2, 3]
    assert run.history["rate"].to_list() == pytest.approx([0.002] * 3)
    assert run.history["loss"][2] < run.history["loss"][0]
    assert run.history["validation_loss"].null_count() == 0
    dynamics = run.dynamics
    assert dynamics is not None
    # 60 items less 18 to test is 42, a quarter of them held out is 10 (round half to even): 32, 3 epochs, 2 moments.
    assert len(dynamics) == 32 * 3 * 2
    assert set(dynamics["item"]) <= {toy_data.ITEMS[i] for i in made.folds[0].train}
    last = dynamics.filter((pl.col("epoch") == 3) & (pl.col("when") == "end")).sort("item")
    predicted = run.predictor().predict(toy_data.inputs())
    row = {name: i for i, name in enumerate(toy_data.ITEMS)}
    rows = [row[item] for item in last["item"]]
    own = predicted.probs[rows, toy_data.NUMBERS[rows]]
    np.testing.assert_allclose(last["gold"].to_numpy(), own, atol=1e-5)
    # People: .8 of the class, .2 of the next.
    other = predicted.probs[rows, (toy_data.NUMBERS[rows] + 1) % 3]
    np.testing.assert_allclose(last["agreement"].to_numpy(), 0.8 * own + 0.2 * other, atol=1e-5)
    assert np.array_equal(last["correct"].to_numpy(), predicted.probs[rows].argmax(1) == toy_data.NUMBERS[rows])


def test_predictions_of_every_epoch(tmp_path: Path) -> None:
    done(tmp_path, replace(GRID, recipe=replace(GRID.recipe, predictions_each_epoch=True)))
    run = Run.read(tmp_path / SOFT)
    table = pl.read_parquet(tmp_path / SOFT / "predictions-by-epoch.parquet")
    assert table["epoch"].to_list() == [1] * 18 + [2] * 18
    last = np.array(table.filter(pl.col("epoch") == 2)["probs"].to_list())
    assert run.predictions is not None
    np.testing.assert_array_equal(last, run.predictions.probs)


def test_the_same_grid_again_does_nothing(tmp_path: Path) -> None:
    done(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*") if path.parent != tmp_path}
    assert experiment(tmp_path).missing(GRID.run_groups(1)) == []
    done(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_another_run_of_the_same_grid_is_the_same(tmp_path: Path) -> None:
    done(tmp_path / "a")
    done(tmp_path / "b")
    for name in (HARD, SOFT):
        assert same(weights(tmp_path / "a", name), weights(tmp_path / "b", name))
        one, other = (Run.read(tmp_path / folder / name).predictions for folder in "ab")
        np.testing.assert_array_equal(one.probs, other.probs)


def test_a_folder_without_run_json_is_no_run(tmp_path: Path) -> None:
    done(tmp_path)
    first = weights(tmp_path, SOFT)
    (tmp_path / SOFT / "run.json").unlink()
    with pytest.raises(BadFile, match="finished run"):
        Run.read(tmp_path / SOFT)
    assert experiment(tmp_path).missing(GRID.run_groups(1)) == [RunGroupKey(("soft",), "ffn", 0, 0)]
    done(tmp_path)
    # Alone now, and so added up in another order.
    for name, tensor in weights(tmp_path, SOFT).items():
        torch.testing.assert_close(tensor, first[name], atol=1e-5, rtol=0)


def test_a_stack_cut_off_while_it_was_written_ends_as_it_would_have(tmp_path: Path) -> None:
    made = done(tmp_path)
    first = weights(tmp_path, SOFT)
    written = (tmp_path / HARD / MODEL).stat().st_mtime_ns
    (tmp_path / SOFT / "run.json").unlink()
    folder = made.unfinished(RunGroupKey(("hard", "soft"), "ffn", 0, 0))
    folder.mkdir(parents=True)
    (folder / GROUP).write_text('["hard", "soft"]')
    assert made.missing(GRID.run_groups(1)) == GRID.run_groups(1)
    done(tmp_path)
    assert same(weights(tmp_path, SOFT), first)
    assert (tmp_path / HARD / MODEL).stat().st_mtime_ns == written


def test_a_further_target_leaves_the_others_alone(tmp_path: Path) -> None:
    done(tmp_path)
    written = (tmp_path / HARD / MODEL).stat().st_mtime_ns
    more = replace(GRID, targets={**GRID.targets, "uniform": UniformTarget()})
    assert experiment(tmp_path, more).missing(more.run_groups(1)) == [RunGroupKey(("uniform",), "ffn", 0, 0)]
    done(tmp_path, more)
    assert (tmp_path / HARD / MODEL).stat().st_mtime_ns == written
    assert Run.read(tmp_path / "uniform.ffn.seed-0.fold-0").metadata["ended"] == "finished"


def test_other_settings_in_the_same_folder_are_refused(tmp_path: Path) -> None:
    done(tmp_path)
    other = replace(GRID, recipe=replace(GRID.recipe, epochs=3, optimiser=Sgd()))
    with pytest.raises(BadSetting, match=r"settings\.recipe\.epochs was 2 and is 3") as caught:
        done(tmp_path, other)
    assert caught.value.code == "drift"
    assert "optimiser.name was 'adam' and is 'sgd'" in str(caught.value)
    before = weights(tmp_path, SOFT)
    with pytest.warns(SfumatoWarning, match="it is kept"):
        done(tmp_path, other, allow_drift=True)
    assert same(weights(tmp_path, SOFT), before)


def test_other_data_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    done(tmp_path)
    changed = toy_data.images()
    changed[0, 0, 0] += 1
    inputs = replace(toy_data.inputs(), images=changed)
    data = join_items(inputs, people=toy_data.people(), beliefs=toy_data.beliefs())
    with pytest.raises(BadSetting, match=r"data\.images was"):
        done(tmp_path, data=data)
    with pytest.raises(BadSetting, match=r"data\.train was"):
        done(tmp_path, split=RandomSplit(seed=1))
    # Sources that no run used may come and go.
    done(tmp_path, data=join_items(toy_data.inputs(), people=toy_data.people()))
    with pytest.raises(BadSetting, match=r"data\.people was"):
        done(tmp_path, replace(GRID, targets={"hard": HardTarget()}), data=join_items(toy_data.inputs()))


def test_a_target_without_its_source_is_said_before_anything_is_trained(tmp_path: Path) -> None:
    data = join_items(toy_data.inputs(), people=toy_data.people())
    for target, option in ((DeaggregatedTarget(), "beliefs="), (DistilledTarget(), "teacher=")):
        with pytest.raises(BadSetting, match=option):
            experiment(tmp_path / "runs", replace(GRID, targets={"soft": SoftTarget(), "x": target}), data=data)
    assert not (tmp_path / "runs").exists()


def test_targets_of_a_seed_meet_the_same_label_rng(tmp_path: Path) -> None:
    made = experiment(tmp_path, replace(GRID, targets={"shuffled": ShuffledTarget(), "again": ShuffledTarget()}))
    task = run_group(made, made.run_groups()[0])
    np.testing.assert_array_equal(task.labels[0].mean(), task.labels[1].mean())
    # All of a class are judged alike here, and a shuffle within it changes nothing: so look at the draws themselves.
    assert rng_of(0, "labels").random() == rng_of(0, "labels").random() != rng_of(1, "labels").random()


def test_fine_tuning_begins_with_the_pretrained_weights(tmp_path: Path) -> None:
    still = Recipe(epochs=1, batch_size=16, optimiser=Sgd(rate=1e-12, momentum=0))
    first = Recipe(epochs=4, batch_size=16)
    grid = replace(GRID, recipe=still, pretraining=first, seeds=(0, 1))
    before = join_items(Inputs(tuple("abcdef"), toy_data.images(1, 6), labels=("cat", "dog", "emu") * 2))
    made = done(tmp_path, grid, pretraining_set=before)
    names = [row.run for row in made.write_table()]
    assert names[:3] == ["pretrained.ffn.seed-0", "pretrained.ffn.seed-1", HARD]
    for seed in (0, 1):
        begun = weights(tmp_path, f"pretrained.ffn.seed-{seed}")
        for target in ("hard", "soft"):
            for name, tensor in weights(tmp_path, f"{target}.ffn.seed-{seed}.fold-0").items():
                torch.testing.assert_close(tensor, begun[name], atol=1e-6, rtol=0)
    run = Run.read(tmp_path / "pretrained.ffn.seed-0")
    assert run.metadata["epochs"] == 4
    # The scale goes with the weights.
    assert Run.read(tmp_path / SOFT).metadata["scale"] == run.metadata["scale"]
    assert run.metadata["scale"]["mean"] == pytest.approx([before.images.mean() / 255])
    assert run.predictions is not None
    assert len(run.predictions) == 60
    with pytest.raises(BadSetting, match=r"pretraining\.images was"):
        done(tmp_path, grid, pretraining_set=replace(before, images=before.images + 1))


def test_pretraining_needs_pictures_of_the_same_size(tmp_path: Path) -> None:
    before = join_items(Inputs(tuple("abc"), np.zeros((3, 14, 14), np.uint8), labels=("cat", "dog", "emu")))
    with pytest.raises(BadTable, match="14 x 14 to pretrain on"):
        experiment(tmp_path, replace(GRID, pretraining=Recipe()), pretraining_set=before)


def test_a_run_that_diverges_says_so_and_keeps_what_was_good(tmp_path: Path) -> None:
    wild = replace(GRID, recipe=Recipe(epochs=5, batch_size=16, optimiser=Sgd(rate=1e20)))
    made = done(tmp_path, wild)
    run = Run.read(tmp_path / SOFT)
    assert run.metadata["ended"] == "diverged"
    assert all(np.isfinite(array).all() for array in run.weights().values())
    assert made.predictions("soft", "ffn", 0) is None


def test_predictions_of_all_folds_as_one_table(tmp_path: Path) -> None:
    made = done(tmp_path, split=KFold(k=3), data=toy_data.data())
    found = made.predictions("soft", "ffn", 0)
    assert found is not None
    rows = dict(zip(found.items.to_pylist(), found.probs.tolist(), strict=True))
    assert sorted(rows) == sorted(toy_data.ITEMS)
    for fold in range(3):
        table = Run.read(tmp_path / f"soft.ffn.seed-0.fold-{fold}").predictions
        assert table is not None
        assert {item: rows[item] for item in table.items.to_pylist()} == dict(
            zip(table.items.to_pylist(), table.probs.tolist(), strict=True)
        )
    assert made.predictions("soft", "ffn", 7) is None


def test_no_split_predicts_everything(tmp_path: Path) -> None:
    done(tmp_path, split=NoSplit())
    predictions = Run.read(tmp_path / SOFT).predictions
    assert predictions is not None
    assert predictions.items.to_pylist() == list(toy_data.ITEMS)


def test_damaged_runs_are_refused(tmp_path: Path) -> None:
    done(tmp_path)
    (tmp_path / SOFT / MODEL).write_bytes(b"no weights")
    with pytest.raises(BadFile, match="weights that cannot be read"):
        Run.read(tmp_path / SOFT).predictor()
    (tmp_path / SOFT / "run.json").write_text(json.dumps({"target": "soft"}))
    with pytest.raises(BadFile, match="found no network"):
        Run.read(tmp_path / SOFT)


def test_colour_too(tmp_path: Path) -> None:
    grey = toy_data.images()
    colour = Inputs(toy_data.ITEMS, np.stack([grey, 255 - grey, grey // 2], axis=-1))
    data = join_items(colour, people=toy_data.people())
    grid = replace(GRID, targets={"soft": SoftTarget()}, networks={"lenet": LeNet()})
    made = done(tmp_path, grid, data=data)
    run = Run.read(tmp_path / "soft.lenet.seed-0.fold-0")
    assert run.metadata["shape"] == [3, 28, 28]
    assert len(run.metadata["scale"]["mean"]) == 3
    again = run.predictor().predict(colour.take(made.folds[0].test))
    np.testing.assert_allclose(run.predictions.probs, again.probs, atol=1e-6)
