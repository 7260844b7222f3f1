"""Counts: votes per item and class, where the annotators are not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.tables.base_table import ItemTable
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.call_arguments import explained
from sfumato.tables.class_columns import ClassColumns, ColumnChoice, read_class_columns, read_lists
from sfumato.tables.class_order import names_like
from sfumato.tables.columns import check_classes
from sfumato.tables.doubt import Doubt, doubt_of_counts
from sfumato.tables.errors import (
    MOST_FAULTS,
    BadTable,
    ErrorLocation,
    SfumatoError,
    doubled_item,
    no_rows,
    raise_together,
    show,
    wrong_shape,
)
from sfumato.tables.estimand import Estimand
from sfumato.tables.files.table_file import Rows, class_names, read_rows
from sfumato.tables.growable_array import freeze
from sfumato.tables.row_numbers import recorded_row_sources, row_sources_of, source_of
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText

COUNT_PREFIX = "n:"

Place = Callable[[int | None, str | None], ErrorLocation]
"""Gives the location of a row and a column of the source."""


@dataclass(frozen=True, eq=False, repr=False)
class Counts(ItemTable):
    """Votes per item and class: whole numbers >= 0, at least one vote per item, each item once.

    The form in which most votes are published. It has no annotators: methods that need them (Dawid-Skene,
    test-retest agreement) take `Beliefs`, one row per vote.
    """

    items: pa.StringArray
    classes: tuple[str, ...]
    counts: Int[np.ndarray, "items classes"]
    path: Path | None = None
    row_sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_counts(self.items.to_pylist(), self.counts, self.classes)
        if self.counts.dtype != np.int32:
            object.__setattr__(self, "counts", self.counts.astype(np.int32))
        freeze(self, "counts")

    @classmethod
    @explained
    def from_numpy(
        cls, items: Sequence[Any], counts: Any, classes: Sequence[Any], *, place: Place | None = None
    ) -> Counts:
        """Counts from an items x classes array; `classes` are the names of its columns."""
        names = class_names(classes)
        named = names_like((str(name) for name in names), names)
        ids, matrix = [str(item) for item in items], _matrix(counts)
        check_counts(ids, matrix, named, place)
        return cls(pa.array(ids, pa.string()), named, matrix.astype(np.int32), None, row_sources_of(items))

    @classmethod
    def of(cls, beliefs: Beliefs) -> Counts:
        """The votes of `beliefs` per item and class; beliefs that are not single votes are an error."""
        if beliefs.hard is None:
            fix = "aggregate them with mean, or give the votes themselves"
            raise BadTable("beliefs that divide their probability", "one class per answer", fix, "not-votes")
        n_items, n_classes = len(beliefs.item.names), len(beliefs.classes)
        cell = beliefs.item.codes.astype(np.int64) * n_classes + beliefs.hard
        counts = np.bincount(cell, minlength=n_items * n_classes).reshape(n_items, n_classes)
        return cls(beliefs.item.names, beliefs.classes, counts, None, beliefs.row_sources)

    @classmethod
    def from_arrow(cls, frame: Any, classes: Sequence[str] = ()) -> Counts:
        """Counts from any Arrow-compatible table, with `counts` or one column per class (`n:cat`, or `cat`)."""
        return cls.from_rows(Rows.of(frame), ColumnChoice(classes=class_names(classes)))

    @classmethod
    def from_pandas(cls, frame: Any, classes: Sequence[str] = ()) -> Counts:
        """Counts from a pandas data frame with `item` and one column per class; `classes` chooses columns."""
        return cls.from_arrow(frame, classes)

    @classmethod
    def from_polars(cls, frame: Any, classes: Sequence[str] = ()) -> Counts:
        """Counts from a Polars data frame; see `from_pandas`."""
        return cls.from_arrow(frame, classes)

    @classmethod
    def read(cls, path: str | Path, classes: Sequence[str] = ()) -> Counts:
        """Counts from a Parquet or CSV file."""
        return cls.from_rows(read_rows(path), ColumnChoice(classes=class_names(classes)))

    @classmethod
    def from_rows(cls, rows: Rows, choice: ColumnChoice | None = None) -> Counts:
        """Counts from rows with a list column `counts`, or with one column per class; all faults are reported."""
        return cls.from_columns(rows, cls.columns_in(rows, choice))

    @staticmethod
    def columns_in(rows: Rows, choice: ColumnChoice | None = None) -> ClassColumns:
        """The ids and votes in `rows`, before they are checked."""
        is_list = "counts" in rows.schema.names and pa.types.is_nested(rows.schema.field("counts").type)
        return (
            read_lists(rows, "counts", choice) if is_list else read_class_columns(rows, COUNT_PREFIX, "votes", choice)
        )

    @classmethod
    def from_columns(cls, rows: Rows, found: ClassColumns) -> Counts:
        """Counts from what `columns_in` found, with all faults."""

        def place(row: int | None, column: str | None) -> ErrorLocation:
            if column in found.classes:
                column = found.columns[found.classes.index(column)]
            return rows.where(row, found.key if column == "item" else column)

        check_counts(found.items, found.numbers, found.classes, place, found.faults, found.n_faults)
        sources = recorded_row_sources(rows)
        if found.key is None and rows.path is not None:
            sources = (source_of(rows.path),)
        ids = pa.array(found.items, pa.string())
        return cls(ids, found.classes, found.numbers.astype(np.int32), rows.path, sources)

    @property
    def n_votes(self) -> Int[np.ndarray, "items"]:
        """The number of votes per item."""
        return np.asarray(self.counts.sum(axis=1, dtype=np.int64))

    def votes(self) -> Beliefs:
        """One row per vote, each by an annotator of its own."""
        n_items, n_classes = self.counts.shape
        repeats = self.counts.reshape(-1)
        cell = np.repeat(np.arange(n_items * n_classes), repeats)
        item = CodedText((cell // n_classes).astype(np.int32), self.items)
        names = pa.array(np.arange(1, len(cell) + 1)).cast(pa.string())
        annotator = CodedText(np.arange(len(cell), dtype=np.int32), names)
        chosen = (cell % n_classes).astype(np.int16)
        return Beliefs(item, annotator, self.classes, hard=chosen, row_sources=self.row_sources)

    def labels(self) -> SoftLabels:
        """The shares of the votes, as `mean` gives them, with the number of votes as `n_annotators`."""
        total = self.n_votes
        shares, n = self.counts / total[:, None], total.astype(np.int32)
        made = (Estimand.JUDGMENT, "mean", self.row_sources)
        return SoftLabels(self.items, self.classes, shares, n, self.path, *made)

    def doubt(self) -> Doubt:
        """The uncertainty per item: all of it is disagreement, as votes do not say how sure an annotator was."""
        return doubt_of_counts(self.items, self.counts)

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        part = np.ascontiguousarray(self.counts[start:stop])
        columns: dict[str, Any] = {"item": self.items.slice(start, stop - start)}
        if wide:
            columns |= {COUNT_PREFIX + name: pa.array(part[:, k]) for k, name in enumerate(self.classes)}
        else:
            columns["counts"] = pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), len(self.classes))
        return pa.table(columns)

    def __getitem__(self, item: str | int) -> dict[str, int]:
        """The votes for one item, by its id: the number for each class."""
        return dict(zip(self.classes, self.counts[self.row_of(item)].tolist(), strict=True))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.counts, dtype=dtype, copy=copy)


def check_counts(
    items: Sequence[str],
    counts: np.ndarray,
    classes: Sequence[str],
    place: Place | None = None,
    faults: Sequence[SfumatoError] = (),
    n_faults: int = 0,
) -> None:
    """Raise all faults together: cells that are not whole numbers >= 0, items without a vote, items given twice.

    `faults` are some of the `n_faults` found before, in cells that are NaN and in blank ids.
    """
    where = place or (lambda row, column: ErrorLocation(row=row, column=column))
    check_classes(tuple(classes), where(None, None))
    if counts.dtype.kind not in "iufb":
        raise _bad_count(f"values of type {counts.dtype}", "numbers of votes", "wrong-type", where(None, "counts"))
    if counts.ndim != 2 or counts.shape != (len(items), len(classes)):
        expected = f"{len(items)} items x {len(classes)} classes"
        raise wrong_shape(f"counts of shape {counts.shape}", expected, FIX, where(None, None))
    if not len(counts):
        raise no_rows("at least one item", FIX, where(None, None))
    bad = ~(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts)) & (counts < 2**31))
    if faults:
        bad &= ~np.isnan(counts)
    empty = (counts == 0).all(axis=1)
    doubled = _doubled(items)
    found = list(faults)
    for row, column in np.argwhere(bad)[:MOST_FAULTS].tolist():
        what = f"{counts[row, column]:g} votes"
        found.append(_bad_count(what, "whole numbers >= 0", "bad-count", where(row, str(classes[column]))))
    for row in np.flatnonzero(empty)[:MOST_FAULTS].tolist():
        what = f"no vote for item {show(items[row])}"
        found.append(_bad_count(what, "at least one vote", "all-zero", where(row, None)))
    found += [doubled_item(items[row], where(row, "item")) for row in doubled[:MOST_FAULTS]]
    found.sort(key=lambda fault: fault.where.line or fault.where.row or 0)
    raise_together(found, n_faults + int(bad.sum()) + int(empty.sum()) + len(doubled))


def without_annotators(what: str, instead: str = "") -> BadTable:
    """The error for a step that needs annotators and was given Counts."""
    fix = f"use {instead}, or give" if instead else "give"
    found = f"votes per class, without annotators, for {what}"
    return BadTable(
        found, "the annotator of each vote", f"{fix} one row per vote: item, annotator, label", "no-annotators"
    )


FIX = "give one row per item, one column per class, and a number of votes in each cell"


def _bad_count(found: str, expected: str, code: str, where: ErrorLocation) -> BadTable:
    return BadTable(found, expected, FIX, code, where)


def _doubled(items: Sequence[str]) -> list[int]:
    """The rows whose item has an earlier row."""
    if len(set(items)) == len(items):
        return []
    seen: set[str] = set()
    later = []
    for row, name in enumerate(items):
        if name in seen and name.strip():
            later.append(row)
        seen.add(name)
    return later


def _matrix(counts: Any) -> np.ndarray:
    try:
        return np.asarray(counts)
    except ValueError:
        raise wrong_shape("rows of different lengths", "an items x classes array", FIX) from None
