"""The blocks of a page: prose, key numbers, lists, commands and tables; and columns of data with their source.

Text is escaped, not read as HTML. Text between `backquotes` is shown as code.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar, Protocol, final

import numpy as np

from sfumato.tables.base_table import Table
from sfumato.tables.errors import BadTable, listing
from sfumato.tables.files.csv import guard_formula


class Block(Protocol):
    """A part of a section, rendered with the file `template`."""

    @property
    def template(self) -> str: ...


@final
@dataclass(frozen=True)
class Prose:
    """Paragraphs."""

    paragraphs: tuple[str, ...]
    template: ClassVar[str] = "prose.html"


@final
@dataclass(frozen=True)
class Fact:
    """A key number with its label and a small note."""

    value: str
    label: str
    note: str = ""


@final
@dataclass(frozen=True)
class Facts:
    """A row of two to five key numbers."""

    facts: tuple[Fact, ...]
    template: ClassVar[str] = "facts.html"


@final
@dataclass(frozen=True)
class Points:
    """A bulleted list."""

    points: tuple[str, ...]
    template: ClassVar[str] = "points.html"


@final
@dataclass(frozen=True)
class Commands:
    """Commands for a terminal."""

    lines: tuple[str, ...]
    template: ClassVar[str] = "commands.html"


Data = Table | Mapping[str, Sequence[Any] | np.ndarray]
"""The data of a chart: a table, or columns by name."""

Columns = dict[str, tuple[Any, ...]]
"""Columns of plain values: text, numbers, booleans, or None."""


@dataclass(frozen=True)
class DataSource:
    """Where numbers come from: the command that computes them, their file, and a note. Each may be empty."""

    command: str = ""
    file: str = ""
    note: str = ""


def as_columns(data: Data) -> Columns:
    """The columns of `data` as plain values; NaN and infinities become None, for JSON."""
    named = data.to_arrow().to_pydict() if isinstance(data, Table) else data
    columns = {str(name): tuple(_plain(value) for value in values) for name, values in named.items()}
    if len({len(values) for values in columns.values()}) != 1:
        each = [f"{name}: {len(values):,}" for name, values in columns.items()]
        raise _unequal(f"columns of different lengths ({listing(each)})" if columns else "no columns")
    return columns


def _unequal(found: str) -> BadTable:
    fix = "give each row a value in every column, None where there is none"
    return BadTable(found, "one column or more, all of one length", fix, "bad-columns")


def attributes(rows: Sequence[object], *names: str) -> dict[str, list[Any]]:
    """Columns from the attributes of some objects, such as scores."""
    return {name: [getattr(row, name) for row in rows] for name in names}


def n_rows(columns: Columns) -> int:
    """The number of rows."""
    return len(next(iter(columns.values())))


def csv_text(columns: Columns) -> str:
    """The columns as CSV (RFC 4180) with full precision; missing values are empty, and no text is a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    for row in (tuple(columns), *zip(*columns.values(), strict=True)):
        writer.writerow([guard_formula(each) if isinstance(each, str) else each for each in row])
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


MISSING = "–"
DIGITS = 3
MAX_DECIMALS = 6


@final
@dataclass(frozen=True)
class Column:
    """A table column: title, values (NaN is missing), and decimals shown (None: chosen from the values)."""

    title: str
    values: tuple[Any, ...]
    decimals: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(_plain(value) for value in self.values))

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers, with at least one."""
        numbers = [value for value in self.values if value is not None]
        return bool(numbers) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in numbers)

    def shown(self) -> tuple[str, ...]:
        """The values as text; all numbers with the same decimals and thousands separators."""
        if not self.is_numeric:
            return tuple(MISSING if value is None else _text(value) for value in self.values)
        places = decimals_of(self.values) if self.decimals is None else self.decimals
        return tuple(MISSING if value is None else f"{value:,.{places}f}" for value in self.values)


@final
@dataclass(frozen=True)
class ReportTable:
    """A numbered table with its caption; `emphasized` is the index of a highlighted row."""

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    source: DataSource | None = None
    emphasized: int | None = None
    template: ClassVar[str] = "listing.html"

    def __post_init__(self) -> None:
        if len({len(column.values) for column in self.columns}) != 1:
            raise _unequal(f"columns of different lengths in the table {self.name!r}, or none")

    @property
    def data(self) -> Columns:
        """The columns by title, with full precision."""
        return {column.title: column.values for column in self.columns}


def rows_of(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """The rows of some columns as text."""
    return list(zip(*(column.shown() for column in columns), strict=True))


def decimals_of(values: Sequence[Any]) -> int:
    """The decimals that show about three digits of the median value; 0 for whole numbers."""
    sizes = sorted(abs(value) for value in values if value)
    if all(value is None or float(value).is_integer() for value in values) or not sizes:
        return 0
    middle = sizes[len(sizes) // 2]
    return min(max(DIGITS - 1 - math.floor(math.log10(middle)), 0), MAX_DECIMALS)


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
