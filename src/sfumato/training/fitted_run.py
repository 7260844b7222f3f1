"""Runs of models that are fitted in one step: how they are fitted, written, and read to predict other inputs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.tables.errors import BadFile, BadSetting, BadTable, listing, wrong_shape
from sfumato.tables.files.table_file import write_table
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.models import HEADS, STORED, is_network
from sfumato.training.models.model import FittedModel, Rows
from sfumato.training.run_folder import (
    DYNAMICS,
    HISTORY,
    MODEL,
    PREDICTIONS,
    RUN,
    Run,
    bad_run,
    environment,
    normalized,
    write_metadata,
    write_weights,
)
from sfumato.training.seeds import rng_of
from sfumato.training.splits import names_of
from sfumato.training.target_labels import MeanLabels, labels_once
from sfumato.training.training_set import TrainingSet
from sfumato.training.validation_scores import validation_scores

if TYPE_CHECKING:
    from sfumato.training.experiment import Experiment
    from sfumato.training.grid import RunGroupKey

INSTEAD = {"texts": "text-linear", "features": "linear, mlp, knn or boosting", "images": "lenet, small or linear"}
"""Models for each kind of inputs."""


def check_model_takes(model: Any, name: str, data: TrainingSet) -> None:
    """Raise an error if a model cannot be trained on the inputs of `data`."""
    takes = model.takes if hasattr(model, "takes") else ("images", "features") if is_network(model) else ()
    if data.kind != "labels" and takes and data.kind not in takes:
        found, fix = f"{data.kind} for the model {name}", f"use {INSTEAD[data.kind]}, or give {listing(list(takes))}"
        if getattr(model, "name", "") in HEADS:
            fix = f"give predictions to start from, or use {INSTEAD[data.kind]}"
            raise BadSetting(found, "predictions, which it needs", fix, "wrong-inputs")
        raise BadSetting(found, f"{listing(list(takes))}, which it needs", fix, "wrong-inputs")


def fit_models(experiment: Experiment, key: RunGroupKey) -> None:
    """Fit the models of a run group and write their runs.

    Labels that networks draw at every access (`sampled`, `deaggregated`) are drawn once per item and seed.
    """
    started_at, cpu_at = time.perf_counter(), time.process_time()
    items = experiment.items_of(key)
    train, test, held_out = items.train, items.test, items.validation
    chance = rng_of(key.seed, "chance").random(train.n_items)
    targets = [experiment.grid.targets[name] for name in key.targets]
    probs = np.stack([labels_once(each.labels(train, rng_of(key.seed, "labels")), chance) for each in targets])
    model: Any = experiment.grid.networks[key.network]
    x_train = rows_of(train)
    fitted = model.fit_many(x_train, np.asarray(probs, np.float64), train.weights, seed=key.seed)
    x_test = rows_of(test) if test.n_items else None
    predicted = [None if x_test is None else _predicted(each, x_test, test, key.network) for each in fitted]
    x_held = None if held_out is None else rows_of(held_out)
    validation = [
        {} if held_out is None else validation_scores(_predicted(each, x_held, held_out, key.network), held_out)
        for each in fitted
    ]
    seconds = {
        "wall": (time.perf_counter() - started_at) / len(key.runs),
        "cpu": (time.process_time() - cpu_at) / len(key.runs),
        "side_by_side": len(key.runs),
    }
    assert key.fold is not None, "only networks are pretrained"
    test_items = names_of(experiment.data, experiment.folds[key.fold].test)
    for run, each, table, scores in zip(key.runs, fitted, predicted, validation, strict=True):
        folder = experiment.folder / run.name
        if (folder / RUN).is_file():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if hasattr(each, "arrays"):
            write_weights(folder, each.arrays())
        _write_dynamics(folder, train, probs[0] if train.people is None else train.people, each.predict(x_train))
        finite = table is not None and bool(np.isfinite(table).all())
        if finite and table is not None:
            labels = SoftLabels.from_numpy(test_items, normalized(table), train.classes, 0, made_by=run.target)
            labels.write(folder / PREDICTIONS)
        steps = {"epoch": [1], "loss": [getattr(each, "loss", None)], "validation_loss": [None], "rate": [None]}
        write_table(pa.table(steps), folder / HISTORY)
        ending = {"ended": "finished" if finite or table is None else "diverged", "epochs": 1}
        metadata = {**experiment.run_metadata(run), "kind": train.kind, "seconds": seconds}
        write_metadata(folder, {**metadata, **scores, **ending, "environment": environment()})


def _predicted(model: FittedModel, x: Rows, test: TrainingSet, name: str) -> MeanLabels:
    """The predictions for the test items."""
    found, expected = np.asarray(model.predict(x)), (test.n_items, test.n_classes)
    if found.shape != expected:
        what = f"predictions of shape {found.shape} by {name}"
        rows = f"{test.n_items:,} rows, one per item, and {test.n_classes} columns, one per class"
        raise wrong_shape(what, rows, "correct the model")
    return found


def _write_dynamics(folder: Path, train: TrainingSet, reference: MeanLabels, predicted: MeanLabels) -> None:
    """The predictions for the training items, as those of the only epoch."""
    gold = reference.argmax(axis=1) if train.original is None else train.original
    columns = {
        "item": list(train.items),
        "epoch": np.ones(train.n_items, np.int32),
        "when": ["end"] * train.n_items,
        "gold": predicted[np.arange(train.n_items), gold],
        "agreement": (predicted * reference).sum(axis=1),
        "correct": predicted.argmax(axis=1) == gold,
    }
    write_table(pa.table(columns), folder / DYNAMICS)


def rows_of(data: TrainingSet | Inputs) -> Rows:
    """The inputs as rows for a model: features, texts, or the pixels from 0 to 1 of each image."""
    if data.texts is not None:
        return list(data.texts)
    if data.features is not None:
        return data.features
    images: Any = data.images
    return images.reshape(len(images), -1).astype(np.float32) / 255


@dataclass(frozen=True, eq=False)
class FittedPredictor:
    """A trained model with the kind of its inputs."""

    model: FittedModel
    kind: str
    classes: tuple[str, ...]

    def predict(self, inputs: Inputs) -> SoftLabels:
        """Predictions for inputs of the kind that the model was trained on."""
        if inputs.kind != self.kind:
            fix = f"give {self.kind}"
            raise BadTable(inputs.described(), f"{self.kind}, as in training", fix, "wrong-shape", inputs.path)
        probs = normalized(self.model.predict(rows_of(inputs)))
        return SoftLabels.from_numpy(inputs.items, probs, self.classes, 0, made_by="train")


def fitted_predictor(run: Run) -> FittedPredictor:
    """The trained model of a run."""
    settings = run.settings.get("network")
    name = settings.get("name") if isinstance(settings, dict) else settings
    if not isinstance(name, str) or name not in STORED:
        fix = f"train a model that is stored ({listing(list(STORED))})"
        raise BadFile(f"a run of {name}, whose model is not stored", "a stored model", fix, "no-weights", run.folder)
    kind = run.metadata.get("kind")
    if kind not in INSTEAD:
        raise bad_run(run.folder, "no kind of inputs")
    try:
        fitted = STORED[name].from_arrays(run.weights())
    except (KeyError, ValueError, IndexError, TypeError) as error:
        found, fix = f"weights of another model ({error})", "delete the run's folder and run the experiment again"
        raise BadFile(found, f"the weights of {name}", fix, "damaged", run.folder / MODEL) from error
    return FittedPredictor(fitted, kind, run.classes)
