"""Reads people's labels from any file as SoftLabels: distributions, votes per class, hard labels, and the files of
tools and data sets that `sfumato import auto` recognizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from sfumato.importers.importer import Importer
from sfumato.importers.label_matrix import COUNTS, PROBABILITIES, named, numbers_in
from sfumato.importers.prediction_file import FileOptions, LabelsRead, distributions, own_table, say_how_read
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import COUNT_PREFIX, Counts, Place
from sfumato.tables.errors import BadTable
from sfumato.tables.files.file_type import CSV, NUMPY, PARQUET, TSV
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.soft_labels import SoftLabels

OWN_KINDS = (CSV, TSV, PARQUET, NUMPY)
"""Files whose columns and arrays are read here; a JSON file or a folder may also be of a tool or a data set."""


def read_labels(path: str | Path, options: FileOptions | None = None) -> SoftLabels:
    """People's labels: SoftLabels, Counts (as shares of votes), or hard labels (`item`, `label`) as one-hot rows."""
    table = read_labels_or_counts(path, options)
    return replace(table.labels(), path=table.path) if isinstance(table, Counts) else table


def read_labels_or_counts(path: str | Path, options: FileOptions | None = None) -> SoftLabels | Counts:
    """People's labels as `read_labels` reads them, but votes per class as Counts."""
    path, options = Path(path), options or FileOptions()
    importer = None if options.classes or options.items else recognized(path)
    if importer is None:
        read = labels_in(path, options)
        return read.labels if read.counts is None else read.counts
    table = importer.read(path).table
    if isinstance(table, (Annotations, Beliefs)):
        fix = f"aggregate the answers first: sfumato aggregate {path} --by mean -o labels.parquet"
        raise BadTable(f"single answers ({importer.name})", "one distribution per item", fix, "not-labels", path)
    assert isinstance(table, (Counts, SoftLabels))
    return replace(table, path=path)


def recognized(path: Path) -> Importer | None:
    """The importer of the tool or data set that a file is certainly from; None if it is to be read by its columns."""
    if path.is_file() and path.name.lower().endswith(tuple(end for kind in OWN_KINDS for end in kind.suffixes)):
        return None
    from sfumato.importers import importer_for  # here, to keep chains of imports short

    try:
        importer = importer_for(path)
    except BadTable:
        return None
    return None if importer.name in ("labels", "predictions", "images") else importer


def labels_in(path: Path, options: FileOptions) -> LabelsRead:
    """People's labels in a table, array or JSON: distributions, votes per class (as shares), or hard labels."""
    if path.name.lower().endswith((*CSV.suffixes, *PARQUET.suffixes)):
        rows = read_rows(path)
        if any(name == "counts" or name.startswith(COUNT_PREFIX) for name in rows.schema.names):
            counts = replace(Counts.from_rows(rows, options.choice), path=path)
            return LabelsRead(counts.labels(), "shares of the votes", counts)
    if (table := own_table(path, options)) is not None:
        return table
    numbers = named(numbers_in(path, options.choice, (*PROBABILITIES, *COUNTS)), options.classes, options.items)
    say_how_read(numbers)
    if numbers.name != PROBABILITIES[0] and _are_votes(numbers.values):
        place: Place = lambda row, _: numbers.where(row)  # noqa: E731
        counts = replace(Counts.from_numpy(numbers.ids, numbers.values, numbers.classes or (), place=place), path=path)
        return LabelsRead(counts.labels(), f"{numbers.note}: votes, read as their shares", counts)
    return LabelsRead(distributions(numbers), numbers.note)


def _are_votes(values: Float[np.ndarray, "items classes"]) -> bool:
    """Whether the numbers are votes per class: whole numbers, with more than one vote in some row."""
    with np.errstate(invalid="ignore"):
        return bool((values == np.floor(values)).all() and (values.sum(axis=1) > 1).any())
