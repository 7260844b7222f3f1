"""The folder of a run: weights, predictions, history, dynamics and `run.json`, which is written last.

Also the pixel scale that standardizes images, and the predictor made of a finished run.
"""

from __future__ import annotations

import json
import math
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as safetensors_of
from torch import Tensor, nn

import sfumato
from sfumato.tables.base_table import columns_of
from sfumato.tables.columns import probs_array
from sfumato.tables.errors import BadFile, BadTable, damaged_file, listing
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.json import read_document
from sfumato.tables.files.table_file import classes_metadata, read_rows, write_table
from sfumato.tables.model_inputs import Images, Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_file import path_inside
from sfumato.training.group_optimizer import SeparateNetworks
from sfumato.training.networks import network_named
from sfumato.training.networks.network import Network
from sfumato.training.run_group import EpochRow, RunGroup, RunState
from sfumato.training.training_loop import EVALUATED_AT_ONCE

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PixelScale:
    """Mean and standard deviation of each channel, for pixels from 0 to 1."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, images: Images) -> PixelScale:
        """The scale of these images."""
        pixels = images.reshape(*images.shape[:3], -1)
        counts = [np.bincount(pixels[..., c].ravel(), minlength=256) for c in range(pixels.shape[-1])]
        values = np.arange(256) / 255
        means = [float(n @ values / n.sum()) for n in counts]
        stds = [float(np.sqrt(n @ (values - m) ** 2 / n.sum())) for n, m in zip(counts, means, strict=True)]
        # A constant channel has a standard deviation of 0; dividing by 1 keeps it finite.
        return cls(tuple(means), tuple(std or 1.0 for std in stds))

    def applied(
        self, images: Images, device: torch.device | str = "cpu"
    ) -> Float[Tensor, "items channels height width"]:
        """The standardized images: float32, channels_last."""
        pixels = torch.from_numpy(np.ascontiguousarray(images.reshape(*images.shape[:3], -1))).to(device)
        mean, std = (torch.tensor(values, dtype=torch.float32, device=device) for values in (self.mean, self.std))
        return pixels.to(torch.float32).div_(255).sub_(mean).div_(std).permute(0, 3, 1, 2)


RUN, PREDICTIONS, DYNAMICS, HISTORY, MODEL = (
    "run.json", "predictions.parquet", "dynamics.parquet", "history.csv", "model.safetensors",
)  # fmt: skip
BY_EPOCH = "predictions-by-epoch.parquet"
FIELDS = {"target": str, "network": str, "seed": int, "settings": dict, "classes": list, "ended": str}
"""What every `run.json` has, and its types."""
MAX_HEADER_BYTES = 2**20
"""Of a file of weights: enough for ten thousand tensors."""
MAX_SIDE = 16_384
"""The largest side of an image, width or depth of a network in a `run.json`."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run. `metadata` is the content of `run.json`; tables are read when first used."""

    folder: Path
    metadata: Mapping[str, Any]

    def __repr__(self) -> str:
        what = ", ".join(f"{name} {self.metadata.get(name)}" for name in ("target", "network", "seed"))
        return f"<Run: {what}; in {self.folder}>"

    @classmethod
    def read(cls, folder: str | Path) -> Run:
        """The run in `folder`; an error if it is not finished."""
        folder = Path(folder)
        if not (folder / RUN).is_file():
            fix = "run the experiment again: it trains missing runs"
            raise BadFile("no run.json", "the folder of a finished run", fix, "no-such-run", folder)
        if path_inside(folder / RUN, (folder,)) is None:
            raise _bad_run(folder, "a link to a file outside the run's folder")
        metadata = read_document(folder / RUN)
        if not isinstance(metadata, dict):
            raise _bad_run(folder, "no object with named values")
        wrong = [key for key, kind in FIELDS.items() if not isinstance(metadata.get(key), kind)]
        if not wrong and not all(isinstance(name, str) for name in metadata["classes"]):
            wrong = ["classes"]
        if wrong:
            raise _bad_run(folder, f"no {', '.join(wrong)}")
        return cls(folder, metadata)

    @property
    def settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.metadata["settings"]
        return settings

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.metadata["classes"])

    @cached_property
    def predictions(self) -> SoftLabels | None:
        """Predictions for the test items; None if the weights were not finite."""
        path = self.folder / PREDICTIONS
        return SoftLabels.read(path) if path.is_file() else None

    @cached_property
    def history(self) -> pl.DataFrame:
        """Loss, validation loss and rate after each epoch."""
        import polars as pl

        path = self.folder / HISTORY
        read_rows(path)  # an error of ours for what is no table
        try:
            return pl.read_csv(path)
        except pl.exceptions.PolarsError as error:
            raise damaged_file("history", error, path) from error

    @cached_property
    def dynamics(self) -> pl.DataFrame | None:
        """Predictions for each training item by epoch."""
        import polars as pl

        path = self.folder / DYNAMICS
        if not path.is_file():
            return None
        read = pl.from_arrow(pa.concat_tables(list(read_rows(path).chunks)))
        assert isinstance(read, pl.DataFrame)
        return read

    def weights(self) -> dict[str, Tensor]:
        path = path_inside(self.folder / MODEL, (self.folder,))
        if path is None:
            raise _bad_run(self.folder, "weights that are a link to a file outside the run's folder")
        try:
            with path.open("rb") as file:
                n_header = int.from_bytes(file.read(8), "little")
            if n_header > MAX_HEADER_BYTES:
                raise OSError(f"a header of {n_header:,} bytes, at most {MAX_HEADER_BYTES:,} are read")
            weights: dict[str, Tensor] = load_file(path)
        except (SafetensorError, OSError) as error:
            found = f"weights that cannot be read ({str(error)[:120]})"
            fix = "delete the run's folder and run the experiment again"
            raise BadFile(found, "a complete model.safetensors", fix, "damaged", path) from error
        return weights

    def predictor(self, network: Network | None = None) -> Predictor:
        """The trained network, to predict other inputs; pass `network` if it is your own class."""
        scale, shape = self._scale(), self._shape()
        network, weights = network or self._network(), self.weights()
        # Without memory first: what a run.json claims may be far larger than its weights.
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            expected = network.build(shape, len(self.classes)).state_dict()
        differ = [name for name in {*expected, *weights} if not _is_same(expected.get(name), weights.get(name))]
        if differ:
            found = f"weights of another network ({listing(sorted(differ), 4)})"
            fix = "delete the run's folder and run the experiment again"
            raise BadFile(found, "the weights of the network in run.json", fix, "damaged", self.folder / MODEL)
        with torch.random.fork_rng(devices=[]):
            built = network.build(shape, len(self.classes))
        built.load_state_dict(weights)
        return Predictor(built.eval(), scale, shape, self.classes)

    def _scale(self) -> PixelScale:
        said = self.metadata.get("scale")
        parts: list[Any] = [said.get(key) for key in ("mean", "std")] if isinstance(said, dict) else []
        if len(parts) != 2 or not all(isinstance(part, list) and all(map(_is_finite, part)) for part in parts):
            raise _bad_run(self.folder, "no scale")
        if not len(parts[0]) == len(parts[1]) == self._shape()[0]:
            raise _bad_run(self.folder, "a scale for another number of channels")
        return PixelScale(tuple(parts[0]), tuple(parts[1]))

    def _shape(self) -> tuple[int, int, int]:
        shape = self.metadata.get("shape")
        sides = shape if isinstance(shape, list) else []
        if len(sides) != 3 or not all(type(side) is int and 1 <= side <= MAX_SIDE for side in sides):
            raise _bad_run(self.folder, "no shape of images")
        return (sides[0], sides[1], sides[2])

    def _network(self) -> Network:
        metadata = self.settings.get("network")
        settings = dict(metadata) if isinstance(metadata, dict) else {"name": str(metadata)}
        name = settings.pop("name", "")
        numbers = [part for value in settings.values() for part in (value if isinstance(value, list) else [value])]
        if not isinstance(name, str) or any(isinstance(each, int) and abs(each) > MAX_SIDE for each in numbers):
            raise _bad_run(self.folder, "a network that sfumato train would not make")
        settings = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
        return network_named(name, settings)


def _bad_run(folder: Path, found: str) -> BadFile:
    expected, fix = "a run.json as sfumato train writes it", "delete the folder and run the experiment again"
    return BadFile(found, expected, fix, "bad-run", folder / RUN)


def _is_same(one: Tensor | None, other: Tensor | None) -> bool:
    return one is not None and other is not None and (one.shape, one.dtype) == (other.shape, other.dtype)


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


@dataclass(frozen=True, eq=False)
class Predictor:
    """A network with the scale of its images."""

    network: nn.Module
    scale: PixelScale
    shape: tuple[int, int, int]
    classes: tuple[str, ...]

    def predict(self, inputs: Inputs) -> SoftLabels:
        """Predictions for images of the size that the network was trained on."""
        images = check_image_shape(inputs, self.shape, "the network was trained on", "wrong-shape")
        network = SeparateNetworks([self.network]).eval()
        with torch.no_grad():
            probs = [
                network(self.scale.applied(images[start : start + EVALUATED_AT_ONCE]))[0].float().softmax(-1).numpy()
                for start in range(0, len(images), EVALUATED_AT_ONCE)
            ]
        return SoftLabels.from_numpy(inputs.items, normalized(np.concatenate(probs)), self.classes, 0, made_by="train")


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


def normalized(probs: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items classes"]:
    """float32 probabilities as float64 whose rows sum to 1 exactly."""
    exact = probs.astype(np.float64)
    return np.asarray(exact / exact.sum(axis=1, keepdims=True))


# --- writing ---


def write_run(
    folder: Path, run: RunState, group: RunGroup, test_items: tuple[str, ...], metadata: Mapping[str, Any]
) -> None:
    """Write a run; `metadata` is the content of `run.json` except how training ended."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RUN).unlink(missing_ok=True)
    state = run.best if run.best is not None else group.new_network().state_dict()
    with atomic_write(folder / MODEL) as part:
        part.write_bytes(safetensors_of({name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}))
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
    write_metadata(folder, {**metadata, **ending})


def write_metadata(folder: Path, metadata: Mapping[str, Any]) -> None:
    """Write `run.json`, which marks the run as complete."""
    with atomic_write(folder / RUN) as part:
        part.write_text(json.dumps(metadata, indent=1, ensure_ascii=False, allow_nan=False), "utf-8")


def environment() -> dict[str, Any]:
    """Versions and hardware, stored in `run.json`."""
    return {
        "sfumato": sfumato.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "threads": torch.get_num_threads(),
        "platform": platform.platform(),
        "processor": torch.backends.cpu.get_cpu_capability(),
        "byteorder": sys.byteorder,
    }


def _write_dynamics(path: Path, run: RunState, group: RunGroup) -> None:
    """One row per item, epoch and moment; no file if nothing was recorded."""
    if not run.dynamics:
        return
    train, _ = group.split()
    items = pa.array([group.training_set.items[i] for i in train.tolist()], pa.string())
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
