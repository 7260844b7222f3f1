"""Reads people's labels from any file: distributions, votes per class, or hard labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from sfumato.importers.label_matrix import COUNTS, PROBABILITIES, named, numbers_in
from sfumato.importers.prediction_file import FileOptions, distributions, own_table, say_how_read
from sfumato.tables.counts import COUNT_PREFIX, Counts
from sfumato.tables.files.file_type import CSV, PARQUET
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.soft_labels import SoftLabels


def read_labels(path: str | Path, options: FileOptions | None = None) -> SoftLabels:
    """People's labels: SoftLabels, Counts (as shares of votes), or hard labels (`item`, `label`) as one-hot rows."""
    table = read_labels_or_counts(path, options)
    return table.labels() if isinstance(table, Counts) else table


def read_labels_or_counts(path: str | Path, options: FileOptions | None = None) -> SoftLabels | Counts:
    """People's labels as `read_labels` reads them, but votes per class as Counts."""
    path, options = Path(path), options or FileOptions()
    if path.name.lower().endswith((*CSV.suffixes, *PARQUET.suffixes)):
        rows = read_rows(path)
        if any(name == "counts" or name.startswith(COUNT_PREFIX) for name in rows.schema.names):
            return Counts.from_rows(rows, options.choice)
    if (table := own_table(path, options)) is not None:
        return table
    numbers = named(numbers_in(path, options.choice, (*PROBABILITIES, *COUNTS)), options.classes, options.items)
    say_how_read(numbers)
    if numbers.name != PROBABILITIES[0] and _are_votes(numbers.values):
        counts = Counts.from_numpy(
            numbers.ids, numbers.values, numbers.classes or (), place=lambda row, _: numbers.where(row)
        )
        return replace(counts, path=path)
    return distributions(numbers)


def _are_votes(values: Float[np.ndarray, "items classes"]) -> bool:
    """Whether the numbers are votes per class: whole numbers, with more than one vote in some row."""
    with np.errstate(invalid="ignore"):
        return bool((values == np.floor(values)).all() and (values.sum(axis=1) > 1).any())
