"""Imports votes per class: one row per item, one column per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.importers.file_head import Evidence, Preview, delimiter_named, marked
from sfumato.importers.importer import PUBLISHED, ImportResult
from sfumato.tables.class_columns import ColumnChoice, are_words, id_column
from sfumato.tables.counts import Counts, Place
from sfumato.tables.errors import BadTable, ErrorLocation, listing, show, warn
from sfumato.tables.files.file_type import NUMPY, kind_of
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.files.table_file import class_names, read_rows
from sfumato.tables.row_numbers import numbered_rows
from sfumato.tables.soft_labels import SoftLabels


def in_arrays(path: Path) -> Place:
    """Locations in a file of arrays."""
    return lambda row, column: ErrorLocation(str(path), row=row, column=column)


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
    counts = Counts.from_numpy(items, arrays["counts"], classes, place=in_arrays(path))
    original = original_from_numbers(path, items, arrays["labels"], classes) if "labels" in arrays else None
    return ImportResult(counts, (_summary(counts),), original)


def _summary(counts: Counts) -> str:
    """The numbers of items, votes and classes, as text."""
    n = counts.n_votes
    return (
        f"{len(counts):,} items, {int(n.sum()):,} votes, {n.min()} to {n.max()} per item (mean {n.mean():.1f}), "
        f"{len(counts.classes)} classes: {listing(counts.classes)}"
    )


def _is_count(value: object) -> bool:
    text = str(value).removesuffix(".0")
    return text.isascii() and text.isdigit() and len(text) < 10


@dataclass(frozen=True)
class CountsImporter:
    """Votes per item: CSV or Parquet with one column per class, or an npz with `counts`.

    `item` names the id column (default: a known name such as `item`, else row numbers are the ids). `classes` selects
    and orders the class columns; without it every column is a class, except those in `leave_out`.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()
    delimiter: str | None = None
    leave_out: tuple[str, ...] = ()

    name: ClassVar[str] = "counts"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if "counts" in preview.files:
            return Evidence("an array named counts")
        if len(preview.columns) < 2 or marked(preview.columns):
            return None
        if {"annotator", "worker"} & set(preview.columns):
            return None
        key = id_column(preview.columns)
        counted = [
            name for name in preview.columns if name != key and all(_is_count(row[name]) for row in preview.rows)
        ]
        numeric = [name for name in counted if id_column([name]) is None]
        if len(numeric) < 2 or not preview.rows or (key is None and len(numeric) < len(preview.columns)):
            return None
        texts = [name for name in preview.columns if name != key and are_words([row[name] for row in preview.rows])]
        if others := [name for name in preview.columns if name not in (key, *numeric, *texts)]:
            why = f"whole numbers in {listing(numeric, 4)}; leave out the others with --leave-out {','.join(others)}"
            return Evidence(why, certain=False)
        cells = [tuple(int(float(row[name])) for name in numeric) for row in preview.rows]
        totals = {sum(row) for row in cells}
        if len(totals) == 1 and max(totals) > 1 and len(set(cells)) > 1:
            return Evidence(f"whole numbers that sum to {totals.pop()} in every row", general=True)
        if key is None:
            return Evidence(f"whole numbers in {listing(numeric, 4)}, without a column of ids", certain=False)
        return Evidence(f"whole numbers in {listing(numeric, 4)}", certain=False, certain_if_votes=True)

    def read(self, source: str | Path) -> ImportResult:
        source = Path(source)
        if kind_of(source) is NUMPY:
            return self._read_arrays(source)
        rows = read_rows(source, guarded=False, delimiter=delimiter_named(self.delimiter))
        found = Counts.columns_in(rows, ColumnChoice(self.item, class_names(self.classes), self.leave_out))
        counts = Counts.from_columns(rows, found)
        if (counts.n_votes == 100).all() and not marked(rows.schema.names):
            warn(
                f"{source.name}: every row sums to 100, which is read as 100 votes per item; if these are percentages, "
                "divide them by 100 and import them with `sfumato import labels`"
            )
        ids = [] if found.key else ["items are numbered: no column of ids was found (name one with --item)"]
        unread = [f"columns not read: {listing(found.unread)}"] if found.unread else []
        return ImportResult(counts, (_summary(counts), *ids, *unread))

    def _read_arrays(self, source: Path) -> ImportResult:
        arrays = counts_in(source)
        counts = arrays["counts"]
        named = arrays.get("class_names", arrays.get("classes"))
        n_classes = counts.shape[1] if counts.ndim == 2 else 0
        classes = self.classes or tuple(str(name) for name in (named if named is not None else range(n_classes)))
        ids = arrays.get("items")
        items = numbered_rows(len(np.atleast_1d(counts)), source) if ids is None else [str(i) for i in ids]
        table = Counts.from_numpy(items, counts, classes, place=in_arrays(source))
        return ImportResult(table, (_summary(table),))
