"""Ready runs: finished runs whose networks can be asked again, about pictures that were changed or are new.

PixelModel: a network as a function of pixels from 0 to 1.

Standardising is part of it, so that a change of 4/255 is four grey levels whatever scale the network learnt with.

Conditions: what a run predicts of pictures that were changed: a folder a condition, and in it one a run.

Each holds `predictions.parquet` and `run.json`: all that the run says of itself, the `condition`, and what decided it
(`under`). It is whole once `run.json` stands in it, and never written twice.

Features: what a network makes of each input just before its last layer.
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
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn

from sfumato.tables.errors import BadFile, BadSetting, BadTable, ErrorLocation, listing, show
from sfumato.tables.files import read_document
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.networks import Network
from sfumato.training.run_folder import MODEL, PREDICTIONS, RUN, Predictor, Run, environment, normalised, shape_of
from sfumato.training.training_loop import EVALUATED_AT_ONCE


@dataclass(frozen=True, eq=False)
class TrainedRuns:
    """Runs, in the order of their folders' names; `notes` say which were left out, and why."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def in_folder(cls, place: str | Path) -> TrainedRuns:
        """The run in `place`, or the runs in the folders there; those that cannot be asked are left out, if any can."""
        place = Path(place)
        if (place / RUN).is_file():
            run = Run.read(place)
            if why := _why_not(run):
                raise _unready(f"found {why}", place)
            return cls((run,))
        folders = sorted(path.parent for path in place.glob(f"*/{RUN}"))
        if not folders:
            raise BadFile(
                "found no finished run" if place.is_dir() else "found no such folder",
                expected="the folder of a run, or one that holds such folders",
                fix="train networks first: sfumato train ... -o runs/",
                code="no-such-run",
                where=ErrorLocation(str(place)),
            )
        runs = [Run.read(folder) for folder in folders]
        reasons = {run.folder.name: why for run in runs if (why := _why_not(run))}
        if len(reasons) == len(runs):
            raise _unready(f"found {next(iter(reasons.values()))} (in {listing(list(reasons), 3)})", place)
        notes = tuple(f"left out {name}: {why}" for name, why in reasons.items())
        return cls(tuple(run for run in runs if run.folder.name not in reasons), notes)


def _why_not(run: Run) -> str:
    if "condition" in run.said:
        return "predictions under a condition, without a network"
    if run.said["ended"] == "diverged":
        return "a run that diverged"
    if not (run.folder / MODEL).is_file():
        return f"no {MODEL}"
    return ""


def _unready(found: str, place: Path) -> BadFile:
    return BadFile(
        found,
        expected="a run that came to its end, with its weights",
        fix="give a folder that sfumato train wrote; train what diverged again, with a smaller --rate",
        code="no-weights",
        where=ErrorLocation(str(place)),
    )


def tested_rows(run: Run, inputs: Inputs) -> Int[np.ndarray, "tested"]:
    """Where the items that the run predicted stand among `inputs`."""
    if run.predictions is None:
        raise BadFile(
            "found no predictions",
            expected="a run with test items: those alone are looked at again",
            fix="train with a --split that has test items, or give other inputs with --extra",
            code="no-predictions",
            where=ErrorLocation(str(run.folder)),
        )
    items = run.predictions.items.to_pylist()
    rows = inputs.rows_of(items)
    missing = [items[i] for i in np.flatnonzero(rows < 0)]
    if missing:
        more = f" ({len(missing):,} such items)" if len(missing) > 1 else ""
        raise BadTable(
            f"found no input for item {show(missing[0])}{more}, which {run.folder.name} predicted",
            expected="an input for every test item",
            fix="give the inputs that the networks learnt from",
            code="missing-input",
            where=ErrorLocation(str(inputs.path) if inputs.path else None),
        )
    return rows


def check_fits(run: Run, inputs: Inputs) -> None:
    """An error unless `inputs` are pictures of the size the run learnt from."""
    where = ErrorLocation(str(inputs.path) if inputs.path else None)
    if inputs.images is None:
        raise BadTable(
            "found texts",
            expected="images: the networks here see nothing else",
            fix="give an npz with images",
            code="no-images",
            where=where,
        )
    channels, height, width = run.said["shape"]
    found = shape_of(inputs.images)
    if found != (channels, height, width):
        raise BadTable(
            f"found images of {found[1]} x {found[2]} pixels in {found[0]} channel{'s' * (found[0] != 1)}",
            expected=f"{height} x {width} pixels in {channels}, as {run.folder.name} learnt from",
            fix="give images of that size",
            code="wrong-shape",
            where=where,
        )


def predictor_of(run: Run, networks: Mapping[str, Network]) -> Predictor:
    """The run's network; `networks` holds those of your own, which no name leads to, by the names they run under."""
    try:
        return run.predictor(networks.get(run.said["network"]))
    except RuntimeError as error:
        raise BadFile(
            f"found weights of another network ({' '.join(str(error).split())[:120]})",
            expected=f"those of {run.said['network']}",
            fix="take the run's folder away and run the grid again",
            code="damaged",
            where=ErrorLocation(str(run.folder / MODEL)),
        ) from error


@dataclass(frozen=True, eq=False)
class PixelModel:
    """A copy of a predictor's network, in evaluation mode, its weights without gradients; leaves the original alone."""

    network: nn.Module
    mean: Float[Tensor, "channels 1 1"]
    std: Float[Tensor, "channels 1 1"]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, predictor: Predictor, device: torch.device | str = "cpu") -> PixelModel:
        network = copy.deepcopy(predictor.network).to(device).eval().requires_grad_(False)
        mean, std = (
            torch.tensor(values, dtype=torch.float32, device=device)[:, None, None]
            for values in (predictor.scale.mean, predictor.scale.std)
        )
        return cls(network, mean, std, predictor.classes)

    @property
    def device(self) -> torch.device:
        return self.mean.device

    def pixels(self, images: UInt8[np.ndarray, "items height width *channels"]) -> Float[Tensor, "items ch h w"]:
        """Pictures as the network's pixels, from 0 to 1."""
        whole = torch.from_numpy(np.ascontiguousarray(images.reshape(*images.shape[:3], -1))).to(self.device)
        return whole.to(torch.float32).div_(255).permute(0, 3, 1, 2)

    def logits(self, x: Float[Tensor, "items ch h w"]) -> Float[Tensor, "items classes"]:
        logits: Tensor = self.network((x - self.mean) / self.std)
        return logits.float()

    def probs(self, images: UInt8[np.ndarray, "items height width *channels"]) -> Float[np.ndarray, "items classes"]:
        """What it predicts, a few pictures at a time."""
        with torch.no_grad():
            few = [
                self.logits(self.pixels(images[start : start + EVALUATED_AT_ONCE])).softmax(-1).cpu().numpy()
                for start in range(0, len(images), EVALUATED_AT_ONCE)
            ]
        return normalised(np.concatenate(few))


CLEAN = "clean"
"""The condition of pictures as they are."""
NOT_COMPARED = ("environment", "seconds")
"""What `run.json` says that may differ between two times the same is done."""


@dataclass(frozen=True)
class Condition:
    """What was done to the pictures, and everything that decides how it came out."""

    name: str
    under: Mapping[str, Any] = field(default_factory=dict)

    def folder_of(self, run: Run) -> Path:
        """`gaussian-noise-3/soft.lenet.seed-0.fold-0`."""
        return Path(in_a_path(self.name), run.folder.resolve().name)


def in_a_path(name: str) -> str:
    """A condition's name as part of a folder's: letters, digits, dots and dashes."""
    return "".join(c if c.isalnum() or c in ".-_" else "-" for c in name)


def is_written(output: Path, run: Run, condition: Condition) -> bool:
    """Whether it is there already; an error where what is there was made otherwise."""
    path = output / condition.folder_of(run) / RUN
    if not path.is_file():
        return False
    was, asked = read_document(path), _said(run, condition)
    asked = json.loads(json.dumps(asked))
    differing = [
        key for key in dict.fromkeys([*was, *asked]) if key not in NOT_COMPARED and was.get(key) != asked.get(key)
    ]
    if differing:
        under = [key for key in asked["under"] if was.get("under", {}).get(key) != asked["under"][key]]
        names = [key for key in differing if key != "under"] + (under if "under" in differing else [])
        raise BadSetting(
            f"found predictions made otherwise: with another {listing(names, 5)}",
            expected="what is asked for, or nothing yet",
            fix="choose another folder with -o",
            code="drift",
            where=ErrorLocation(str(path.parent)),
        )
    return True


def write(
    output: Path, run: Run, condition: Condition, items: tuple[str, ...], probs: Float[np.ndarray, "items classes"]
) -> None:
    """Write what the run predicts under a condition; several processes may do so at once."""
    folder = output / condition.folder_of(run)
    folder.mkdir(parents=True, exist_ok=True)
    SoftLabels.from_numpy(items, probs, run.classes, 0).write(folder / PREDICTIONS)
    said = {**_said(run, condition), "environment": environment()}
    with atomic_write(folder / RUN) as part:
        part.write_text(json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False), "utf-8")


def _said(run: Run, condition: Condition) -> dict[str, Any]:
    return {**run.said, "condition": condition.name, "under": dict(condition.under)}


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
    """What goes into the last linear layer, an item a row: the penultimate activations of any of our networks, and of
    any other whose last linear layer is its head."""
    head = head_of(predictor.network)
    seen: list[np.ndarray] = []

    def note(module: nn.Module, given: tuple[Any, ...]) -> None:  # noqa: ARG001
        seen.append(given[0].detach().float().flatten(1).cpu().numpy())

    hook = head.register_forward_pre_hook(note)
    try:
        predictor.predict(inputs)
    finally:
        hook.remove()
    return FeatureTable(inputs.items, np.concatenate(seen))


def head_of(network: nn.Module) -> nn.Linear:
    """The last linear layer, in the order layers were named."""
    layers = [module for module in network.modules() if isinstance(module, nn.Linear)]
    if not layers:
        raise BadSetting(
            f"found a {type(network).__name__} without a linear layer",
            expected="a network whose last linear layer is its head",
            fix="take the features out yourself, and save them as an npz with features and items",
            code="no-head",
        )
    return layers[-1]
