"""Splits: which part of a set each item belongs to.

Release: labels and what is given away with them, matched by item and class names, checked once.

What a format does: write a release where it is told, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int

from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.columns import check_columns
from sfumato.tables.errors import BadTable, ErrorLocation, listing, show
from sfumato.tables.files import Rows, read_rows
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText, TextReader


@dataclass(frozen=True, eq=False)
class Splits:
    """The split of every item, by name; splits stand in the order in which they first occur."""

    items: pa.StringArray
    split: CodedText
    path: Path | None = None

    @classmethod
    def of(cls, split_of: Mapping[str, str]) -> Splits:
        """Splits from a split's name an item."""
        table = {"item": pa.array(list(split_of), pa.string()), "split": pa.array(list(split_of.values()), pa.string())}
        return cls.from_rows(Rows.of(pa.table(table)))

    @classmethod
    def read(cls, path: str | Path) -> Splits:
        """Splits from a Parquet or CSV file with `item` and `split`."""
        return cls.from_rows(read_rows(path))

    @classmethod
    def from_rows(cls, rows: Rows) -> Splits:
        check_columns(rows, ("item", "split"))
        readers = {name: TextReader(rows, name) for name in ("item", "split")}
        texts: dict[str, list[str]] = {"item": [], "split": []}
        for chunk in rows.chunks:
            for name, reader in readers.items():
                texts[name] += [text for piece in reader.read(chunk.column(name)) for text in piece.to_pylist()]
        first: dict[str, int] = {}
        for row, item in enumerate(texts["item"]):
            if first.setdefault(item, row) != row:
                raise BadTable(
                    f"found item {show(item)} a second time",
                    expected="each item once: it belongs to one split",
                    fix="keep one row an item",
                    code="doubled-item",
                    where=rows.where(row, "item"),
                )
        names = list(dict.fromkeys(texts["split"]))
        codes = np.array([names.index(name) for name in texts["split"]], np.int32)
        return cls(pa.array(texts["item"], pa.string()), CodedText(codes, pa.array(names, pa.string())), rows.path)

    def of_items(self, items: pa.StringArray) -> CodedText:
        """The split of each of `items`; an item without one is an error."""
        rows = pc.index_in(items, value_set=self.items)
        if rows.null_count:
            without = items.filter(pc.is_null(rows))
            raise BadTable(
                f"found no split for {listing([show(name, 40) for name in without[:5].to_pylist()])}"
                f" ({rows.null_count:,} items have none)",
                expected="a split for every labelled item",
                fix="add the missing items to the splits, or leave their labels out",
                code="missing-item",
                where=ErrorLocation(str(self.path) if self.path else None),
            )
        taken: Int[np.ndarray, "items"] = rows.to_numpy()
        return self.split.take(taken)


WHOLE = "train"
"""What the one part of a set without splits is called, because loaders look for a part of this name first."""


@dataclass(frozen=True, eq=False)
class Release:
    """What is shared. `inputs` and `split`, where they are there, have a row for every row of `labels`; `beliefs` and
    `annotations` speak of labelled items alone. `notes` says what was left out for that."""

    labels: SoftLabels
    inputs: Inputs | None = None
    beliefs: Beliefs | None = None
    annotations: Annotations | None = None
    split: CodedText | None = None
    title: str = "Soft labels"
    licence: str | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        labels: SoftLabels,
        *,
        inputs: Inputs | None = None,
        beliefs: Beliefs | None = None,
        annotations: Annotations | None = None,
        splits: Splits | None = None,
        title: str = "Soft labels",
        licence: str | None = None,
    ) -> Release:
        """The release of `labels` with what stands beside them; a labelled item without an input or a split, and
        beliefs over other classes, are errors."""
        if not len(labels):
            raise _bad(
                "no labels", "at least one labelled item", "check how the labels were made", "no-rows", labels.path
            )
        notes: list[str] = []
        if inputs is not None:
            notes += _left_out("inputs", len(inputs) - len(labels))
            inputs = _beside(inputs, labels)
        if beliefs is not None:
            kept = _speaks_of(beliefs.item, labels)
            notes += _left_out("beliefs", int((~kept).sum()))
            beliefs = _in_order(beliefs if kept.all() else beliefs.take(kept), labels)
        if annotations is not None:
            kept = _speaks_of(annotations.item, labels)
            notes += _left_out("answers", int((~kept).sum()))
            annotations = annotations if kept.all() else annotations.take(kept)
        split = splits.of_items(labels.items) if splits is not None else None
        return cls(labels, inputs, beliefs, annotations, split, title, licence, tuple(notes))

    def parts(self) -> Iterator[tuple[str, Int[np.ndarray, "rows"]]]:
        """Every split with its rows of the labels, in order; all rows under one name where nothing is split."""
        if self.split is None:
            yield WHOLE, np.arange(len(self.labels))
            return
        for code, name in enumerate(self.split.names.to_pylist()):
            yield name, np.flatnonzero(self.split.codes == code)

    def rows_within(self, item: CodedText, rows: Int[np.ndarray, "rows"]) -> Int[np.ndarray, "kept"]:
        """The rows of a column of items that are about the labelled `rows`."""
        is_one = np.zeros(len(self.labels), bool)
        is_one[rows] = True
        return np.flatnonzero(is_one[self.labels.rows_of(item.names)][item.codes])


def most_probable(labels: SoftLabels, rows: Int[np.ndarray, "rows"]) -> Int[np.ndarray, "rows"]:
    """The number of the most probable class of each row; among equals the one that stands first."""
    return np.asarray(labels.probs[rows].argmax(axis=1))


def _beside(inputs: Inputs, labels: SoftLabels) -> Inputs:
    rows = inputs.rows_of(labels.items.to_pylist())
    if (rows < 0).any():
        first = labels.items[int(np.argmax(rows < 0))].as_py()
        raise _bad(
            f"no input for item {show(first)} ({int((rows < 0).sum()):,} labelled items have none)",
            "an input for every labelled item",
            "name the items as the labels do, or leave --inputs out",
            "missing-input",
            inputs.path,
        )
    return inputs if np.array_equal(rows, np.arange(len(inputs))) else inputs.take(rows)


def _speaks_of(item: CodedText, labels: SoftLabels) -> np.ndarray:
    known = pc.is_in(item.names, value_set=labels.items).to_numpy(zero_copy_only=False)
    return np.asarray(known[item.codes])


def _in_order(beliefs: Beliefs, labels: SoftLabels) -> Beliefs:
    """The beliefs with their classes in the order of the labels."""
    if beliefs.classes == labels.classes:
        return beliefs
    if set(beliefs.classes) != set(labels.classes):
        raise _bad(
            f"beliefs over the classes {listing(beliefs.classes)}",
            f"the classes of the labels: {listing(labels.classes)}",
            "give the beliefs these labels were made of",
            "bad-classes",
            labels.path,
        )
    order = np.array([beliefs.classes.index(name) for name in labels.classes])
    if beliefs.hard is None:
        assert beliefs.soft is not None
        return Beliefs(beliefs.item, beliefs.annotator, labels.classes, soft=beliefs.soft[:, order])
    hard = np.argsort(order)[beliefs.hard].astype(beliefs.hard.dtype)
    return Beliefs(beliefs.item, beliefs.annotator, labels.classes, hard=hard)


def _left_out(what: str, n: int) -> list[str]:
    return [f"{n:,} {what} of items without a label are not in it"] if n else []


def _bad(found: str, expected: str, fix: str, code: str, path: Path | None) -> BadTable:
    where = ErrorLocation(str(path) if path else None)
    return BadTable(f"found {found}", expected=expected, fix=fix, code=code, where=where)


def texts_of(inputs: Inputs, rows: Int[np.ndarray, "rows"]) -> pa.StringArray:
    """The texts of some rows."""
    assert inputs.texts is not None
    return pa.array([inputs.texts[row] for row in rows.tolist()], pa.string())


@dataclass(frozen=True)
class Shared:
    """What was written: the place, its files by their names there, and how to read them."""

    place: Path
    files: tuple[str, ...]
    reading: str


@runtime_checkable
class Format(Protocol):
    """A form in which others read labels."""

    name: ClassVar[str]
    holds_answers: ClassVar[bool]
    """Whether beliefs and answers can stand beside the labels."""

    def check_place(self, place: Path) -> None:
        """An error unless the release can be written to `place`; for the moment before anything is read."""
        ...

    def write(self, release: Release, place: Path) -> Shared: ...
