"""CSV in and out: every field is text, every fault has its line.

pyarrow does the fast reading; Python's own csv module walks the file again only to find the line of a fault.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sfumato.tables.errors import BadFile, BadTable, ErrorLocation, SfumatoError, listing, show
from sfumato.tables.files.text_bytes import CheckedBytes, is_not_utf8, line_where, raw_bytes

MAX_COLUMNS = 4096
BLOCK_BYTES = 4 * 2**20
FORMULA_STARTS = tuple("=+-@\t\r")


def first_record(path: Path) -> list[str]:
    """The fields of the first line."""
    with CheckedBytes(path, quotes=True) as file:
        start = file.read(BLOCK_BYTES)
    whole = len(start) < BLOCK_BYTES
    try:
        text = start.decode("utf-8-sig", errors="strict" if whole else "ignore")
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    fields = next(_records(io.StringIO(text, newline="")), [])
    if not whole and "\n" not in text and "\r" not in text:
        raise _huge(path)
    if text.count('"') % 2 and any("\n" in field for field in fields):
        with CheckedBytes(path, quotes=True) as file:
            file.read_all()
    return fields


def read_header(path: Path) -> list[str]:
    """The column names, checked: there, named once each, and separated by commas."""
    names = first_record(path)
    separator = next((s for s in (";", "\t", "|") if len(names) == 1 and s in names[0]), None)
    if len(names) > MAX_COLUMNS:
        found, expected, code = f"found {len(names):,} columns", f"at most {MAX_COLUMNS:,}", "too-many-columns"
        fix = "is the table turned on its side? write one row an answer or an item"
    elif separator:
        found, expected, code = (
            f"found a header separated by {separator!r}",
            "columns separated by commas",
            "wrong-separator",
        )
        fix = "save the file with commas"
    elif doubled := [name for name, n in Counter(names).items() if n > 1]:
        found, expected, code = f"found column {listing(doubled)} more than once", "each column once", "doubled-column"
        fix = "rename or remove one of them"
    elif not names or not all(name.strip() for name in names):
        found, expected, code = "found a column without a name", "a name for every column", "unnamed-column"
        fix = "write the column names into the first line"
    else:
        return names
    raise BadTable(found, expected, fix, code, where=ErrorLocation(str(path), line=1))


def read_chunks(path: Path, names: Sequence[str], *, has_header: bool = True) -> Iterator[pa.Table]:
    """The rows in chunks, every column as text; an empty field is empty text, never null."""
    convert = pa_csv.ConvertOptions(strings_can_be_null=False, column_types={name: pa.string() for name in names})
    with CheckedBytes(path, quotes=True) as file:
        for number, block in enumerate(_whole_records(path, file)):
            given = None if has_header and number == 0 else list(names)
            try:
                yield pa_csv.read_csv(
                    pa.BufferReader(_own_memory(block)),
                    read_options=pa_csv.ReadOptions(column_names=given, block_size=len(block) + 1),
                    parse_options=pa_csv.ParseOptions(newlines_in_values=True),
                    convert_options=convert,
                )
            except pa.ArrowInvalid as error:
                if "Empty CSV file" not in str(error):  # else a block of blank lines, or a header without a line end
                    raise _located(path, len(names), str(error)) from error


def _own_memory(block: bytes) -> pa.Buffer:
    """The block in memory of Arrow's own: its threads may let go of it late, and must not need Python for that."""
    stream = pa.BufferOutputStream()
    stream.write(block)
    return stream.getvalue()


def _whole_records(path: Path, file: CheckedBytes) -> Iterator[bytes]:
    """The bytes in blocks that end where a record does.

    Cut here, and not by pyarrow's streaming reader: that one calls back into Python from threads of its own, which
    must not be when the program ends on an error.
    """
    rest = b""
    while data := file.read(BLOCK_BYTES):
        rest += data
        end = _end_of_records(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > BLOCK_BYTES:
            raise _huge(path)
    if rest:
        yield rest


def _end_of_records(data: bytes) -> int:
    """Behind the last line end outside quotes (0: there is none)."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero((text == ord("\n")) | (text == ord("\r")))
    # A carriage return at the very end may be half of a line end.
    ends = ends[ends < len(text) - (1 if data.endswith(b"\r") else 0)]
    n_quotes_before = np.searchsorted(np.flatnonzero(text == ord('"')), ends)
    outside = ends[n_quotes_before % 2 == 0]
    if not len(outside):
        return 0
    last = int(outside[-1])
    # Not between the two halves of a line end.
    return last + 2 if data[last : last + 2] == b"\r\n" else last + 1


def line_of_row(path: Path, row: int, *, has_header: bool = True) -> int:
    """The line of the file on which data row `row` (from 0) begins."""
    for number, (start, _) in enumerate(_numbered(path), -1 if has_header else 0):
        if number == row:
            return start
    return 1


def write_chunks(schema: pa.Schema, chunks: Iterator[pa.Table], path: Path, *, compressed: bool = False) -> None:
    """Write `chunks` as one CSV; text that a spreadsheet would run as a formula gets a leading apostrophe."""
    names = [guard_formula(name) for name in schema.names]
    guarded_schema = pa.schema([(name, field.type) for name, field in zip(names, schema, strict=True)])
    options = pa_csv.WriteOptions(quoting_style="needed")
    with (
        pa.output_stream(str(path), compression="gzip" if compressed else None) as stream,
        pa_csv.CSVWriter(stream, guarded_schema, write_options=options) as writer,
    ):
        for chunk in chunks:
            columns = [
                _map_text(column, guard_formula) if pa.types.is_string(field.type) else column
                for field, column in zip(schema, chunk.cast(schema).columns, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=guarded_schema))


def guard_formula(text: str) -> str:
    """`=SUM(A1)` as `'=SUM(A1)`; undone by `unguard_formula`, so the round trip is exact."""
    return f"'{text}" if text.lstrip("'")[:1] in FORMULA_STARTS else text


def unguard_formula(text: str) -> str:
    """The text that `guard_formula` was given."""
    return text[1:] if text.startswith("'") and text.lstrip("'")[:1] in FORMULA_STARTS else text


def unguard_column(column: Any) -> Any:
    """A text column as it was before `write_chunks` guarded it."""
    return _map_text(column, unguard_formula)


def _map_text(column: Any, change: Callable[[str], str]) -> Any:
    """`change` over a text column, touching Python only where a value begins with a suspect character."""
    suspect = pc.match_substring_regex(column, r"^'*[=+\-@\t\r]")
    if not pc.any(suspect).as_py():
        return column
    return pa.chunked_array([pa.array([None if t is None else change(t) for t in column.to_pylist()], column.type)])


def _records(file: Any) -> Iterator[list[str]]:
    """Records by Python's csv module, its limit on the length of a field lifted meanwhile."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield from csv.reader(file)
    finally:
        csv.field_size_limit(limit)


def _numbered(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The records that hold anything, each with the line it begins on."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        with raw_bytes(path) as file:
            reader = csv.reader(io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline=""))
            start = 1
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _located(path: Path, n_columns: int, message: str) -> SfumatoError:
    """The error for what pyarrow refused, with the line found by a second, slow walk."""
    if "UTF8" in message:
        return _not_utf8(path)
    try:
        with CheckedBytes(path, quotes=True) as file:
            file.read_all()
    except SfumatoError as error:  # a quote never closed explains a row that does not fit
        return error
    for start, fields in _numbered(path):
        if len(fields) != n_columns:
            return BadTable(
                f"{len(fields)} fields ({show(','.join(fields))})",
                f"{n_columns} fields as in the header",
                "add or remove commas; quote text that contains one",
                "ragged-row",
                where=ErrorLocation(str(path), line=start),
            )
    return BadFile(
        f"text that is no CSV ({message[:120]})",
        "comma-separated rows",
        "look for stray quotes and line breaks",
        "bad-csv",
        where=path,
    )


def _huge(path: Path) -> BadFile:
    return BadFile(
        f"a row longer than {BLOCK_BYTES:,} bytes",
        "shorter rows",
        "look for an unclosed quote, or for a document pasted into a field",
        "huge-field",
        where=ErrorLocation(str(path), line=line_where(path, lambda text: len(text) > BLOCK_BYTES)),
    )


def _not_utf8(path: Path) -> BadFile:
    return BadFile(
        "bytes that are not UTF-8",
        "UTF-8 text",
        "save the file as UTF-8",
        "not-utf8",
        where=ErrorLocation(str(path), line=line_where(path, is_not_utf8)),
    )
