"""Predictions of three published networks for the test pictures of CIFAR-10."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sfumato_papers.converters.released_files import write_arrays

NETWORKS = ("resnet-110", "preresnet-110", "densenet-bc-L190-k40")
N_CLASSES = 10


def convert(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """A row has the class, ten counts of CIFAR-10H, and ten probabilities; the counts are left to CIFAR-10H."""
    tables = {name: np.loadtxt(files[f"{name}.csv"], delimiter=",", ndmin=2) for name in NETWORKS}
    probs = {name.replace("-", "_"): table[:, 1 + N_CLASSES :].astype(np.float32) for name, table in tables.items()}
    write_arrays(folder / "probs.npz", labels=tables[NETWORKS[0]][:, 0].astype(np.uint8), **probs)
