"""CSV in and out: every field is text, every fault has its line.

pyarrow does the fast reading; Python's own csv module walks the file again only to find the line of a fault.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.errors import BadFile, BadTable, Where, listing, show
from sfumato.files.text import CheckedBytes, line_of_bad_utf8, raw_bytes

MAX_COLUMNS = 4096
BLOCK_BYTES = 4 * 2**20
FORMULA_STARTS = "=+-@\t\r"


def read_header(path: Path) -> list[str]:
    """The column names, checked: there, named once each, and separated by commas."""
    with CheckedBytes(path) as file:
        start = file.read(BLOCK_BYTES)
    try:
        text = start.decode("utf-8-sig", errors="strict" if len(start) < BLOCK_BYTES else "ignore")
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    names = next(csv.reader(io.StringIO(text, newline="")), [])
    where = Where(str(path), line=1)
    if len(names) > MAX_COLUMNS:
        raise BadTable(
            f"found {len(names):,} columns",
            expected=f"at most {MAX_COLUMNS:,}",
            code="too-many-columns",
            where=where,
            fix="is the table turned on its side? write one row an answer or an item",
        )
    separator = next((s for s in (";", "\t", "|") if len(names) == 1 and s in names[0]), None)
    if separator:
        raise BadTable(
            f"found a header separated by {separator!r}",
            expected="columns separated by commas",
            code="wrong-separator",
            where=where,
            fix="save the file with commas",
        )
    if doubled := [name for name, n in Counter(names).items() if n > 1]:
        raise BadTable(
            f"found column {listing(doubled)} more than once",
            expected="each column once",
            code="doubled-column",
            where=where,
            fix="rename or remove one of them",
        )
    if not names or not all(name.strip() for name in names):
        raise BadTable(
            "found a column without a name",
            expected="a name for every column",
            code="unnamed-column",
            where=where,
            fix="write the column names into the first line",
        )
    return names


def read_chunks(path: Path, names: list[str]) -> Iterator[pa.Table]:
    """The rows in chunks, every column as text; an empty field is empty text, never null."""
    file = CheckedBytes(path)
    try:
        with file:
            reader = pa_csv.open_csv(
                file,
                read_options=pa_csv.ReadOptions(block_size=BLOCK_BYTES),
                parse_options=pa_csv.ParseOptions(newlines_in_values=True),
                convert_options=pa_csv.ConvertOptions(
                    strings_can_be_null=False, column_types={name: pa.string() for name in names}
                ),
            )
            for batch in reader:
                yield pa.Table.from_batches([batch])
            n_quotes = file.n_quotes
    except pa.ArrowInvalid as error:
        raise _located(path, len(names), str(error)) from error
    if n_quotes % 2:
        raise _unclosed_quote(path)


def line_of_row(path: Path, row: int) -> int:
    """The line of the file on which data row `row` (from 0) begins."""
    previous = 0
    seen = -2
    with raw_bytes(path) as file:
        reader = csv.reader(io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline=""))
        for fields in reader:
            if fields:
                seen += 1
            if seen == row and fields:
                return previous + 1
            previous = reader.line_num
    return previous


def write_table(table: pa.Table, path: Path, *, compressed: bool = False) -> None:
    """Write `table` as CSV; text that a spreadsheet would run as a formula gets a leading apostrophe."""
    guarded = table
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            guarded = guarded.set_column(i, field.name, _map_text(table.column(i), guard_formula))
    guarded = guarded.rename_columns([guard_formula(name) for name in table.column_names])
    with pa.output_stream(str(path), compression="gzip" if compressed else None) as stream:
        pa_csv.write_csv(guarded, stream, pa_csv.WriteOptions(quoting_style="needed"))


def guard_formula(text: str) -> str:
    """`=SUM(A1)` as `'=SUM(A1)`; undone by `unguard_formula`, so the round trip is exact."""
    return f"'{text}" if text.lstrip("'")[:1] in tuple(FORMULA_STARTS) else text


def unguard_formula(text: str) -> str:
    """The text that `guard_formula` was given."""
    return text[1:] if text.startswith("'") and text.lstrip("'")[:1] in tuple(FORMULA_STARTS) else text


def unguard_column(column: Any) -> Any:
    """A text column as it was before `write_table` guarded it."""
    return _map_text(column, unguard_formula)


def _map_text(column: Any, change: Any) -> Any:
    """`change` over a text column, touching Python only where a value begins with a suspect character."""
    import pyarrow.compute as pc

    suspect = pc.match_substring_regex(column, r"^'*[=+\-@\t\r]")
    if not pc.any(suspect).as_py():
        return column
    return pa.chunked_array([pa.array([None if t is None else change(t) for t in column.to_pylist()], column.type)])


def _located(path: Path, n_columns: int, message: str) -> BadFile | BadTable:
    """The error for what pyarrow refused, with the line found by a second, slow walk."""
    if "UTF8" in message:
        return _not_utf8(path)
    if "straddling" in message or "block" in message:
        return BadFile(
            f"found a row longer than {BLOCK_BYTES:,} bytes",
            expected="shorter rows",
            code="huge-field",
            where=Where(str(path)),
            fix="look for an unclosed quote, or for a document pasted into a field",
        )
    with raw_bytes(path) as file:
        reader = csv.reader(io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline=""))
        start = 1
        try:
            for fields in reader:
                if fields and len(fields) != n_columns:
                    return BadTable(
                        f"found {len(fields)} fields ({show(','.join(fields))})",
                        expected=f"{n_columns} fields as in the header",
                        code="ragged-row",
                        where=Where(str(path), line=start),
                        fix="add or remove commas; quote text that contains one",
                    )
                start = reader.line_num + 1
        except csv.Error:
            pass
    return BadFile(
        f"found text that is no CSV ({message[:120]})",
        expected="comma-separated rows",
        code="bad-csv",
        where=Where(str(path), line=start),
        fix="look for stray quotes near this line",
    )


def _unclosed_quote(path: Path) -> BadFile:
    """The error for an odd number of quotes, placed at the last line that opens one and never closes it."""
    line = 1
    n_open = 0
    with raw_bytes(path) as file:
        for number, text in enumerate(file, 1):
            if text.count(b'"') % 2:
                n_open += 1
                line = number if n_open % 2 else line
    return BadFile(
        "found a quote that is never closed",
        expected="quotes in pairs",
        code="unclosed-quote",
        where=Where(str(path), line=line),
        fix='close the quote; write a quote inside quoted text twice ("")',
    )


def _not_utf8(path: Path) -> BadFile:
    return BadFile(
        "found bytes that are not UTF-8",
        expected="UTF-8 text",
        code="not-utf8",
        where=Where(str(path), line=line_of_bad_utf8(path)),
        fix="save the file as UTF-8",
    )
