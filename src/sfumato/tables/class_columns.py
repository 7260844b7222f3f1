"""Finds and reads the columns of numbers per class in a wide table: `n:cat`, `p:cat`, or plain class names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.tables.class_order import names_like
from sfumato.tables.columns import NUMBER, check_classes
from sfumato.tables.errors import (
    MOST_FAULTS,
    BadTable,
    SfumatoError,
    bad_classes,
    bad_number,
    listing,
    raise_together,
    show,
    warn,
)
from sfumato.tables.files.table_file import Rows, check_columns
from sfumato.tables.growable_array import GrowableArray
from sfumato.tables.option_words import is_command, option

ID_NAMES = (
    "item", "item_id", "task", "task_id", "id", "uid", "example_id", "image_id", "image", "image_name", "filename",
    "file", "index", "idx",
)  # fmt: skip
"""Names of id columns, the most certain first; compared without regard to case, spaces and underscores."""
FORMAT_OF = {"votes": "counts", "probabilities": "labels"}
"""The format of `sfumato import` that reads such numbers, with options for its columns."""
TOTAL_NAMES = frozenset({"total", "sum", "n", "votes", "nvotes", "numvotes", "count", "all", "nannotators", "answers"})


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


def id_column(names: Sequence[str]) -> str | None:
    """The column of item ids among `names`, by its name; None if there is none."""
    by_name = {_plain(name): name for name in reversed(names)}
    return next((by_name[_plain(known)] for known in ID_NAMES if _plain(known) in by_name), None)


@dataclass
class NumberColumn:
    """A column as numbers, NaN where a cell is none; the first such cells are kept with their row."""

    name: str
    values: GrowableArray = field(default_factory=lambda: GrowableArray(np.float64))
    bad: list[tuple[int, Any]] = field(default_factory=list)
    n_bad: int = 0

    def append(self, column: pa.ChunkedArray) -> None:
        """Add the next cells."""
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        plain = column.cast(kind)
        if pa.types.is_boolean(kind) or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            text = plain.cast(pa.string()) if _can_be_text(kind) else pa.chunked_array([pa.nulls(len(plain))])
            is_number = pc.fill_null(pc.match_substring_regex(text.cast(pa.string()), NUMBER), False)
            figures = pc.if_else(is_number, text.cast(pa.string()), pa.scalar(None, pa.string())).cast(pa.float64())
        else:
            figures = plain.cast(pa.float64())
        numbers = figures.to_numpy(zero_copy_only=False).astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        start = len(self.values)
        for row in wrong[: MOST_FAULTS - len(self.bad)].tolist():
            self.bad.append((start + row, plain[row].as_py()))
        self.n_bad += len(wrong)
        self.values.append(numbers)

    @property
    def is_text(self) -> bool:
        """Whether the first cells that are no numbers are words."""
        return are_words([value for _, value in self.bad])

    @property
    def has_decimal_commas(self) -> bool:
        """Whether the first cells that are no numbers would be numbers with a point."""
        return any(with_point(value) for _, value in self.bad)


def are_words(values: Sequence[Any]) -> bool:
    """Whether some of the values are not blank, and none of them begins as a number does."""
    texts = [str(value) for value in values if value not in (None, "")]
    return bool(texts) and not any(re.match(r"\s*[+-]?\.?[0-9]", text) for text in texts)


def with_point(value: Any) -> str:
    """`0.7` for `0,7` and for `70%`; empty for other values."""
    text = value.strip() if isinstance(value, str) else ""
    number = text.removesuffix("%").strip().replace(",", ".") if text.count(",") < 2 else ""
    if number == text or not re.fullmatch(NUMBER, number):
        return ""
    return f"{float(number) / 100:.10g}" if text.endswith("%") else number


def with_whole_numbers(names: Sequence[str], given: Sequence[str], where: Any) -> list[str]:
    """Class numbers that were written as `1.0` as `1`, with a warning: pandas writes a column with gaps so."""
    found = list(names)
    if not found or set(found) & set(given) or not all(re.fullmatch(r"-?[0-9]{1,9}\.0+", name) for name in found):
        return found
    whole = [name.partition(".")[0] for name in found]
    warn(f"{where}: class numbers written as {found[0]} are read as {whole[0]}")
    return whole


def column_records(value: Any) -> list[dict[str, Any]]:
    """The records of one JSON object with one entry per column: lists of equal length, or objects by row number as
    `to_json` of pandas writes them; none for anything else."""
    if not isinstance(value, dict) or len(value) < 2 or id_column(list(value)) is None:
        return []
    columns = list(value.values())
    if all(isinstance(each, dict) for each in columns):
        numbers = list(columns[0])
        if numbers != list(map(str, range(len(numbers)))) or any(list(each) != numbers for each in columns):
            return []
        columns = [list(each.values()) for each in columns]
    if not all(isinstance(each, list) for each in columns) or len({len(each) for each in columns}) != 1:
        return []
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def _can_be_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


@dataclass(frozen=True)
class ClassColumns:
    """The ids and the numbers per class of a wide table, and the faults of single cells."""

    items: list[str]
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: Float[np.ndarray, "items classes"]
    key: str | None
    unread: tuple[str, ...]
    faults: tuple[SfumatoError, ...]
    n_faults: int


@dataclass(frozen=True)
class ColumnChoice:
    """Which columns of a wide table are read.

    `item` names the column of ids (default: a known name, else row numbers are the ids). `classes` chooses and orders
    the class columns; `leave_out` names columns that are not classes. `has_ids` means that the ids are given apart.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    has_ids: bool = False


def read_class_columns(rows: Rows, prefix: str, what: str, choice: ColumnChoice | None = None) -> ClassColumns:
    """The numbers per class of `rows`; `what` they are ("votes") is for messages.

    Columns that begin with `prefix` are the classes. Without any, every column is a class. Columns without any number
    are left out, with a warning that names them; others that cannot be a class (ids, totals, mostly text) are an error.
    """
    choice = choice or ColumnChoice()
    names = rows.schema.names
    check_columns(rows, (*([choice.item] if choice.item else []), *choice.leave_out))
    key = choice.item or id_column([name for name in names if not name.startswith(prefix)])
    marked = [name for name in names if name.startswith(prefix)]
    if choice.classes:
        wanted = [prefix + name if prefix + name in marked else name for name in choice.classes]
        check_columns(rows, tuple(wanted))
    else:
        wanted = marked or [name for name in names if name not in (key, *choice.leave_out)]
    figures = {name: NumberColumn(name) for name in wanted}
    ids: list[str] = []
    n_rows = 0
    faults: list[SfumatoError] = []
    plain: list[str] = []
    for chunk in rows.chunks:
        for name, column in figures.items():
            column.append(chunk.column(name))
        if key is not None:
            ids += _ids(rows, key, chunk.column(key), n_rows, faults)
        n_rows += len(chunk)
    items = ids if key is not None else [str(i) for i in range(n_rows)]
    read = {name: column.values.finish() for name, column in figures.items()}
    if not marked and not choice.classes:
        texts = [name for name in wanted if 2 * figures[name].n_bad > n_rows and not figures[name].has_decimal_commas]
        if key is not None or choice.has_ids:
            plain = [name for name in texts if figures[name].n_bad == n_rows and figures[name].is_text]
        if len(plain) < len(wanted) and plain:
            wanted = [name for name in wanted if name not in plain]
            warn(f"{rows.name}: left out columns that are not classes: {listing(plain)} (text)")
        else:
            plain = []
        mixed = [name for name in texts if name not in plain]
        if (fault := _not_classes(rows, what, wanted, read, mixed, key)) is not None:
            faults.append(fault)
            wanted = [name for name in wanted if name not in mixed]
            raise_together([*faults, *_bad_cells(rows, what, wanted, figures)])
    faults += _bad_cells(rows, what, wanted, figures)
    classes = names_like((name.removeprefix(prefix) for name in wanted), choice.classes)
    check_classes(classes, rows.where())
    numbers = np.stack([read[name] for name in wanted], axis=1)
    unread = tuple(name for name in names if name not in (key, *wanted, *plain))
    n_faults = len(faults) + sum(figures[name].n_bad - len(figures[name].bad) for name in wanted)
    return ClassColumns(items, classes, tuple(wanted), numbers, key, unread, tuple(faults), n_faults)


def read_lists(rows: Rows, name: str, choice: ColumnChoice | None = None) -> ClassColumns:
    """The same from a list column `name` with one number per class; the classes are in the metadata or in `choice`."""
    choice = choice or ColumnChoice()
    key = choice.item or id_column(rows.schema.names)
    check_columns(rows, (*([key] if key else []), name))
    classes = rows.classes() or choice.classes
    if not classes:
        expected = "the classes as a JSON array under the schema metadata key sfumato.classes"
        fix = "name them with --classes"
        raise BadTable(f"a column {name!r} but no class names", expected, fix, "missing-classes", rows.where())
    if choice.classes and set(choice.classes) != set(classes):
        raise bad_classes(f"the classes {listing(classes)} in the table itself", choice.classes, where=rows.where())
    ids: list[str] = []
    faults: list[SfumatoError] = []
    n_rows = 0
    parts = [np.empty((0, len(classes)))]
    for chunk in rows.chunks:
        start, n_rows = n_rows, n_rows + len(chunk)
        ids += (
            [str(i) for i in range(start, n_rows)] if key is None else _ids(rows, key, chunk.column(key), start, faults)
        )
        lists = chunk.column(name).combine_chunks()
        lengths = pc.fill_null(pc.list_value_length(lists), -1).to_numpy(zero_copy_only=False)
        if (lengths != len(classes)).any() or lists.flatten().null_count:
            wrong = lengths != len(classes)
            row = int(np.argmax(wrong)) if wrong.any() else int(np.argmax(lists.flatten().is_null())) // len(classes)
            expected = f"{len(classes)} numbers, one per class, none missing"
            fix, where = "write one number per class, in the order of sfumato.classes", rows.where(start + row, name)
            raise BadTable(show(lists[row].as_py()), expected, fix, "wrong-length", where)
        parts.append(lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, len(classes)))
    order = [classes.index(each) for each in choice.classes or classes]
    columns = tuple([name] * len(classes))
    unread = tuple(each for each in rows.schema.names if each not in (key, name))
    named = names_like((classes[k] for k in order), choice.classes or classes)
    return ClassColumns(ids, named, columns, np.concatenate(parts)[:, order], key, unread, tuple(faults), len(faults))


def _ids(rows: Rows, key: str, column: pa.ChunkedArray, start: int, faults: list[SfumatoError]) -> list[str]:
    """The ids of a chunk as text; blank ones are faults."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (_can_be_text(kind) or pa.types.is_integer(kind)):
        fix = "convert the column to text"
        raise BadTable(f"ids of type {kind}", "text or whole numbers", fix, "wrong-type", rows.where(None, key))
    texts = ["" if value is None else str(value) for value in column.to_pylist()]
    for row in [row for row, text in enumerate(texts) if not text.strip() or "\0" in text][:MOST_FAULTS]:
        fix = "fill in or remove the row"
        where = rows.where(start + row, key)
        faults.append(BadTable(show(texts[row]), "text that is not blank", fix, "empty-text", where))
    return texts


def _bad_cells(rows: Rows, what: str, wanted: list[str], figures: dict[str, NumberColumn]) -> list[SfumatoError]:
    """The faults of cells that are no numbers, the first of each column."""
    return [
        bad_number(value, f"a number of {what}", _number_fix(value), rows.where(row, name))
        for name in wanted
        for row, value in figures[name].bad
    ]


def _number_fix(value: Any) -> str:
    if value in (None, ""):
        return "fill in the number or remove the row"
    if point := with_point(value):
        return f"write {point}" if "%" in value else f"write a decimal point: {point}"
    return "write numbers with ASCII digits"


def _not_classes(
    rows: Rows,
    what: str,
    wanted: list[str],
    read: dict[str, np.ndarray],
    texts: list[str],
    key: str | None,
) -> BadTable | None:
    """The fault if some columns cannot be classes: one message names them all, and how to leave them out."""
    numeric = [name for name in wanted if name not in texts]
    ids = [name for name in numeric if _plain(name) in {_plain(known) for known in ID_NAMES}]
    totals = _totals([name for name in numeric if name not in ids], read)
    if not (texts or ids or totals):
        return None
    groups = [f"{listing(texts)} (text)"] * bool(texts) + [f"{listing(ids)} (ids)"] * bool(ids)
    groups += [f"{listing(totals)} (the sum of the other columns)"] * bool(totals)
    left = [name for name in wanted if name in (*texts, *ids, *totals)]
    options = f"with {option('leave_out', left)}, or name the classes with --classes"
    if key is None and texts:
        options += "; if one of them holds the ids, name it with --item"
    place = f"sfumato import {FORMAT_OF[what]}" if is_command() else f'sf.read(path, format="{FORMAT_OF[what]}")'
    fix = f"leave them out {options} ({place})"
    found = f"columns that are not classes: {', '.join(groups)}"
    return BadTable(found, f"one column of {what} per class", fix, "not-classes", rows.where())


def _totals(names: list[str], read: dict[str, np.ndarray]) -> list[str]:
    """The columns that are the sum of all others in every row; another name than `total` needs many rows as proof."""
    if len(names) < 3:
        return []
    sums = np.sum([read[name] for name in names], axis=0)
    least = {name: 1 if _plain(name) in TOTAL_NAMES else 20 for name in names}
    return [name for name in names if len(sums) >= least[name] and np.array_equal(2 * read[name], sums)]
