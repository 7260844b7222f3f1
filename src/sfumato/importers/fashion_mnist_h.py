"""Fashion-MNIST-H: hard votes of about 67 annotators per Fashion-MNIST test image (Ishida et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.importers.counts import counts_in, counts_notes, in_arrays, labels_from_counts, original_from_numbers
from sfumato.importers.importer import ImportResult, find_file
from sfumato.tables.columns import numbers
from sfumato.tables.files.csv import first_record
from sfumato.tables.files.file_type import NUMPY, kind_of
from sfumato.tables.files.table_file import read_rows

FASHION_MNIST = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
FILES = ("counts.npz", "fmh_counts.csv", "data/fmh_counts.csv")


@dataclass(frozen=True)
class FashionMnistHImporter:
    """The published votes per class as SoftLabels. Reads `counts.npz` or the authors' `fmh_counts.csv` (ten counts per
    row, in test order, without a header)."""

    name: ClassVar[str] = "fashion-mnist-h"

    def read(self, source: str | Path) -> ImportResult:
        path = find_file(source, FILES)
        arrays = counts_in(path) if kind_of(path) is NUMPY else {"counts": _csv_counts(path)}
        items = [str(i) for i in range(len(np.atleast_1d(arrays["counts"])))]
        place = in_arrays(path)
        labels = labels_from_counts(items, arrays["counts"], FASHION_MNIST, place)
        original = original_from_numbers(path, items, arrays["labels"], FASHION_MNIST) if "labels" in arrays else None
        return ImportResult(labels, counts_notes(labels), original)


def _csv_counts(path: Path) -> np.ndarray:
    """The ten counts per row; the first line is data unless it has names or the column numbers 0 to 9."""
    first = first_record(path)
    is_data = all(field.strip().isdigit() for field in first) and first != [str(k) for k in range(len(first))]
    header = [f"column {k}" for k in range(len(first))] if is_data else []
    rows = read_rows(path, guarded=False, header=header)
    names = rows.schema.names[-len(FASHION_MNIST) :]
    parts = [np.empty((0, len(names)))]
    n_rows = 0
    for chunk in rows.chunks:
        parts.append(np.stack([numbers(rows, name, chunk.column(name), n_rows) for name in names], axis=1))
        n_rows += len(chunk)
    return np.concatenate(parts)
