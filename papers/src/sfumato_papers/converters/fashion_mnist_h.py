"""Fashion-MNIST-H: votes per picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sfumato.importers.fashion_mnist_h import FASHION_MNIST
from sfumato.tables.files import read_arrays
from sfumato_papers.converters.released_files import write_arrays


def convert(files: Mapping[str, Path], place: Path, folder: Path) -> None:
    """The classes of the pictures come from Fashion-MNIST."""
    counts = np.loadtxt(files["fmh_counts.csv"], delimiter=",", dtype=np.uint8, ndmin=2)
    labels = read_arrays(place / "fashion-mnist" / "test.npz")["labels"]
    write_arrays(folder / "counts.npz", counts=counts, labels=labels, class_names=np.array(FASHION_MNIST))
