"""Fashion-MNIST-H: hard votes of some 67 people on each Fashion-MNIST test image (Ishida et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.errors import Where
from sfumato.files import NUMPY, kind_of, read_arrays, read_rows
from sfumato.imports.imported import Imported, counts_notes, find_file, labels_from_counts
from sfumato.soft_labels import SoftLabels

FASHION_MNIST = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
FILES = ("counts.npz", "fmh_counts.csv", "data/fmh_counts.csv")


@dataclass(frozen=True)
class FashionMnistH:
    """The published votes per class as SoftLabels: five times as doubtful as CIFAR-10H, and on images that two cores
    can train on well. Reads `counts.npz` or the authors' `fmh_counts.csv` (ten columns of counts, test order)."""

    name: ClassVar[str] = "fashion-mnist-h"
    summary: ClassVar[str] = "Fashion-MNIST-H votes per class (Ishida et al. 2023)"

    def read(self, source: str | Path) -> Imported:
        path = find_file(source, FILES)
        arrays = read_arrays(path) if kind_of(path) is NUMPY else {"counts": _csv_counts(path)}
        counts = arrays["counts"] if "counts" in arrays else arrays[path.stem]
        items = [str(i) for i in range(len(counts))]
        labels = labels_from_counts(items, counts, FASHION_MNIST, Where(str(path)))
        original = (
            SoftLabels.from_numpy(items, np.eye(10)[arrays["labels"]], FASHION_MNIST) if "labels" in arrays else None
        )
        return Imported(labels, counts_notes(labels), original)


def _csv_counts(path: Path) -> np.ndarray:
    """The last ten columns of the authors' CSV, whatever they are called."""
    from sfumato.columns import numbers

    rows = read_rows(path, guarded=False)
    names = rows.schema.names[-10:]
    parts = []
    n_rows = 0
    for chunk in rows.chunks:
        parts.append(np.stack([numbers(rows, name, chunk.column(name), n_rows) for name in names], axis=1))
        n_rows += len(chunk)
    return np.concatenate(parts)
