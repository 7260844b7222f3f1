"""What stands in a section besides figures and tables: words, big numbers, points, commands.

Text is text: nothing in it is read as HTML. A part between `backquotes` is set as code.

The numbers behind a figure: named columns, where they come from, and how they are written down.

Tables for reading: numbers in columns whose decimal points stand below each other.
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

from sfumato.tables.errors import BadTable, listing
from sfumato.tables.table import Table


class Block(Protocol):
    """A part of a section; `template` is the file that says how it looks."""

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
    """One number to remember: what it counts, and a note in small print."""

    value: str
    label: str
    note: str = ""


@final
@dataclass(frozen=True)
class Facts:
    """A row of big numbers. Two to five can be taken in at a glance."""

    facts: tuple[Fact, ...]
    template: ClassVar[str] = "facts.html"


@final
@dataclass(frozen=True)
class Points:
    """Sentences one below the other."""

    points: tuple[str, ...]
    template: ClassVar[str] = "points.html"


@final
@dataclass(frozen=True)
class Commands:
    """Lines to be typed into a terminal."""

    lines: tuple[str, ...]
    template: ClassVar[str] = "commands.html"


Data = Table | Mapping[str, Sequence[Any] | np.ndarray]
"""What a figure may be drawn from: one of our tables, or columns by name."""

Columns = dict[str, tuple[Any, ...]]
"""Columns of plain values: text, numbers, truth values, None for what is missing."""


@dataclass(frozen=True)
class DataSource:
    """Where numbers come from: the command that makes them anew, the file they stand in, and what a reader of either
    should know. Any of the three may be empty."""

    command: str = ""
    file: str = ""
    note: str = ""


def as_columns(data: Data) -> Columns:
    """The columns of `data` as plain values; NaN and infinities become None, which JSON and charts can hold."""
    named = data.to_arrow().to_pydict() if isinstance(data, Table) else data
    columns = {str(name): tuple(_plain(value) for value in values) for name, values in named.items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        each = [f"{name}: {len(values):,}" for name, values in columns.items()]
        raise BadTable(
            f"found columns of different lengths ({listing(each)})" if columns else "found no columns",
            expected="one column or more, all of one length",
            fix="give each row a value in every column, None where there is none",
            code="bad-columns",
        )
    return columns


def n_rows(columns: Columns) -> int:
    """How many rows the columns have."""
    return len(next(iter(columns.values())))


def csv_text(columns: Columns) -> str:
    """The columns as CSV (RFC 4180), numbers in full; what is missing is left empty."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
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
MOST_DECIMALS = 6


@final
@dataclass(frozen=True)
class Column:
    """One column: its title, its values, and how many decimals are shown; None lets the values decide."""

    title: str
    values: tuple[Any, ...]
    decimals: int | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether it holds nothing but numbers, and at least one."""
        numbers = [value for value in self.values if value is not None]
        return bool(numbers) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in numbers)

    def shown(self) -> tuple[str, ...]:
        """The values as they are read: all numbers with the same decimals, thousands apart."""
        if not self.is_numeric:
            return tuple(MISSING if value is None else _word(value) for value in self.values)
        places = decimals_of(self.values) if self.decimals is None else self.decimals
        return tuple(MISSING if value is None else f"{value:,.{places}f}" for value in self.values)


@final
@dataclass(frozen=True)
class ReportTable:
    """A numbered table with its caption; `emphasised` is the number of a row to be set apart, from 0."""

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    source: DataSource | None = None
    emphasised: int | None = None
    template: ClassVar[str] = "listing.html"

    def __post_init__(self) -> None:
        if len({len(column.values) for column in self.columns}) != 1:
            raise BadTable(
                f"found columns of different lengths in the table {self.name!r}, or none",
                expected="one column or more, all of one length",
                fix="give each row a value in every column, None where there is none",
                code="bad-columns",
            )

    @property
    def data(self) -> Columns:
        """The columns by their titles, in full."""
        return {column.title: column.values for column in self.columns}

    def rows(self) -> list[tuple[str, ...]]:
        """The rows as they are read."""
        return rows_of(self.columns)


def rows_of(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """The rows of some columns as they are read."""
    return list(zip(*(column.shown() for column in columns), strict=True))


def decimals_of(values: Sequence[Any]) -> int:
    """How many decimals show about three digits of a middling value, and none of whole numbers."""
    sizes = sorted(abs(value) for value in values if value)
    if all(value is None or float(value).is_integer() for value in values) or not sizes:
        return 0
    middle = sizes[len(sizes) // 2]
    return min(max(DIGITS - 1 - math.floor(math.log10(middle)), 0), MOST_DECIMALS)


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
