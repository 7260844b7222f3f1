"""The folder of a run: `run.json`, predictions, history, dynamics and the trained model. Does not import torch.

`run.json` is written last: a folder with this file is complete.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Shaped
from safetensors import SafetensorError
from safetensors.numpy import load_file
from safetensors.numpy import save as safetensors_of

import sfumato
from sfumato.tables.errors import BadFile, damaged_file
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.json import read_document
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_file import path_inside

if TYPE_CHECKING:
    import polars as pl

Arrays = dict[str, Shaped[np.ndarray, "..."]]
"""The numbers of a trained model, by name."""


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
            raise bad_run(folder, "a link to a file outside the run's folder")
        metadata = read_document(folder / RUN)
        if not isinstance(metadata, dict):
            raise bad_run(folder, "no object with named values")
        wrong = [key for key, kind in FIELDS.items() if not isinstance(metadata.get(key), kind)]
        if not wrong and not all(isinstance(name, str) for name in metadata["classes"]):
            wrong = ["classes"]
        if wrong:
            raise bad_run(folder, f"no {', '.join(wrong)}")
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

    def weights(self) -> Arrays:
        """The numbers of the trained model."""
        path = path_inside(self.folder / MODEL, (self.folder,))
        if path is None:
            raise bad_run(self.folder, "weights that are a link to a file outside the run's folder")
        return read_weights(path, "delete the run's folder and run the experiment again")

    def predictor(self, network: Any = None) -> Predictor:
        """The trained model, to predict other inputs; pass `network` if it is your own class."""
        from sfumato.training.models import is_network_settings

        if network is not None or is_network_settings(self.settings.get("network")):
            from sfumato.training.network_run import network_predictor

            return network_predictor(self, network)
        from sfumato.training.fitted_run import fitted_predictor

        return fitted_predictor(self)


class Predictor(Protocol):
    """A trained model that predicts inputs of the kind it was trained on."""

    @property
    def classes(self) -> tuple[str, ...]: ...

    def predict(self, inputs: Inputs) -> SoftLabels: ...


def read_weights(path: Path, fix: str = "save the weights in the format safetensors") -> Arrays:
    """The arrays in a file of weights, by name."""
    try:
        with path.open("rb") as file:
            n_header = int.from_bytes(file.read(8), "little")
        if n_header > MAX_HEADER_BYTES:
            raise OSError(f"a header of {n_header:,} bytes, at most {MAX_HEADER_BYTES:,} are read")
        weights: Arrays = load_file(path)
    except (SafetensorError, OSError) as error:
        found = f"weights that cannot be read ({str(error)[:120]})"
        raise BadFile(found, "a complete model.safetensors", fix, "damaged", path) from error
    return weights


def bad_run(folder: Path, found: str) -> BadFile:
    """The error for a run that `sfumato train` did not write like this."""
    expected, fix = "a run.json as sfumato train writes it", "delete the folder and run the experiment again"
    return BadFile(found, expected, fix, "bad-run", folder / RUN)


# --- writing ---


def normalized(probs: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items classes"]:
    """float32 probabilities as float64 whose rows sum to 1 exactly."""
    exact = probs.astype(np.float64)
    return np.asarray(exact / exact.sum(axis=1, keepdims=True))


def write_weights(folder: Path, weights: Mapping[str, np.ndarray]) -> None:
    """Write the numbers of a trained model."""
    with atomic_write(folder / MODEL) as part:
        part.write_bytes(safetensors_of({name: np.asarray(each, order="C") for name, each in weights.items()}))


def write_metadata(folder: Path, metadata: Mapping[str, Any]) -> None:
    """Write `run.json`, which marks the run as complete."""
    with atomic_write(folder / RUN) as part:
        part.write_text(json.dumps(metadata, indent=1, ensure_ascii=False, allow_nan=False), "utf-8")


def environment() -> dict[str, Any]:
    """Versions and hardware, stored in `run.json`."""
    versions: dict[str, Any] = {
        "sfumato": sfumato.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "byteorder": sys.byteorder,
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        versions |= {
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "processor": torch.backends.cpu.get_cpu_capability(),
        }
    return versions
