"""Imports votes per class: one row per item, one column per class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.importers.importer import PUBLISHED, ImportResult
from sfumato.importers.preview import Evidence, Preview, delimiter_named, marked
from sfumato.tables.class_columns import id_column
from sfumato.tables.column_reader import read_columns
from sfumato.tables.columns import check_classes
from sfumato.tables.errors import BadTable, ErrorLocation, doubled_item, listing, show, warn
from sfumato.tables.files.file_type import NUMPY, kind_of
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.files.table_file import check_columns, class_names, read_rows
from sfumato.tables.soft_labels import SoftLabels

Place = Callable[[int | None, str | None], ErrorLocation]
"""Gives the location of a row and a column of the source."""


def in_arrays(path: Path) -> Place:
    """Locations in a file of arrays."""
    return lambda row, column: ErrorLocation(str(path), row=row, column=column)


def labels_from_counts(items: Sequence[str], counts: np.ndarray, classes: Sequence[str], place: Place) -> SoftLabels:
    """Soft labels from votes per class; every item must occur once and have at least one vote."""
    counts = np.asarray(counts)
    check_classes(tuple(classes), place(None, None))
    if counts.dtype.kind not in "iufb":
        raise _bad_counts(f"values of type {counts.dtype}", "numbers of votes", "wrong-type", place(None, "counts"))
    if counts.ndim != 2 or counts.shape[1] != len(classes) or len(counts) != len(items):
        shape = f"{len(items)} items x {len(classes)} classes"
        raise _bad_counts(f"counts of shape {counts.shape}", shape, "wrong-shape", place(None, None))
    if not len(counts):
        raise _bad_counts("no rows", "at least one item", "no-rows", place(None, None))
    bad = ~np.isfinite(counts) | (counts < 0) | (counts != np.floor(counts)) | (counts >= 2**31)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        found = f"{counts[row, column]:g} votes"
        raise _bad_counts(found, "whole numbers >= 0", "bad-count", place(int(row), str(classes[column])))
    total = counts.sum(axis=1, dtype=np.int64)
    if (total == 0).any():
        row = int(np.argmax(total == 0))
        raise _bad_counts(f"no vote for item {show(items[row])}", "at least one vote", "all-zero", place(row, None))
    seen: set[str] = set()
    for row, name in enumerate(items):
        if name in seen:
            raise doubled_item(name, place(row, "item"))
        seen.add(name)
    return SoftLabels.from_numpy(items, counts / total[:, None], classes, total)


def _bad_counts(found: str, expected: str, code: str, where: ErrorLocation) -> BadTable:
    fix = "give one row per item, one column per class, and a number of votes in each cell"
    return BadTable(found, expected, fix, code, where=where)


def counts_in(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file of votes, with the votes as `counts`."""
    arrays = read_arrays(path)
    counts = arrays.get("counts", arrays.get(path.stem))
    if counts is None:
        found, expected = f"arrays {listing(list(arrays))}", "an array `counts` of items x classes"
        raise BadTable(found, expected, "save it as counts=...", "missing-column", path)
    return {**arrays, "counts": counts}


def original_from_numbers(path: Path, items: Sequence[str], numbers: np.ndarray, classes: Sequence[str]) -> SoftLabels:
    """The original labels of the data set, given as one class number per item."""
    fits = numbers.dtype.kind in "iu" and numbers.shape == (len(items),)
    wrong = (numbers < 0) | (numbers >= len(classes)) if fits else np.ones(1, dtype=bool)
    if wrong.any():
        found = show(numbers.reshape(-1)[int(np.argmax(wrong))].item()) if numbers.size else "nothing"
        expected = f"{len(items)} class numbers from 0 to {len(classes) - 1}"
        where = ErrorLocation(str(path), row=int(np.argmax(wrong)), column="labels")
        raise BadTable(f"the label {found}", expected, PUBLISHED, "bad-number", where)
    return SoftLabels.from_numpy(items, np.eye(len(classes))[numbers], classes)


def published_counts(path: Path, arrays: dict[str, np.ndarray], classes: Sequence[str]) -> ImportResult:
    """Votes per class in the order of the data set, and its original labels if the arrays have them."""
    items = [str(i) for i in range(len(np.atleast_1d(arrays["counts"])))]
    labels = labels_from_counts(items, arrays["counts"], classes, in_arrays(path))
    original = original_from_numbers(path, items, arrays["labels"], classes) if "labels" in arrays else None
    return ImportResult(labels, counts_notes(labels), original)


def counts_notes(labels: SoftLabels) -> tuple[str, ...]:
    """Notes on the imported votes."""
    n = labels.n_annotators
    assert n is not None
    return (
        f"{len(labels):,} items, {int(n.sum()):,} votes, {n.min()} to {n.max()} per item (mean {n.mean():.1f}), "
        f"{len(labels.classes)} classes: {listing(labels.classes)}",
        "votes per class have no annotators, so the table is SoftLabels, not Annotations",
    )


@dataclass(frozen=True)
class CountsImporter:
    """Votes per item: CSV or Parquet with one column per class, or an npz with `counts`.

    `item` names the id column (default: a column `item`, else row numbers are the ids). `classes` selects and orders
    the class columns; without it every other column is a class.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()
    delimiter: str | None = None

    name: ClassVar[str] = "counts"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if "counts" in preview.files:
            return Evidence("an array named counts")
        if len(preview.columns) < 3 or id_column(preview.columns) is None or marked(preview.columns):
            return None
        key = id_column(preview.columns)
        cells = [[str(value) for name, value in row.items() if name != key] for row in preview.rows]
        if not cells or not all(cell.isascii() and cell.isdigit() and len(cell) < 10 for row in cells for cell in row):
            return None
        totals = {sum(map(int, row)) for row in cells}
        if len(totals) == 1 and len(cells) > 1 and max(totals) > 1 and len({tuple(row) for row in cells}) > 1:
            return Evidence(f"whole numbers that sum to {totals.pop()} in every row", general=True)
        return Evidence("whole numbers in every column", certain=False)

    def read(self, source: str | Path) -> ImportResult:
        source = Path(source)
        if kind_of(source) is NUMPY:
            return self._read_arrays(source)
        rows = read_rows(source, guarded=False, delimiter=delimiter_named(self.delimiter))
        key = self.item or ("item" if "item" in rows.schema.names else None)
        classes = class_names(self.classes) or tuple(name for name in rows.schema.names if name != key)
        check_columns(rows, (*([key] if key else []), *classes))
        check_classes(classes, rows.where())
        columns = read_columns(rows, [key] if key else [], classes)
        counts = np.stack([columns.numbers[name] for name in classes], axis=1)
        items = columns.listed(key) if key else [str(i) for i in range(len(counts))]
        labels = labels_from_counts(items, counts, classes, rows.where)
        for k, name in enumerate(classes):
            if len(classes) > 2 and np.array_equal(2 * counts[:, k], counts.sum(axis=1)):
                warn(f"column {name!r} is the sum of the others: is it a total? name the classes with --classes")
        unread = [name for name in rows.schema.names if name not in (key, *classes)]
        notes = [f"columns not read: {listing(unread)}"] if unread else []
        return ImportResult(labels, (*counts_notes(labels), *notes))

    def _read_arrays(self, source: Path) -> ImportResult:
        arrays = counts_in(source)
        counts = arrays["counts"]
        named = arrays.get("class_names", arrays.get("classes"))
        n_classes = counts.shape[1] if counts.ndim == 2 else 0
        classes = self.classes or tuple(str(name) for name in (named if named is not None else range(n_classes)))
        ids = arrays.get("items")
        items = [str(i) for i in (ids if ids is not None else range(len(np.atleast_1d(counts))))]
        labels = labels_from_counts(items, counts, classes, in_arrays(source))
        return ImportResult(labels, counts_notes(labels))
