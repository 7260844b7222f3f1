"""Settings chosen on validation items: trials, what is kept, what is recorded; and several mixings side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import toy_data

import sfumato as sf
from sfumato.evaluation.run_predictions import read_runs
from sfumato.tables.errors import BadSetting, SfumatoError
from sfumato.training import worker_pool
from sfumato.training.experiment import Experiment
from sfumato.training.grid import Grid
from sfumato.training.mixing import Mixup
from sfumato.training.models.linear import LinearModel
from sfumato.training.models.nearest_neighbors import NearestNeighbors
from sfumato.training.networks import SimpleFfn
from sfumato.training.optimizers import Adam, Plateau
from sfumato.training.recipe import Recipe
from sfumato.training.run_folder import Run
from sfumato.training.setting_selection import SettingSelection, TrialGrid, values_of_options
from sfumato.training.splits import ItemCountSplit
from sfumato.training.targets import HardTarget, SmoothingTarget

SMALL = Recipe(epochs=1, batch_size=16, validation=0.25)
TARGETS: Any = {"hard": HardTarget(), "smoothing": SmoothingTarget()}
LABELS = {
    "people": toy_data.people(),
    "original": sf.SoftLabels.from_numpy(toy_data.ITEMS, np.eye(3)[toy_data.NUMBERS], toy_data.CLASSES),
}


def trials(recipe: Recipe = SMALL, **values: Any) -> TrialGrid:
    selection = SettingSelection.of({name.replace("__", "."): value for name, value in values.items()})
    return TrialGrid.of(Grid(TARGETS, {"simple-ffn": SimpleFfn()}, (0,), recipe, selection=selection))


def test_a_run_tries_the_settings_that_apply_to_it() -> None:
    made = trials(rate=[0.1, 0.01], weight_decay=[0, 1e-4], smoothing__share=[0.1, 0.2, 0.3])
    assert len(made.trials["hard", "simple-ffn", ""]) == 4
    assert len(made.trials["smoothing", "simple-ffn", ""]) == 12
    last = made.trials["smoothing", "simple-ffn", ""][-1]
    assert last.settings == {"smoothing.share": 0.3, "rate": 0.01, "weight-decay": 1e-4}
    assert made.grid.targets[last.target] == SmoothingTarget(share=0.3)
    assert made.grid.recipes[last.recipe].optimiser == Adam(rate=0.01, weight_decay=1e-4)
    assert made.grid.targets["hard"] == HardTarget()


def test_settings_of_mixings_schedules_and_networks() -> None:
    selection = SettingSelection.of(
        {"mixup": {"alpha": [0.2, 1]}, "plateau.by": [0.5, 0.1], "epochs": [1, 2], "simple-ffn.hidden": [8, 16]}
    )
    recipe = Recipe(mixing=Mixup(), schedule=Plateau(), validation=0.1)
    made = TrialGrid.of(Grid(TARGETS, {"simple-ffn": SimpleFfn()}, (0,), recipe, selection=selection))
    assert len(made.trials["hard", "simple-ffn", ""]) == 16
    first = made.trials["hard", "simple-ffn", ""][0]
    found = made.grid.recipes[first.recipe]
    assert (found.mixing, found.schedule, found.epochs) == (Mixup(0.2), Plateau(by=0.5), 1)
    assert made.grid.networks[first.network] == SimpleFfn(hidden=8)


def test_models_that_are_fitted_in_one_step() -> None:
    networks: Any = {"linear": LinearModel(), "knn": NearestNeighbors()}
    selection = SettingSelection.of({"linear": {"penalty": [0.1, 10]}, "knn.k": [1, 3, 5]})
    no_recipe: Any = None
    made = TrialGrid.of(Grid(TARGETS, networks, (0,), no_recipe, selection=selection, validation=0.2))
    penalties = [each.settings for each in made.trials["hard", "linear", ""]]
    assert penalties == [{"linear.penalty": 0.1}, {"linear.penalty": 10}]
    found: Any = [made.grid.networks[each.network] for each in made.trials["hard", "knn", ""]]
    assert [each.k for each in found] == [1, 3, 5]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"rat": [1]}, "did you mean 'rate'"),
        ({"mixup__alpha": [1]}, "no target, model or recipe"),
        ({"smoothing__shar": [0.1]}, "share"),
        ({"smoothing__share": [2]}, "from 0 to 1"),
        ({"smoothing__share": ["much"]}, "a number"),
        ({"rate": []}, "each once"),
        ({"rate": [1, 1]}, "each once"),
        ({"rate": 1}, "a list"),
    ],
)
def test_selections_that_are_none(values: dict[str, Any], says: str) -> None:
    with pytest.raises(SfumatoError, match=says):
        trials(**values)


def test_options() -> None:
    found = values_of_options(["rate=0.01,1e-4", "steps.after=[1,2],[3]"])
    assert found == {"rate": [0.01, 1e-4], "steps.after": [[1, 2], [3]]}
    for wrong in (["rate"], ["=1"], ["rate="], ["rate=1", "rate=2"]):
        with pytest.raises(BadSetting):
            values_of_options(wrong)
    with pytest.raises(BadSetting, match="people, original"):
        SettingSelection({"rate": (1,)}, by="soft")


def chosen(output: Path, **more: Any) -> Any:
    settings: dict[str, Any] = {
        "targets": ["majority", "smoothing", "soft"], "recipe": SMALL, "model": "simple-ffn", "output": output,
        "select": {"rate": [0.1, 0.001], "smoothing.share": [0.1, 0.5]},
    }  # fmt: skip
    return sf.train(toy_data.inputs(), LABELS, **(settings | more))


def test_the_best_trial_is_kept_and_all_are_listed(tmp_path: Path) -> None:
    models = chosen(tmp_path / "runs", seeds=2)
    assert not (tmp_path / "runs" / "unfinished").exists()
    run = Run.read(tmp_path / "runs" / "smoothing.simple-ffn.seed-1.fold-0")
    listed = run.metadata["selection"]["trials"]
    assert len(listed) == 4
    best = min(listed, key=lambda trial: trial["people"])
    assert run.metadata["selection"]["settings"] == best["settings"]
    assert run.settings["target"]["share"] == best["settings"]["smoothing.share"]
    assert run.settings["recipe"]["optimiser"]["rate"] == best["settings"]["rate"]
    assert (run.metadata["target"], run.metadata["network"]) == ("smoothing", "simple-ffn")
    # The network of the chosen trial predicts what the run predicted.
    again = run.predictor().predict(toy_data.inputs().take(models.experiment.folds[0].test))
    assert run.predictions is not None
    np.testing.assert_allclose(run.predictions.probs, again.probs, atol=1e-6)
    table = models.selection
    assert table.height == 2 * (2 + 4 + 2)
    written = pl.read_csv(tmp_path / "runs" / "selection.csv")
    assert written["people"].to_list() == pytest.approx(table["people"].to_list())
    assert written["chosen"].sum() == 6
    # The score is of the validation items, which are no training or test items.
    fold = models.experiment.folds[0].held_out(models.experiment.data, 0.25, seed=1)
    predicted = run.predictor().predict(toy_data.inputs().take(fold.validation)).probs
    people = models.experiment.data.people[fold.validation]
    assert -(people * np.log(predicted)).sum(1).mean() == pytest.approx(best["people"], rel=1e-4)
    assert run.dynamics is not None
    assert set(run.dynamics["item"]) == {toy_data.ITEMS[i] for i in fold.train}
    named = [each.target for each in read_runs(tmp_path / "runs")]
    assert named == ["majority", "majority", "smoothing", "smoothing", "soft", "soft"]


def test_a_search_is_continued_and_more_seeds_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = chosen(tmp_path / "whole", seeds=2)
    trained: list[str] = []

    class CutError(Exception):
        pass

    own = Experiment.train

    def stopping_after(most: int) -> Callable[..., None]:
        def train(self: Experiment, key: Any, on_epoch: Any = None) -> None:
            if len(trained) == most:
                raise CutError
            trained.append(key.runs[0].name)
            own(self, key, on_epoch)

        return train

    monkeypatch.setattr(Experiment, "train", stopping_after(1))
    with pytest.raises(CutError):
        chosen(tmp_path / "cut")
    monkeypatch.setattr(Experiment, "train", stopping_after(100))
    chosen(tmp_path / "cut")
    # Two rates, of which one was trained before.
    assert len(trained) == 2
    chosen(tmp_path / "cut", seeds=2)
    assert len(trained) == 4
    for one in whole.runs:
        other = Run.read(tmp_path / "cut" / one.folder.name)
        assert (one.folder / "model.safetensors").read_bytes() == (other.folder / "model.safetensors").read_bytes()
        assert one.metadata["selection"] == other.metadata["selection"]
    with pytest.raises(BadSetting, match=r"select\.rate was"):
        chosen(tmp_path / "cut", select={"rate": [0.1, 0.01], "smoothing.share": [0.1, 0.5]})


def test_selection_by_the_original_labels_on_given_items(tmp_path: Path) -> None:
    split, recipe = ItemCountSplit(train=30, validation=12), Recipe(epochs=1, batch_size=16)
    models = chosen(tmp_path, split=split, recipe=recipe, select={"rate": [0.1, 0.001]}, select_by="original")
    for run in models.runs:
        listed = run.metadata["selection"]["trials"]
        assert min(listed, key=lambda trial: trial["original"])["settings"] == run.metadata["selection"]["settings"]
        assert run.metadata["validation"]["items"] == 12


def test_without_validation_items(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="without validation items"):
        chosen(tmp_path, recipe=Recipe(epochs=1))
    with pytest.raises(BadSetting, match="a share of validation items, and a split that has them"):
        chosen(tmp_path, split=ItemCountSplit(train=30, validation=12))
    with pytest.raises(BadSetting, match="patience without validation"):
        chosen(tmp_path, recipe=Recipe(epochs=1, patience=2), select=None)
    assert not list(tmp_path.iterdir())


def test_validation_items_do_not_reach_the_labels_of_training_items(tmp_path: Path) -> None:
    """A class mean over a few training items must not know the labels of many validation items."""
    from sfumato.training.network_training import run_group

    models = chosen(tmp_path, targets=["class-level:by=original"], split=ItemCountSplit(train=6, validation=30),
                    recipe=Recipe(epochs=1), select=None)  # fmt: skip
    made = models.experiment
    group = run_group(made, made.run_groups()[0])
    assert group.validation is not None
    people = made.data.people[made.folds[0].train]
    number = made.data.original[made.folds[0].train]
    expected = np.stack([people[number == k].mean(axis=0) for k in number])
    np.testing.assert_allclose(group.labels[0].mean(), expected)


def test_settings_of_a_linear_model(tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(60, 4)) + np.eye(3, 4)[toy_data.NUMBERS]
    inputs = sf.Inputs(toy_data.ITEMS, features=features)
    models = sf.train(
        inputs, toy_data.people(), targets=["majority", "soft"], model="linear", validation=0.2,
        select={"linear.penalty": [1e-3, 1, 1e4]}, output=tmp_path,
    )  # fmt: skip
    for run in models.runs:
        assert run.settings["network"]["penalty"] == run.metadata["selection"]["settings"]["linear.penalty"]
        assert run.predictor().predict(inputs).probs.shape == (60, 3)
    with pytest.raises(SfumatoError, match="validation for linear"):
        sf.train(inputs, toy_data.people(), model="linear", validation=0.2)


def test_several_mixings(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"targets": ["majority", "soft"], "recipe": SMALL, "model": "simple-ffn"}
    models = sf.train(
        toy_data.inputs(), toy_data.people(), mixing=["plain", Mixup(alpha=0.4), "mix-max-ent"], output=tmp_path,
        **settings,
    )  # fmt: skip
    names = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    mixings = ("", "-mixup", "-mix-max-ent")
    assert names == {f"{name}{mixing}.simple-ffn.seed-0.fold-0" for name in ("majority", "soft") for mixing in mixings}
    said = json.loads((tmp_path / "soft-mixup.simple-ffn.seed-0.fold-0" / "run.json").read_text())
    assert (said["target"], said["mixing"]) == ("soft+mixup", "mixup")
    assert said["settings"]["recipe"]["mixing"]["alpha"] == 0.4
    shown = {each.target for each in read_runs(tmp_path)}
    assert shown == {f"{name}{mixing}" for name in ("majority", "soft") for mixing in ("", "+mixup", "+mix-max-ent")}
    assert not np.allclose(models.predictions("soft").probs, models.predictions("soft+mixup").probs)
    # Plain runs are those of an experiment without other mixings.
    before = (tmp_path / "soft.simple-ffn.seed-0.fold-0" / "run.json").stat().st_mtime_ns
    assert len(sf.train(toy_data.inputs(), toy_data.people(), output=tmp_path, **settings).runs) == 2
    assert (tmp_path / "soft.simple-ffn.seed-0.fold-0" / "run.json").stat().st_mtime_ns == before
    with pytest.raises(SfumatoError, match="twice"):
        sf.train(toy_data.inputs(), toy_data.people(), model="simple-ffn", mixing="mixup,mixup")


def test_pretrained_networks_are_kept_beside_the_selection(tmp_path: Path) -> None:
    made = chosen(tmp_path / "plain", select=None).experiment
    selection, short = SettingSelection.of({"rate": [0.1, 0.01]}), Recipe(epochs=1, batch_size=16)
    grid = replace(made.grid, pretraining=short, selection=selection)
    pretraining = replace(made.data, people=None)
    for seeds in ((0,), (0, 1)):
        whole = Experiment(replace(grid, seeds=seeds), made.data, made.folds, tmp_path / "runs", pretraining)
        worker_pool.run_experiment(whole, processes=1)
    assert {each.target for each in read_runs(tmp_path / "runs")} == {"majority", "pretrained", "smoothing", "soft"}
    assert (tmp_path / "runs" / "pretrained.simple-ffn.seed-1" / "run.json").exists()
    with pytest.raises(BadSetting, match="a network that is pretrained"):
        TrialGrid.of(replace(grid, selection=SettingSelection.of({"simple-ffn.hidden": [4, 8]})))
