"""Fashion-MNIST-H: hard votes of about 67 annotators per Fashion-MNIST test image (Ishida et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.importers.counts import counts_in, published_counts
from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import ImportResult, find_file
from sfumato.tables.column_reader import read_columns
from sfumato.tables.files.csv import first_record
from sfumato.tables.files.file_type import NUMPY, kind_of
from sfumato.tables.files.table_file import read_rows

FASHION_MNIST = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
FILES = ("counts.npz", "fmh_counts.csv", "data/fmh_counts.csv")


@dataclass(frozen=True)
class FashionMnistHImporter:
    """The published votes per class as Counts. Reads `counts.npz` or the authors' `fmh_counts.csv` (ten counts per
    row, in test order, without a header)."""

    name: ClassVar[str] = "fashion-mnist-h"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        return Evidence("the name fmh_counts.csv") if preview.path.name == "fmh_counts.csv" else None

    def read(self, source: str | Path) -> ImportResult:
        path = find_file(source, FILES)
        arrays = counts_in(path) if kind_of(path) is NUMPY else {"counts": _csv_counts(path)}
        return published_counts(path, arrays, FASHION_MNIST)


def _csv_counts(path: Path) -> np.ndarray:
    """The ten counts per row; the first line is data unless it has names or the column numbers 0 to 9."""
    first = first_record(path)
    is_data = all(field.strip().isdigit() for field in first) and first != [str(k) for k in range(len(first))]
    header = [f"column {k}" for k in range(len(first))] if is_data else []
    rows = read_rows(path, guarded=False, header=header)
    columns = read_columns(rows, (), rows.schema.names[-len(FASHION_MNIST) :])
    return np.stack(list(columns.numbers.values()), axis=1)
