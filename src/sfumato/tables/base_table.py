"""The base class of all tables: conversion to Arrow, writing, and HTML for notebooks.

`columns_of` and `rows_of` convert dataclasses to Arrow columns and back.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tables.call_arguments import no_attribute
from sfumato.tables.class_order import OrderedClasses, is_ordered, reordered
from sfumato.tables.errors import BadTable, MissingExtra, bad_number, listing, show, warn
from sfumato.tables.files.file_type import CSV, TABLE_KINDS, kind_of
from sfumato.tables.files.table_file import ROW_GROUP, Rows, check_columns, class_names, classes_metadata, write_rows
from sfumato.tables.growable_array import freeze
from sfumato.tables.printed_text import PrintedResult
from sfumato.tables.row_numbers import row_sources_metadata

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Table(PrintedResult, ABC):
    """A frozen, checked table; subclasses define `chunk`.

    `wide` is the layout of a CSV: one column per class (`p:cat`) instead of the list column `probs`.
    """

    classes: tuple[str, ...]
    row_sources: tuple[str, ...] = ()
    """The files whose row numbers the ids of items are; empty if they are not known to be row numbers."""
    private: ClassVar[bool] = False
    """Whether only the owner may read its files."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        """Rows `start` to `stop` as plain Arrow columns."""

    def metadata(self) -> dict[bytes, bytes]:
        """The metadata of its files: the classes, in order, and the files whose row numbers the ids are."""
        return classes_metadata(self.classes) | row_sources_metadata(self.row_sources)

    @property
    def is_ordered(self) -> bool:
        """Whether the classes are on a scale (none < mild < severe)."""
        return is_ordered(self.classes)

    @final
    def as_ordered(self, scale: Sequence[str] = ()) -> Self:
        """The same table with its classes on a scale, from the lowest to the highest: in the order of `scale`, or
        else of `classes`."""
        return self.in_class_order(OrderedClasses(scale or self.classes))

    @final
    def in_class_order(self, classes: Sequence[str]) -> Self:
        """The same table with its classes, and the columns of their numbers, in the order of `classes`. Other names
        are an error. A table with a scale keeps its order; `as_ordered` gives it another."""
        return reordered(self, class_names(classes), getattr(self, "path", None))  # type: ignore[no-any-return]

    @final
    def to_arrow(self) -> pa.Table:
        """The table as in a Parquet file, with the classes in the schema's metadata."""
        table = self.chunk(0, len(self), wide=False)
        return table.replace_schema_metadata(self.metadata())

    @final
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @final
    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars data frame."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    @final
    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame, one column per class."""
        if find_spec("pandas") is None:
            expected = "pandas, for to_pandas()"
            raise MissingExtra("no pandas", expected, "pip install pandas, or use to_polars() or to_arrow()")
        return self.chunk(0, len(self), wide=True).to_pandas()

    @final
    def write(self, path: str | Path) -> None:
        """Write to `.parquet` or `.csv` (wide); an old file is replaced when the new one is complete."""
        wide = kind_of(Path(path), TABLE_KINDS, to_write=True) is CSV
        if wide and self.is_ordered:
            warn(f"{Path(path).name}: a CSV does not record that its classes are ordered; read it with --ordered")
        schema = self.chunk(0, 0, wide=wide).schema.with_metadata(self.metadata())
        starts = range(0, len(self), ROW_GROUP)
        chunks = (self.chunk(i, min(i + ROW_GROUP, len(self)), wide=wide) for i in starts)
        write_rows(schema, chunks, path, private=self.private)

    @final
    def head(self, n: int = 5) -> pl.DataFrame:
        """The first `n` rows as a Polars data frame, one column per class."""
        import polars as pl

        frame = pl.from_arrow(self.chunk(0, min(n, len(self)), wide=True))
        assert isinstance(frame, pl.DataFrame)
        return frame

    @final
    def __eq__(self, other: object) -> bool:
        """Whether both have the same rows in the same order, and the same classes."""
        if not isinstance(other, Table) or type(other) is not type(self):
            return NotImplemented
        return len(self) == len(other) and self.to_arrow().equals(other.to_arrow(), check_metadata=True)

    @final
    def __hash__(self) -> int:
        return hash((type(self).__name__, len(self), self.classes))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            known = {*dir(type(self)), *getattr(type(self), "__dataclass_fields__", ())}
            raise no_attribute(f"a table {type(self).__name__}", name, sorted(known), HINTS)

    @property
    def plot(self) -> Any:
        """Charts of the table for notebooks: `labels.plot.entropy()` (needs the extra `report`)."""
        # Imported by name when used: tables do not depend on reporting.
        return import_module("sfumato.reporting").plot(self)

    @final
    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.lines() else table_html(self)

    def __repr__(self) -> str:
        classes = f", {len(self.classes)} classes" if self.classes else ""
        return f"<{type(self).__name__}: {len(self):,} rows{classes}>"


HINTS = {
    "to_csv": 'use write("table.csv")',
    "to_parquet": 'use write("table.parquet")',
    "save": 'use write("table.parquet")',
    "probabilities": "use probs",
    "labels": "use argmax() for one class per item, probs for the distributions",
    "shape": "use len(table) and len(table.classes)",
    "columns": "use to_polars().columns",
    "values": "use probs",
}
"""What to use instead of names from other libraries."""

N_ROWS = 8
# Okabe and Ito's palette (2008), with black (invisible on dark pages) replaced, and two colors of Tol: distinguishable
# with any color vision; then grays.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999", "#882255", "#44AA99")

STYLE = (
    "<style>.sfumato td,.sfumato th{text-align:left!important;padding:.15em .8em .15em 0}"
    ".sfumato caption{text-align:left;font-weight:600}.sfumato .bar{display:flex;width:16em;height:1em;"
    "border:1px solid #8888;border-radius:2px;overflow:hidden}.sfumato .key i{display:inline-block;width:.8em;"
    "height:.8em;margin:0 .3em 0 .8em;border-radius:2px}</style>"
)


def table_html(table: Table) -> str:
    """The first rows of `table` as HTML, with distributions as bars and a key of the classes."""
    head = table.chunk(0, min(N_ROWS, len(table)), wide=False)
    names = head.column_names
    header = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(name, row[name], table.classes)}</td>" for name in names) + "</tr>"
        for row in head.to_pylist()
    )
    key = "".join(
        f'<i style="background:{color(k)}"></i>{escape(name)}'
        for k, name in enumerate(table.classes)
        if "probs" in names
    )
    more = f"<p>... and {len(table) - N_ROWS:,} more rows</p>" if len(table) > N_ROWS else ""
    return (
        f'<div class="sfumato">{STYLE}<table><caption>{type(table).__name__}: {len(table):,} rows</caption>'
        f'<thead><tr>{header}</tr></thead><tbody>{body}</tbody></table><p class="key">{key}</p>{more}</div>'
    )


def color(k: int) -> str:
    """The color of class number `k`."""
    return COLORS[k] if k < len(COLORS) else f"hsl(0 0% {30 + (k * 23) % 55}%)"


def _cell(name: str, value: Any, classes: tuple[str, ...]) -> str:
    if name == "probs":
        parts = "".join(
            f'<span style="width:{100 * p:.2f}%;background:{color(k)}" title="{escape(classes[k])} {p:.3f}"></span>'
            for k, p in enumerate(value)
            if p > 0
        )
        return f'<span class="bar">{parts}</span>'
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "" if value is None else str(value)
    return escape(text if len(text) <= 120 else f"{text[:117]}...")


Record = TypeVar("Record")


def columns_of(rows: Sequence[Any], kind: type) -> pa.Table:
    """Dataclasses of one `kind` as Arrow columns in the order of its fields; NaN and None become null."""
    types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    columns = {}
    for field in fields(kind):
        values = [getattr(row, field.name) for row in rows]
        columns[field.name] = pa.array(values, types[str(field.type).removesuffix(" | None")], from_pandas=True)
    return pa.table(columns)


class ItemTable(Table):
    """A table with one row per item, found by the item's id."""

    items: pa.StringArray
    path: Path | None

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[str]:
        return iter(self.items.to_pylist())

    def __contains__(self, item: object) -> bool:
        return bool(pc.index(self.items, str(item)).as_py() >= 0)

    def row_of(self, item: str | int) -> int:
        """The row of one item, by its id; an error suggests the nearest ids."""
        row = pc.index(self.items, str(item)).as_py()
        if row < 0:
            names = self.items.to_pylist()
            near = difflib.get_close_matches(str(item)[:200], names[:MOST_COMPARED], n=3)
            such = listing([show(name, 40) for name in near or names[:3]])
            fix = f"did you mean {such}?" if near else f"use an id of the table, such as {such}; items lists them all"
            found = f"no item {show(str(item))} among {len(self):,} items"
            raise BadTable(found, "the id of an item in the table", fix, "missing-item", self.path)
        return int(row)


MOST_COMPARED = 20_000
"""How many ids are compared with an unknown one."""


class RecordTable(Table):
    """A table of rows that are dataclasses of the type `record`, held in the first field of the subclass."""

    classes = ()
    record: ClassVar[type]

    def _records(self) -> Sequence[Any]:
        return getattr(self, fields(self)[0].name)  # type: ignore[no-any-return, arg-type]

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self._records()[start:stop], self.record)

    def __len__(self) -> int:
        return len(self._records())


class ColumnTable(Table):
    """A table whose fields are its columns: arrays, or tuples of text; NaN becomes null.

    `renamed` are the fields whose column has another name. A field that is None is no column, one that is a dictionary
    is several.
    """

    classes = ()
    renamed: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        arrays = (field.name for field in fields(self) if isinstance(getattr(self, field.name), np.ndarray))  # type: ignore[arg-type]
        freeze(self, *arrays)

    @classmethod
    def of(cls, records: Sequence[Any]) -> Self:
        """The table of `records`, in this order, which have an attribute for each field."""
        columns: dict[str, Any] = {}
        for field in fields(cls):  # type: ignore[arg-type]
            values = [getattr(each, field.name) for each in records]
            kind = str(field.type)
            number = np.int64 if kind.startswith("Int") else np.float64
            columns[field.name] = tuple(values) if kind.startswith("tuple") else np.array(values, number)
        return cls(**columns)

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, dict):
                columns |= value
            elif value is not None:
                columns[self.renamed.get(field.name, field.name)] = value
        return pa.table({name: _sliced(column, start, stop) for name, column in columns.items()})

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]


def _sliced(column: Any, start: int, stop: int) -> pa.Array:
    if isinstance(column, tuple):
        return pa.array([str(text) for text in column[start:stop]], pa.string())
    is_arrow = isinstance(column, pa.Array)
    return column.slice(start, stop - start) if is_arrow else pa.array(column[start:stop], from_pandas=True)


def rows_of(rows: Rows, kind: type[Record]) -> tuple[Record, ...]:
    """The inverse of `columns_of`: rows as dataclasses of one `kind`; empty numbers are NaN, and columns of
    fields with a default may be missing."""
    required = (field.name for field in fields(kind) if field.default is MISSING)  # type: ignore[arg-type]
    check_columns(rows, tuple(required))
    found: list[Record] = []
    for chunk in rows.chunks:
        for row in chunk.to_pylist():
            found.append(_row(rows, row, kind, len(found)))
    return tuple(found)


def _row(rows: Rows, row: dict[str, Any], kind: type[Record], number: int) -> Record:
    read: dict[str, Callable[[Any], Any]] = {
        "str": lambda value: "" if value is None else str(value),
        "int": int,
        "float": lambda value: np.nan if value in (None, "") else float(value),
    }
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in row and field.default is not MISSING:
            continue
        try:
            values[field.name] = read[str(field.type)](row[field.name])
        except (TypeError, ValueError):
            expected = {"str": "a text", "int": "a whole number", "float": "a number"}[str(field.type)]
            fix = "write the table again with the command that made it"
            raise bad_number(row[field.name], expected, fix, rows.where(number, field.name)) from None
    return kind(**values)
