"""The rows of a platform's export, by the names of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.tables.errors import BadTable, ErrorLocation, listing, nearest


def read_export(path: Path) -> list[dict[str, str]]:
    """Every row of a platform's CSV, all columns as text."""
    # Arrow is for exports; a server does without.
    from sfumato.tables.files import read_rows

    rows = read_rows(path, guarded=False)
    return [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for chunk in rows.chunks
        for row in chunk.to_pylist()
    ]


def column_of(row: Mapping[str, str], name: str, *, needed: bool = True) -> str:
    """The value of the column `name`, whatever its case; an error where a needed one is not there."""
    for column, value in row.items():
        if column.strip().lower() == name.lower():
            return value.strip()
    if not needed:
        return ""
    raise BadTable(
        f"found the columns {listing(list(row))}",
        expected=f"a column {name!r}, as the platform's export has it",
        fix=f"{nearest(name, row)}give the CSV as it was downloaded",
        code="missing-column",
        where=ErrorLocation(column=name),
    )
