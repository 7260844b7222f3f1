"""Records: rows that are dataclasses of one kind, as columns of a table and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sfumato.tables.columns import check_columns
from sfumato.tables.errors import BadTable, show
from sfumato.tables.files import Rows

Record = TypeVar("Record")


def columns_of(rows: Sequence[Any], kind: type) -> pa.Table:
    """Rows that are dataclasses of one `kind`, as Arrow columns in the order of its fields; NaN is left empty."""
    types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    columns = {
        field.name: pa.array([getattr(row, field.name) for row in rows], types[str(field.type)], from_pandas=True)
        for field in fields(kind)
    }
    return pa.table(columns)


def rows_of(rows: Rows, kind: type[Record]) -> tuple[Record, ...]:
    """What `columns_of` wrote, as dataclasses of one `kind` again; what is empty is NaN."""
    check_columns(rows, tuple(field.name for field in fields(kind)))  # type: ignore[arg-type]
    found: list[Record] = []
    for chunk in rows.chunks:
        for row in chunk.to_pylist():
            found.append(_row(rows, row, kind, len(found)))
    return tuple(found)


def _row(rows: Rows, row: dict[str, Any], kind: type[Record], number: int) -> Record:
    read: dict[str, Callable[[Any], Any]] = {
        "str": str,
        "int": int,
        "float": lambda value: np.nan if value in (None, "") else float(value),
    }
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        try:
            values[field.name] = read[str(field.type)](row[field.name])
        except (TypeError, ValueError):
            raise BadTable(
                f"found {show(row[field.name])}",
                expected={"str": "a text", "int": "a whole number", "float": "a number"}[str(field.type)],
                fix="write the table anew with the command that made it",
                code="bad-number",
                where=rows.where(number, field.name),
            ) from None
    return kind(**values)
