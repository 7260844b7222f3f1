"""A release: labels with inputs, counts, beliefs, answers and splits, matched by name; and the format protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int

from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.column_reader import read_columns
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, bad_classes, doubled_item, listing, no_rows, select_command, show
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.row_numbers import check_same_rows
from sfumato.tables.shifted_times import shift_times
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText


@dataclass(frozen=True, eq=False)
class Splits:
    """The split of every item, by name; splits are in order of first occurrence."""

    items: pa.StringArray
    split: CodedText
    path: Path | None = None

    @classmethod
    def of(cls, split_of: Mapping[str, str]) -> Splits:
        """Splits from a mapping of items to split names."""
        table = {"item": pa.array(list(split_of), pa.string()), "split": pa.array(list(split_of.values()), pa.string())}
        return cls.from_rows(Rows.of(pa.table(table)))

    @classmethod
    def read(cls, path: str | Path) -> Splits:
        """Splits from a Parquet or CSV file with `item` and `split`."""
        return cls.from_rows(read_rows(path))

    @classmethod
    def from_rows(cls, rows: Rows) -> Splits:
        columns = read_columns(rows, ("item", "split"))
        first: dict[str, int] = {}
        for row, item in enumerate(columns.listed("item")):
            if first.setdefault(item, row) != row:
                raise doubled_item(item, rows.where(row, "item"), "each item once, in one split")
        return cls(columns.texts["item"].text(), columns.texts["split"], rows.path)

    def of_items(self, items: pa.StringArray) -> CodedText:
        """The split of each of `items`; an item without one is an error."""
        rows = pc.index_in(items, value_set=self.items)
        if rows.null_count:
            without = items.filter(pc.is_null(rows))
            raise BadTable(
                f"no split for {listing([show(name, 40) for name in without[:5].to_pylist()])}"
                f" ({rows.null_count:,} items have none)",
                "a split for every labeled item",
                "add the missing items to the splits, or remove their labels",
                "missing-item",
                self.path,
            )
        numbers: Int[np.ndarray, "items"] = rows.to_numpy()
        return self.split.take(numbers)


WHOLE = "train"
"""The name of the only split, because loaders expect it."""


@dataclass(frozen=True, eq=False)
class Release:
    """The tables of a release. `inputs`, `counts` and `split`, if given, have one row per row of `labels`; `beliefs`
    and `annotations` contain only labeled items, sorted by item and annotator, so that their order does not tell who
    came when. `notes` state what was left out."""

    labels: SoftLabels
    inputs: Inputs | None = None
    counts: Counts | None = None
    beliefs: Beliefs | None = None
    annotations: Annotations | None = None
    split: CodedText | None = None
    title: str = "Soft labels"
    licence: str | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        labels: SoftLabels | Counts,
        *,
        inputs: Inputs | None = None,
        counts: Counts | None = None,
        beliefs: Beliefs | None = None,
        annotations: Annotations | None = None,
        splits: Splits | None = None,
        title: str = "Soft labels",
        licence: str | None = None,
        exact_times: bool = False,
    ) -> Release:
        """Match the tables; Counts as `labels` are their shares of votes, and are shared too.

        The times of answers lose their dates (`tables/shifted_times.py`) unless `exact_times`.
        Raises if a labeled item has no input, counts or split, or if counts or beliefs have other classes.
        """
        if isinstance(labels, Counts):
            counts = counts or labels
            labels = labels.labels()
        if not len(labels):
            raise no_rows("at least one labeled item", "check how the labels were made", labels.path, "no labels")
        check_same_rows(labels, inputs, counts, beliefs, annotations)
        notes: list[str] = []
        if inputs is not None:
            if inputs.features is not None:
                fix = "give a folder of images, or a table with texts; publish the features as a file of their own"
                raise BadTable(inputs.described(), "images or texts", fix, "no-images", inputs.path)
            notes += _left_out("inputs", len(inputs) - len(labels))
            inputs = _inputs_of(labels, inputs)
        if counts is not None:
            notes += _left_out("counts", len(counts) - len(labels))
            counts = _counts_of(labels, counts)
        if beliefs is not None:
            kept = _is_labeled(beliefs.item, labels)
            notes += _left_out("beliefs", int((~kept).sum()))
            beliefs = _in_order(beliefs if kept.all() else beliefs.take(kept), labels)
            beliefs = beliefs.take(_by_item(beliefs, labels))
        if annotations is not None:
            kept = _is_labeled(annotations.item, labels)
            notes += _left_out("answers", int((~kept).sum()))
            annotations = annotations if kept.all() else annotations.take(kept)
            annotations = annotations.take(_by_item(annotations, labels))
            annotations = annotations if exact_times else shift_times(annotations)
        split = splits.of_items(labels.items) if splits is not None else None
        return cls(labels, inputs, counts, beliefs, annotations, split, title, licence, tuple(notes))

    def parts(self) -> Iterator[tuple[str, Int[np.ndarray, "rows"]]]:
        """Every split with its rows of the labels; without splits, all rows under one name."""
        if self.split is None:
            yield WHOLE, np.arange(len(self.labels))
            return
        for code, name in enumerate(self.split.names.to_pylist()):
            yield name, np.flatnonzero(self.split.codes == code)

    def parts_of(self, item: CodedText) -> Iterator[tuple[str, Bool[np.ndarray, "rows"]]]:
        """Every split with a mask of the rows of an item column that belong to it."""
        for name, rows in self.parts():
            is_within = np.zeros(len(self.labels), bool)
            is_within[rows] = True
            yield name, is_within[self.labels.rows_of(item.names)][item.codes]


def _inputs_of(labels: SoftLabels, inputs: Inputs) -> Inputs:
    rows = inputs.rows_of(labels.items.to_pylist())
    if (rows < 0).any():
        first = labels.items[int(np.argmax(rows < 0))].as_py()
        raise BadTable(
            f"no input for item {show(first)} ({int((rows < 0).sum()):,} labeled items have none)",
            "an input for every labeled item",
            f"use the names of the labels, or keep those with an input: {select_command(labels.path, inputs.path)}",
            "missing-input",
            inputs.path,
        )
    return inputs if np.array_equal(rows, np.arange(len(inputs))) else inputs.take(rows)


def _counts_of(labels: SoftLabels, counts: Counts) -> Counts:
    """The counts with the rows and classes of the labels."""
    order = _order("counts", counts.classes, labels)
    rows = pc.index_in(labels.items, value_set=counts.items)
    if rows.null_count:
        first = labels.items.filter(pc.is_null(rows))[0].as_py()
        raise BadTable(
            f"no counts for item {show(first)} ({rows.null_count:,} labeled items have none)",
            "counts for every labeled item",
            f"use the counts of the labels, or keep those with counts: {select_command(labels.path, counts.path)}",
            "missing-item",
            counts.path,
        )
    return Counts(
        labels.items, labels.classes, counts.counts[rows.to_numpy()][:, order], counts.path, labels.row_sources
    )


def _is_labeled(item: CodedText, labels: SoftLabels) -> np.ndarray:
    known = pc.is_in(item.names, value_set=labels.items).to_numpy(zero_copy_only=False)
    return np.asarray(known[item.codes])


def _by_item(table: Beliefs | Annotations, labels: SoftLabels) -> Int[np.ndarray, "rows"]:
    """The rows of a table by item, in the order of the labels, then by annotator."""
    names = table.annotator.names.to_pylist()
    rank = np.empty(len(names), np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    item = labels.rows_of(table.item.names)
    return np.lexsort((rank[table.annotator.codes], item[table.item.codes]))


def _in_order(beliefs: Beliefs, labels: SoftLabels) -> Beliefs:
    """The beliefs with their classes in the order of the labels."""
    if beliefs.classes == labels.classes:
        return beliefs
    order = _order("beliefs", beliefs.classes, labels)
    if beliefs.hard is None:
        assert beliefs.soft is not None
        return replace(beliefs, classes=labels.classes, soft=beliefs.soft[:, order])
    hard = np.argsort(order)[beliefs.hard].astype(beliefs.hard.dtype)
    return replace(beliefs, classes=labels.classes, hard=hard)


def _order(what: str, classes: tuple[str, ...], labels: SoftLabels) -> Int[np.ndarray, "classes"]:
    """The number in `classes` of each class of the labels; other classes are an error."""
    if set(classes) != set(labels.classes):
        found = f"{what} over the classes {listing(classes)}"
        raise bad_classes(found, labels.classes, f"use the {what} that the labels were made from", labels.path)
    return np.array([classes.index(name) for name in labels.classes])


def _left_out(what: str, n: int) -> list[str]:
    return [f"{n:,} {what} of items without a label left out"] if n else []


@dataclass(frozen=True)
class Shared:
    """The output: its path, its files by name, and a line of Python that reads it."""

    place: Path
    files: tuple[str, ...]
    reading: str


@runtime_checkable
class Format(Protocol):
    """An export format."""

    name: ClassVar[str]
    holds_answers: ClassVar[bool]
    """Whether the format can include beliefs and answers."""

    def check_place(self, place: Path) -> None:
        """Raise if the release cannot be written to `place`; called before files are read."""
        ...

    def write(self, release: Release, place: Path) -> Shared: ...
