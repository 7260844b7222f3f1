"""Runs of networks: the trained network as a predictor, and how such a run is written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from torch import Tensor, nn

from sfumato.tables.base_table import columns_of
from sfumato.tables.columns import probs_array
from sfumato.tables.errors import BadFile, BadTable, listing
from sfumato.tables.files.table_file import classes_metadata, write_table
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.group_optimizer import SeparateNetworks
from sfumato.training.network_inputs import DenseScale, InputScale, PixelScale, TokenScale
from sfumato.training.networks import network_named
from sfumato.training.networks.imported_network import ImportedNetwork
from sfumato.training.networks.network import Network, Shape
from sfumato.training.run_folder import (
    BY_EPOCH,
    DYNAMICS,
    HISTORY,
    MAX_SIDE,
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
from sfumato.training.run_group import EpochRow, RunGroup, RunState
from sfumato.training.training_loop import EVALUATED_AT_ONCE
from sfumato.training.validation_scores import validation_scores

LARGEST = (2**20, MAX_SIDE, MAX_SIDE)
"""The largest number of channels (or features), and the largest sides of an image, in a `run.json`."""


@dataclass(frozen=True, eq=False)
class NetworkPredictor:
    """A network with the scale of its inputs."""

    network: nn.Module
    scale: InputScale
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    kind: str = "images"

    def predict(self, inputs: Inputs) -> SoftLabels:
        """Predictions for inputs of the kind and size that the network was trained on."""
        self._check(inputs)
        network = SeparateNetworks([self.network]).eval()
        with torch.no_grad():
            parts = [
                inputs.take(np.arange(start, min(start + EVALUATED_AT_ONCE, len(inputs))))
                for start in range(0, len(inputs), EVALUATED_AT_ONCE)
            ]
            probs = [network(self.scale.applied(part))[0].float().softmax(-1).numpy() for part in parts]
        return SoftLabels.from_numpy(inputs.items, normalized(np.concatenate(probs)), self.classes, 0, made_by="train")

    def _check(self, inputs: Inputs) -> None:
        if self.kind == "images":
            check_image_shape(inputs, self.shape, "the network was trained on", "wrong-shape")
            return
        features = inputs.features
        fits = inputs.kind == self.kind and (features is None or features.shape[1] == self.shape[0])
        if not fits:
            dims = f" of {self.shape[0]:,} dimensions" if self.kind == "features" else ""
            expected, fix = f"{self.kind}{dims}, as in training", f"give {self.kind} as in training"
            raise BadTable(inputs.described(), expected, fix, "wrong-shape", inputs.path)


def shape_of(images: np.ndarray) -> tuple[int, int, int]:
    """Channels, height and width."""
    return (images.shape[3] if images.ndim == 4 else 1, images.shape[1], images.shape[2])


def check_image_shape(
    inputs: Inputs, shape: tuple[int, int, int], whose: str, texts_code: str = "no-images"
) -> np.ndarray:
    """The images of `inputs`, or an error if they do not have this shape; `whose` completes "images of the size"."""
    if inputs.images is None:
        fix = "give a folder of images, or an npz with images"
        raise BadTable(inputs.described(), f"images of {_size(shape)}", fix, texts_code, inputs.path)
    found = shape_of(inputs.images)
    if found != shape:
        fix = f"give images of the size {whose}"
        raise BadTable(f"images of {_size(found)}", f"images of {_size(shape)}", fix, "wrong-shape", inputs.path)
    return inputs.images


def _size(shape: tuple[int, int, int]) -> str:
    return f"{shape[1]} x {shape[2]} pixels in {shape[0]} channel{'s' * (shape[0] != 1)}"


# --- reading ---


def network_predictor(run: Run, network: Network | None = None) -> NetworkPredictor:
    """The trained network of a run; pass `network` if it is your own class."""
    shape, kind = _shape(run), run.metadata.get("kind", "images")
    network = network or _network(run)
    scale = _scale(run, network, kind)
    weights = {name: torch.from_numpy(array) for name, array in run.weights().items()}
    # Without memory first: what a run.json claims may be far larger than its weights.
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        expected = network.build(shape, len(run.classes)).state_dict()
    differ = [name for name in {*expected, *weights} if not _is_same(expected.get(name), weights.get(name))]
    if differ:
        found = f"weights of another network ({listing(sorted(differ), 4)})"
        fix = "delete the run's folder and run the experiment again"
        raise BadFile(found, "the weights of the network in run.json", fix, "damaged", run.folder / MODEL)
    with torch.random.fork_rng(devices=[]):
        built = network.build(shape, len(run.classes))
    built.load_state_dict(weights)
    return NetworkPredictor(built.eval(), scale, shape, run.classes, kind)


def _scale(run: Run, network: Network, kind: str) -> InputScale:
    if hasattr(network, "tokens"):
        return TokenScale(network)
    said = run.metadata.get("scale")
    parts: list[Any] = [said.get(key) for key in ("mean", "std")] if isinstance(said, dict) else []
    if len(parts) != 2 or not all(isinstance(part, list) and all(map(_is_finite, part)) for part in parts):
        raise bad_run(run.folder, "no scale")
    if not len(parts[0]) == len(parts[1]) == _shape(run)[0]:
        raise bad_run(run.folder, "a scale for another number of channels")
    kinds: dict[str, Any] = {"images": PixelScale, "features": DenseScale}
    if kind not in kinds:
        raise bad_run(run.folder, "no kind of inputs")
    made: InputScale = kinds[kind](tuple(parts[0]), tuple(parts[1]))
    return made


def _shape(run: Run) -> Shape:
    shape = run.metadata.get("shape")
    sides = shape if isinstance(shape, list) else []
    if len(sides) != 3 or not all(
        type(side) is int and 1 <= side <= most for side, most in zip(sides, LARGEST, strict=True)
    ):
        raise bad_run(run.folder, "no shape of images")
    return (sides[0], sides[1], sides[2])


def _network(run: Run) -> Network:
    metadata = run.settings.get("network")
    settings = dict(metadata) if isinstance(metadata, dict) else {"name": str(metadata)}
    name = settings.pop("name", "")
    numbers = [part for value in settings.values() for part in (value if isinstance(value, list) else [value])]
    if not isinstance(name, str) or any(isinstance(each, int) and abs(each) > MAX_SIDE for each in numbers):
        raise bad_run(run.folder, "a network that sfumato train would not make")
    if name == ImportedNetwork.name:
        # Never imported because a file says so: the file may come from others.
        found, fix = f"a run of your own network, {settings.get('source')}", "pass it: run.predictor(network)"
        raise BadFile(found, "the network that was trained", fix, "own-network", run.folder / RUN)
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
    return network_named(name, settings)


def _is_same(one: Tensor | None, other: Tensor | None) -> bool:
    return one is not None and other is not None and (one.shape, one.dtype) == (other.shape, other.dtype)


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


# --- writing ---


def write_run(
    folder: Path, run: RunState, group: RunGroup, test_items: tuple[str, ...], metadata: Mapping[str, Any]
) -> None:
    """Write a run; `metadata` is the content of `run.json` except how training ended."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RUN).unlink(missing_ok=True)
    state = run.best if run.best is not None else group.new_network().state_dict()
    write_weights(folder, {name: tensor.detach().cpu().numpy() for name, tensor in state.items()})
    rows = [replace(row, rate=row.rate * group.recipe.optimiser.rate) for row in run.rows]
    write_table(columns_of(rows, EpochRow), folder / HISTORY)
    _write_dynamics(folder / DYNAMICS, run, group)
    predictions = [probs for probs in run.predictions if np.isfinite(probs).all()]
    if predictions and test_items:
        classes = group.training_set.classes
        last = normalized(predictions[-1])
        SoftLabels.from_numpy(test_items, last, classes, 0, made_by=run.name).write(folder / PREDICTIONS)
        if group.recipe.predictions_each_epoch:
            _write_by_epoch(folder / BY_EPOCH, predictions, test_items, classes)
    ending = {"ended": run.ended, "epochs": len(run.rows), "environment": environment()}
    write_metadata(folder, {**metadata, **_validation_scores(group, state), **ending})


def _validation_scores(group: RunGroup, state: Mapping[str, Tensor]) -> dict[str, Any]:
    """Scores of the weights that a run keeps, on its validation items."""
    if group.validation is None:
        return {}
    network = group.new_network()
    network.load_state_dict(state)
    networks, images = SeparateNetworks([network]).eval(), group.validation.images
    with torch.no_grad():
        parts = [
            networks(images[start : start + EVALUATED_AT_ONCE].to(group.device))[0].float().softmax(-1).cpu().numpy()
            for start in range(0, len(images), EVALUATED_AT_ONCE)
        ]
    return validation_scores(np.concatenate(parts), group.validation.training_set)


def _write_dynamics(path: Path, run: RunState, group: RunGroup) -> None:
    """One row per item, epoch and moment; no file if nothing was recorded."""
    if not run.dynamics:
        return
    items = pa.array(list(group.training_set.items), pa.string())
    chunks = [
        pa.table(
            {
                "item": items,
                "epoch": pa.array(np.full(len(items), epoch, np.int32)),
                "when": pa.array([when] * len(items), pa.string()),
                "gold": pa.array(moment.gold),
                "agreement": pa.array(moment.agreement),
                "correct": pa.array(moment.correct),
            }
        )
        for (when, epoch), moment in run.dynamics.items()
    ]
    # Written in one piece, so that the file has few row groups.
    write_table(pa.concat_tables(chunks), path)


def _write_by_epoch(
    path: Path,
    predictions: list[Float[np.ndarray, "test_items classes"]],
    test_items: tuple[str, ...],
    classes: tuple[str, ...],
) -> None:
    n = len(test_items)
    table = pa.table(
        {
            "item": pa.array(list(test_items) * len(predictions), pa.string()),
            "epoch": pa.array(np.repeat(np.arange(1, len(predictions) + 1, dtype=np.int32), n)),
            "probs": probs_array(normalized(np.concatenate(predictions))),
        }
    ).replace_schema_metadata(classes_metadata(classes))
    write_table(table, path)
