"""Votes per class: a row an item, a column a class."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.importers.importer import ImportResult
from sfumato.importers.votes import counts_in, counts_notes, in_arrays, labels_from_counts
from sfumato.tables.columns import check_columns, numbers
from sfumato.tables.errors import SfumatoWarning, listing
from sfumato.tables.files import NUMPY, class_names, kind_of, read_rows
from sfumato.tables.probabilities import check_classes
from sfumato.tables.text_columns import TextEncoder


@dataclass(frozen=True)
class CountsImporter:
    """How many people said what, per item: CSV or Parquet with one column a class, or an npz with `counts`.

    `item` names the id column (default: a column `item` if there is one, else row numbers are the ids). `classes`
    picks the class columns and their order; without it every other column is a class.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()

    name: ClassVar[str] = "counts"

    def read(self, source: str | Path) -> ImportResult:
        source = Path(source)
        if kind_of(source) is NUMPY:
            return self._read_arrays(source)
        rows = read_rows(source, guarded=False)
        key = self.item or ("item" if "item" in rows.schema.names else None)
        classes = class_names(self.classes) or tuple(name for name in rows.schema.names if name != key)
        check_columns(rows, (*([key] if key else []), *classes))
        check_classes(classes, rows.where())
        ids = TextEncoder.of(rows, key or "")
        parts = [np.empty((0, len(classes)))]
        n_rows = 0
        for chunk in rows.chunks:
            if key:
                ids.append(chunk.column(key))
            parts.append(np.stack([numbers(rows, name, chunk.column(name), n_rows) for name in classes], axis=1))
            n_rows += len(chunk)
        items = ids.finish().text().to_pylist() if key else [str(i) for i in range(n_rows)]
        counts = np.concatenate(parts)
        labels = labels_from_counts(items, counts, classes, rows.where)
        for k, name in enumerate(classes):
            if len(classes) > 2 and np.array_equal(2 * counts[:, k], counts.sum(axis=1)):
                warnings.warn(
                    f"column {name!r} is the sum of the others: a total is no class; say which are with --classes",
                    SfumatoWarning,
                    stacklevel=2,
                )
        unread = [name for name in rows.schema.names if name not in (key, *classes)]
        return ImportResult(
            labels, (*counts_notes(labels), *([f"columns not read: {listing(unread)}"] if unread else []))
        )

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
