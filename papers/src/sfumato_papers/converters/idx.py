"""Fashion-MNIST and MNIST from their IDX files (LeCun, Cortes and Burges 1998): two zero bytes, the type, the number of
axes, their lengths, the values."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sfumato.importers.fashion_mnist_h import FASHION_MNIST
from sfumato_papers.converters.released_files import write_arrays

N_FIRST = 10_000
BYTES = b"\0\0\x08"
"""How a file of unsigned bytes begins."""


def read_idx(path: Path) -> np.ndarray:
    """The array of unsigned bytes in a `.gz`."""
    data = gzip.decompress(path.read_bytes())
    assert data[:3] == BYTES, f"{path.name} holds no unsigned bytes"
    n_axes = data[3]
    shape = np.frombuffer(data, ">i4", n_axes, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * n_axes).reshape(shape).copy()


def convert_fashion(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """All test pictures, and the first 10,000 to learn from."""
    names = np.array(FASHION_MNIST)
    write_arrays(folder / "test.npz", **_part(files, "t10k"), class_names=names)
    first = {name: array[:N_FIRST] for name, array in _part(files, "train").items()}
    write_arrays(folder / "train-first10000.npz", **first, class_names=names)


def convert_digits(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    write_arrays(folder / "test.npz", **_part(files, "t10k"))
    write_arrays(folder / "train.npz", **_part(files, "train"))


def _part(files: Mapping[str, Path], part: str) -> dict[str, np.ndarray]:
    return {
        "images": read_idx(files[f"{part}-images-idx3-ubyte.gz"]),
        "labels": read_idx(files[f"{part}-labels-idx1-ubyte.gz"]),
    }
