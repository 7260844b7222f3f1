"""Finished runs that predict again: their networks, features, and predictions under a condition.

A condition (a corruption, an attack, another data set) has a folder with one folder per run, which holds
`predictions.parquet` and `run.json`: the metadata of the run, the `condition`, and its settings (`under`).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from sfumato.tables.errors import BadFile, BadSetting, BadTable, listing, show
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.json import read_document
from sfumato.tables.model_inputs import Images, Inputs
from sfumato.tables.row_numbers import check_same_rows
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.grid import path_name
from sfumato.training.models import is_network_settings
from sfumato.training.network_run import NetworkPredictor, check_image_shape, network_predictor
from sfumato.training.networks.network import Network
from sfumato.training.run_folder import (
    MODEL,
    PREDICTIONS,
    RUN,
    Predictor,
    Run,
    environment,
    normalized,
    write_metadata,
)
from sfumato.training.training_loop import EVALUATED_AT_ONCE


@dataclass(frozen=True, eq=False)
class TrainedRuns:
    """Runs in the order of their folder names; `notes` say which were left out, and why."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def in_folder(cls, place: str | Path) -> TrainedRuns:
        """The run in `place`, or all runs in its folders; those without a usable network are left out."""
        place = Path(place)
        if (place / RUN).is_file():
            run = Run.read(place)
            if why := _problem(run):
                raise _no_network(f"found {why}", place)
            return cls((run,))
        folders = sorted(path.parent for path in place.glob(f"*/{RUN}"))
        if not folders:
            found = "found no finished run" if place.is_dir() else "found no such folder"
            expected = "the folder of a run, or a folder of runs"
            raise BadFile(found, expected, "train networks first: sfumato train ... -o runs/", "no-such-run", place)
        runs = [Run.read(folder) for folder in folders]
        reasons = {run.folder.name: why for run in runs if (why := _problem(run))}
        if len(reasons) == len(runs):
            raise _no_network(f"found {next(iter(reasons.values()))} (in {listing(list(reasons), 3)})", place)
        notes = tuple(f"left out {name}: {why}" for name, why in reasons.items())
        return cls(tuple(run for run in runs if run.folder.name not in reasons), notes)


def _problem(run: Run) -> str:
    if "condition" in run.metadata:
        return "predictions under a condition, without a network"
    if run.metadata["ended"] == "diverged":
        return "a run that diverged"
    if not is_network_settings(run.settings.get("network")):
        return f"a run of {run.metadata['network']}, which is no network"
    if not (run.folder / MODEL).is_file():
        return f"no {MODEL}"
    return ""


def _no_network(found: str, place: Path) -> BadFile:
    fix = "give a folder written by sfumato train; train diverged runs again with a smaller --rate"
    return BadFile(found, "a finished run with its weights", fix, "no-weights", place)


def test_rows(run: Run, inputs: Inputs) -> Int[np.ndarray, "tested"]:
    """The rows of `inputs` that the run predicted."""
    if run.predictions is None:
        fix = "train with a --split that has test items, or give other inputs with --extra"
        raise BadFile("no predictions", "a run with test items", fix, "no-predictions", run.folder)
    check_same_rows(run.predictions, inputs)
    items = run.predictions.items.to_pylist()
    rows = inputs.rows_of(items)
    missing = [items[i] for i in np.flatnonzero(rows < 0)]
    if missing:
        more = f" ({len(missing):,} such items)" if len(missing) > 1 else ""
        found = f"no input for item {show(missing[0])}{more}, which {run.folder.name} predicted"
        fix = "give the inputs that the networks were trained on"
        raise BadTable(found, "an input for every test item", fix, "missing-input", inputs.path)
    return rows


def check_fits(run: Run, inputs: Inputs) -> None:
    """Raise an error if `inputs` are not images of the size that the run was trained on."""
    channels, height, width = run.metadata["shape"]
    check_image_shape(inputs, (channels, height, width), f"that {run.folder.name} was trained on")


def predictor_of(run: Run, networks: Mapping[str, Network]) -> NetworkPredictor:
    """The run's network; `networks` holds your own networks, by their names in the runs."""
    try:
        return network_predictor(run, networks.get(run.metadata["network"]))
    except RuntimeError as error:
        found = f"weights of another network ({' '.join(str(error).split())[:120]})"
        fix = "delete the run's folder and run the experiment again"
        raise BadFile(found, f"weights of {run.metadata['network']}", fix, "damaged", run.folder / MODEL) from error


@dataclass(frozen=True, eq=False)
class PixelModel:
    """A network as a function of pixels from 0 to 1; includes the standardization, so that a change of 4/255 is four
    gray levels for every network. A copy in evaluation mode, without gradients of the weights."""

    network: nn.Module
    mean: Float[Tensor, "channels 1 1"]
    std: Float[Tensor, "channels 1 1"]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, predictor: NetworkPredictor, device: torch.device | str = "cpu") -> PixelModel:
        network = copy.deepcopy(predictor.network).to(device).eval().requires_grad_(False)
        mean, std = (
            torch.tensor(values, dtype=torch.float32, device=device)[:, None, None]
            for values in (predictor.scale.mean, predictor.scale.std)
        )
        return cls(network, mean, std, predictor.classes)

    @property
    def device(self) -> torch.device:
        return self.mean.device

    def pixels(self, images: Images) -> Float[Tensor, "items ch h w"]:
        """Images as pixels from 0 to 1."""
        whole = torch.from_numpy(np.ascontiguousarray(images.reshape(*images.shape[:3], -1))).to(self.device)
        return whole.to(torch.float32).div_(255).permute(0, 3, 1, 2)

    def logits(self, x: Float[Tensor, "items ch h w"]) -> Float[Tensor, "items classes"]:
        logits: Tensor = self.network((x - self.mean) / self.std)
        return logits.float()

    def probs(self, images: Images) -> Float[np.ndarray, "items classes"]:
        """Predicted probabilities, computed for a few images at a time."""
        with torch.no_grad():
            parts = [
                self.logits(self.pixels(images[start : start + EVALUATED_AT_ONCE])).softmax(-1).cpu().numpy()
                for start in range(0, len(images), EVALUATED_AT_ONCE)
            ]
        return normalized(np.concatenate(parts))


CLEAN = "clean"
"""The condition of unchanged images."""
NOT_COMPARED = ("environment", "seconds")
"""Keys of `run.json` that may differ between two identical computations."""


@dataclass(frozen=True)
class Condition:
    """What was done to the images, with all settings."""

    name: str
    under: Mapping[str, Any] = field(default_factory=dict)

    def folder_of(self, run: Run) -> Path:
        """`gaussian-noise-3/soft.lenet.seed-0.fold-0`."""
        return Path(path_name(self.name), run.folder.resolve().name)


def is_written(output: Path, run: Run, condition: Condition) -> bool:
    """Whether the predictions exist; an error if they were made with other settings."""
    path = output / condition.folder_of(run) / RUN
    if not path.is_file():
        return False
    before, now = read_document(path), json.loads(json.dumps(_metadata(run, condition)))
    changed = [
        key for key in dict.fromkeys([*before, *now]) if key not in NOT_COMPARED and before.get(key) != now.get(key)
    ]
    if changed:
        under = [key for key in now["under"] if before.get("under", {}).get(key) != now["under"][key]]
        names = [key for key in changed if key != "under"] + (under if "under" in changed else [])
        found, fix = f"predictions made with another {listing(names, 5)}", "choose another folder with -o"
        raise BadSetting(found, "predictions with the same settings, or none", fix, "drift", path.parent)
    return True


def write(
    output: Path, run: Run, condition: Condition, items: tuple[str, ...], probs: Float[np.ndarray, "items classes"]
) -> None:
    """Write the predictions of a run under a condition; several processes may write at the same time."""
    folder = output / condition.folder_of(run)
    folder.mkdir(parents=True, exist_ok=True)
    SoftLabels.from_numpy(items, probs, run.classes, 0, made_by=run.folder.name).write(folder / PREDICTIONS)
    write_metadata(folder, {**_metadata(run, condition), "environment": environment()})


def _metadata(run: Run, condition: Condition) -> dict[str, Any]:
    return {**run.metadata, "condition": condition.name, "under": dict(condition.under)}


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of every item, as `sfumato represent` reads them."""

    items: tuple[str, ...]
    features: Float[np.ndarray, "items dims"]

    def write(self, path: str | Path) -> None:
        """Write an npz with `features` and `items`."""
        with atomic_write(Path(path)) as part, part.open("wb") as file:
            np.savez(file, features=self.features, items=np.array(self.items))


def features_of(predictor: Predictor, inputs: Inputs) -> FeatureTable:
    """The inputs of the last linear layer, one row per item: the penultimate activations of our networks, and of any
    other network whose last linear layer is its head."""
    if not isinstance(predictor, NetworkPredictor):
        found, fix = "a model without layers", "give the features themselves with --features"
        raise BadSetting(found, "a network whose last linear layer is its head", fix, "no-head")
    head = head_of(predictor.network)
    features: list[np.ndarray] = []

    def record(module: nn.Module, inputs: tuple[Any, ...]) -> None:  # noqa: ARG001
        features.append(inputs[0].detach().float().flatten(1).cpu().numpy())

    hook = head.register_forward_pre_hook(record)
    try:
        predictor.predict(inputs)
    finally:
        hook.remove()
    return FeatureTable(inputs.items, np.concatenate(features))


def head_of(network: nn.Module) -> nn.Linear:
    """The last linear layer, in the order of the layers' names."""
    layers = [module for module in network.modules() if isinstance(module, nn.Linear)]
    if not layers:
        found = f"a {type(network).__name__} without a linear layer"
        fix = "extract the features yourself and save them as an npz with features and items"
        raise BadSetting(found, "a network whose last linear layer is its head", fix, "no-head")
    return layers[-1]
