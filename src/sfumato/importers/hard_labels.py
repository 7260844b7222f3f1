"""Reads hard labels and ground truth: one class per item, from a table with `item` and `label` or from one-hot rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.tables.base_table import Table
from sfumato.tables.class_columns import id_column, with_whole_numbers
from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import (
    BadTable,
    ErrorLocation,
    SfumatoError,
    doubled_item,
    missing_column,
    no_rows,
    raise_together,
    show,
    unknown,
    warnings_off,
)
from sfumato.tables.estimand import Estimand
from sfumato.tables.files.file_type import CSV, PARQUET, TSV
from sfumato.tables.files.table_file import Rows, other_table, read_rows
from sfumato.tables.frame_votes import is_frame
from sfumato.tables.row_numbers import recorded_row_sources
from sfumato.tables.soft_labels import SoftLabels

LABEL_NAMES = ("truth", "label", "class", "true_label", "gold", "target", "prediction", "predicted")
"""Names of columns that hold one class per item, the most certain first."""
UNKNOWN = ("", "-1", "nan", "NaN", "None", "null", "NA")
"""How tables write that the true class is not known."""


@dataclass(frozen=True)
class ItemClasses:
    """The class of each item by name; `n_unknown` items have none."""

    of: dict[str, str]
    n_unknown: int = 0
    path: Path | None = None
    row_sources: tuple[str, ...] = ()
    """The files whose row numbers the ids of items are."""

    def one_hot(self, classes: Sequence[str] = (), estimand: Estimand | None = None) -> SoftLabels:
        """One-hot labels over `classes` (default: the classes that occur, in order)."""
        known = tuple(classes) or in_order(self.of.values())
        for item, name in self.of.items():
            if name not in known:
                fix = f"item {show(item)} has it: use the same class names in both files"
                raise unknown("class", name, known, where=self.path, fix=fix)
        number = {name: k for k, name in enumerate(known)}
        rows = np.eye(len(known))[[number[name] for name in self.of.values()]]
        labels = SoftLabels.from_numpy(list(self.of), rows, known, estimand=estimand)
        return replace(labels, classes=known, path=self.path, row_sources=self.row_sources)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the file."""
        return (f"{self.n_unknown:,} items without a known class are left out",) if self.n_unknown else ()


def in_order(names: object) -> tuple[str, ...]:
    """Class names in order, each once: numbers by value, text alphabetically."""
    distinct = sorted(set(names))  # type: ignore[call-overload]
    is_number = all(name.removeprefix("-").isdecimal() for name in distinct)
    return tuple(sorted(distinct, key=int) if is_number else distinct)


def read_hard_labels(path: str | Path, column: str | None = None) -> ItemClasses:
    """The class of each item: from a table with `item` and `label` (or `truth`), or from one-hot SoftLabels.

    In a table of votes, the column `truth` repeats the class of an item in each of its rows. An empty field or -1 means
    that the class is not known. `column` names such a column of a table of votes.
    """
    path = Path(path)
    rows = read_rows(path)
    repeats = column is not None
    column = column or label_column(rows)
    if column is None:
        if any(name == "probs" or name.startswith("p:") for name in rows.schema.names):
            return hard_labels_of(SoftLabels.read(path))
        fix = other_table(rows.schema.names) or "name the columns item and label"
        raise missing_column(rows.schema.names, "the columns item and label", fix, rows.where())
    key = id_column(rows.schema.names) or "item"
    if column == "label" and not repeats and "annotator" in rows.schema.names:
        found, fix = "one row per answer", "aggregate the answers first: sfumato aggregate FILE --by majority"
        raise BadTable(found, "one row per item", fix, "not-labels", rows.where())
    columns = read_columns(rows, (key, column), optional=(column,))
    found_labels: dict[str, str] = {}
    faults: list[SfumatoError] = []
    repeats = repeats or column == "truth"
    for row, (item, name) in enumerate(zip(columns.listed(key), columns.listed(column), strict=True)):
        if item not in found_labels:
            found_labels[item] = name
        elif not repeats:
            faults.append(doubled_item(item, rows.where(row, key)) if len(faults) < 10 else faults[-1])
        elif found_labels[item] != name:
            text = f"{show(name)} for item {show(item)}, which was {show(found_labels[item])} before"
            faults.append(BadTable(text, "one class per item", "correct one of them", "two-classes", rows.where(row)))
    raise_together(faults)
    known = {item: name for item, name in found_labels.items() if name not in UNKNOWN}
    if not known:
        raise no_rows("at least one item with a class", where=rows.where())
    of = dict.fromkeys(known.values())
    named = dict(zip(of, with_whole_numbers(list(of), (), rows.name), strict=True))
    known = {item: named[name] for item, name in known.items()}
    return ItemClasses(known, len(found_labels) - len(known), path, recorded_row_sources(rows))


def classes_of_frame(labels: Any) -> ItemClasses | None:
    """The class of each item in a data frame with `item` and `label`, or in a dictionary; None for anything else."""
    if isinstance(labels, Mapping) and labels and all(isinstance(each, (str, int)) for each in labels.values()):
        return ItemClasses({str(item): str(name) for item, name in labels.items()})
    if not is_frame(labels) or isinstance(labels, Table):
        return None
    rows = Rows.of(labels)
    key, column = id_column(rows.schema.names), label_column(rows)
    if key is None or column is None:
        return None
    columns = read_columns(rows, (key, column))
    found: dict[str, str] = {}
    for row, (item, name) in enumerate(zip(columns.listed(key), columns.listed(column), strict=True)):
        if found.setdefault(item, name) != name:
            raise doubled_item(item, rows.where(row, key))
    return ItemClasses(found)


def read_truth(path: str | Path, classes: Sequence[str] = (), votes: Path | None = None) -> SoftLabels:
    """The true class of each item as one-hot labels over `classes`. Instead of a file, `path` may be the name of a
    column of the table `votes`, which repeats the class of an item in each of its rows."""
    kinds = (*CSV.suffixes, *TSV.suffixes, *PARQUET.suffixes)
    if votes is not None and not Path(path).exists() and votes.name.lower().endswith(kinds):
        with warnings_off():
            is_column = str(path) in read_rows(votes).schema.names
        if is_column:
            return read_hard_labels(votes, str(path)).one_hot(classes, Estimand.TRUTH)
    return read_hard_labels(path).one_hot(classes, Estimand.TRUTH)


def label_column(rows: Rows) -> str | None:
    """The column that holds one class per item; None if there is none."""
    return next((name for name in LABEL_NAMES if name in rows.schema.names), None)


def hard_labels_of(labels: SoftLabels) -> ItemClasses:
    """The class of each item, from one-hot labels."""
    soft = labels.probs.max(axis=1) < 1
    if soft.any():
        row = int(np.argmax(soft))
        found = f"a soft label for item {show(labels.items[row].as_py())}"
        fix = "give soft labels with --labels, and a table with item and label with --original"
        where = ErrorLocation(str(labels.path) if labels.path else None, row=row)
        raise BadTable(found, "one class per item, with probability 1", fix, "not-one-hot", where)
    best = labels.probs.argmax(axis=1).tolist()
    names = [labels.classes[k] for k in best]
    of = dict(zip(labels.items.to_pylist(), names, strict=True))
    return ItemClasses(of, 0, labels.path, labels.row_sources)
