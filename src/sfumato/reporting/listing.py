"""Tables for reading: numbers in columns whose decimal points stand below each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from sfumato.reporting.data import Columns, DataSource
from sfumato.tables.errors import BadTable

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
