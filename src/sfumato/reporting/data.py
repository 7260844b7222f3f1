"""The numbers behind a figure: named columns, where they come from, and how they are written down."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from sfumato.tables.errors import BadTable, listing
from sfumato.tables.table import Table

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
