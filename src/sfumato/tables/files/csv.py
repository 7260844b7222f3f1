"""Reads and writes CSV: every field is text, and errors name the line.

pyarrow reads the file; Python's csv module reads it again only to find the line of an error.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sfumato.tables.errors import BadFile, BadTable, ErrorLocation, SfumatoError, listing, raise_together, show
from sfumato.tables.files.text_stream import CheckedBytes, line_where, not_utf8, raw_bytes

MAX_COLUMNS = 4096
BLOCK_BYTES = 4 * 2**20
DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
"""The characters that may separate columns, as they are written on a command line."""
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
FORMULA = "^'*[" + re.escape("".join(FORMULA_STARTS)) + "]"


def first_record(path: Path, delimiter: str = ",") -> list[str]:
    """The fields of the first line."""
    with CheckedBytes(path, delimiter=delimiter) as file:
        start = file.read(BLOCK_BYTES)
    whole = len(start) < BLOCK_BYTES
    try:
        text = start.decode("utf-8-sig", errors="strict" if whole else "ignore")
    except UnicodeDecodeError as error:
        raise not_utf8(path) from error
    fields = next(_records(io.StringIO(text, newline=""), delimiter), [])
    if not whole and "\n" not in text and "\r" not in text:
        raise _huge(path)
    if text.count('"') % 2 and any("\n" in field for field in fields):
        with CheckedBytes(path, delimiter=delimiter) as file:
            file.read_all()
    return fields


def found_delimiter(path: Path, usual: str = ",") -> str:
    """The only character in the first line, outside quotes, that may separate columns; else the usual one."""
    try:
        with raw_bytes(path) as file:
            line = file.readline(BLOCK_BYTES)
    except (OSError, EOFError, zlib.error):
        return usual  # the reader says what is wrong with the file
    outside = re.sub(rb'"[^"]*("|$)', b"", line.partition(b"\r")[0])
    found = [each for each in DELIMITERS if each.encode() in outside]
    return found[0] if len(found) == 1 else usual


def read_header(path: Path, delimiter: str = ",") -> list[str]:
    """The column names: not blank, each once, separated by `delimiter`."""
    names = first_record(path, delimiter)
    separators = [each for each in DELIMITERS if len(names) == 1 and each != delimiter and each in names[0]]
    where = ErrorLocation(str(path), line=1)
    if len(names) > MAX_COLUMNS:
        fix = "is the table transposed? write one row per answer or item"
        raise BadTable(f"{len(names):,} columns", f"at most {MAX_COLUMNS:,}", fix, "too-many-columns", where)
    if separators:
        found = f"a header separated by {' or '.join(map(repr, separators))}"
        expected = "columns separated by commas" if delimiter == "," else f"columns separated by {delimiter!r}"
        fix = f"import it with --delimiter {DELIMITERS[separators[0]]}, or save the file with commas"
        raise BadTable(found, expected, fix, "wrong-separator", where)
    faults: list[SfumatoError] = []
    if doubled := [name for name, n in Counter(names).items() if n > 1 and name.strip()]:
        found, fix = f"column {listing(doubled)} more than once", "rename or remove one of them"
        faults.append(BadTable(found, "each column once", fix, "doubled-column", where))
    # The first column may have no name: row names, as pandas and R write them.
    if not names or not all(name.strip() for name in (names[1:] or names)):
        fix = "write the column names in the first line"
        faults.append(BadTable("a column without a name", "a name for every column", fix, "unnamed-column", where))
    raise_together([*faults, *_ragged_rows(path, len(names), delimiter)] if faults and names else faults)
    return names


def read_chunks(
    path: Path, names: Sequence[str], delimiter: str = ",", *, has_header: bool = True
) -> Iterator[pa.Table]:
    """The rows in chunks, every column as text; an empty field is empty text, never null."""
    convert = pa_csv.ConvertOptions(strings_can_be_null=False, column_types={name: pa.string() for name in names})
    with CheckedBytes(path, delimiter=delimiter) as file:
        for number, block in enumerate(_whole_records(path, file)):
            given = None if has_header and number == 0 else list(names)
            try:
                yield pa_csv.read_csv(
                    pa.BufferReader(_own_memory(block)),
                    read_options=pa_csv.ReadOptions(column_names=given, block_size=len(block) + 1),
                    parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                    convert_options=convert,
                )
            except pa.ArrowInvalid as error:
                if "Empty CSV file" not in str(error):  # else a block of blank lines, or a header without a line end
                    raise _located(path, len(names), str(error), delimiter) from error


def _own_memory(block: bytes) -> pa.Buffer:
    """The block in Arrow's own memory: its threads may free it late, without the Python interpreter."""
    stream = pa.BufferOutputStream()
    stream.write(block)
    return stream.getvalue()


def _whole_records(path: Path, file: CheckedBytes) -> Iterator[bytes]:
    """The bytes in blocks that end at the end of a record.

    Not with pyarrow's streaming reader: it calls Python from its own threads, which can crash when the program exits.
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
    """The position after the last line end outside quotes (0 if there is none)."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero((text == ord("\n")) | (text == ord("\r")))
    # A carriage return at the end may be the first half of a line end.
    ends = ends[ends < len(text) - (1 if data.endswith(b"\r") else 0)]
    n_quotes_before = np.searchsorted(np.flatnonzero(text == ord('"')), ends)
    outside = ends[n_quotes_before % 2 == 0]
    if not len(outside):
        return 0
    last = int(outside[-1])
    # Not between the two characters of a line end.
    return last + 2 if data[last : last + 2] == b"\r\n" else last + 1


def line_of_row(path: Path, row: int, delimiter: str = ",", *, has_header: bool = True) -> int:
    """The line of the file where data row `row` (from 0) begins."""
    for number, (start, _) in enumerate(_numbered(path, delimiter), -1 if has_header else 0):
        if number == row:
            return start
    return 1


def row_lines(path: Path, delimiter: str = ",") -> Iterator[int]:
    """The line where each row of data begins."""
    return (start for start, _ in islice(_numbered(path, delimiter), 1, None))


def write_chunks(schema: pa.Schema, chunks: Iterator[pa.Table], path: Path, *, compressed: bool = False) -> None:
    """Write `chunks` as one CSV; text that a spreadsheet would run as a formula gets an apostrophe in front."""
    names = [guard_formula(name) for name in schema.names]
    schema = pa.schema([(field.name, pa.string() if _is_text(field.type) else field.type) for field in schema])
    guarded_schema = pa.schema([(name, field.type) for name, field in zip(names, schema, strict=True)])
    options = pa_csv.WriteOptions(quoting_style="needed")
    with (
        pa.output_stream(str(path), compression="gzip" if compressed else None) as stream,
        pa_csv.CSVWriter(stream, guarded_schema, write_options=options) as writer,
    ):
        for chunk in chunks:
            columns = [
                _map_text(column, guard_formula) if pa.types.is_string(field.type) else column
                for field, column in zip(schema, _as_text(chunk, schema).columns, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=guarded_schema))


def _as_text(chunk: pa.Table, schema: pa.Schema) -> pa.Table:
    try:
        return chunk.cast(schema)
    except pa.ArrowInvalid as error:
        fix = "leave the column out, or write .parquet"
        raise BadTable("bytes that are not UTF-8 in a column", "text", fix, "not-utf8") from error


def _is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are text, which may be a formula; bytes are written as text too."""
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary)
    return any(test(kind) for test in (*tests, pa.types.is_large_binary, pa.types.is_binary_view))


def guard_formula(text: str) -> str:
    """`=SUM(A1)` as `'=SUM(A1)`; undone by `unguard_formula`, so the round trip is exact."""
    return f"'{text}" if text.lstrip("'")[:1] in FORMULA_STARTS else text


def unguard_formula(text: str) -> str:
    """The inverse of `guard_formula`."""
    return text[1:] if text.startswith("'") and text.lstrip("'")[:1] in FORMULA_STARTS else text


def unguard_column(column: Any) -> Any:
    """A text column as it was before `write_chunks` guarded it."""
    return _map_text(column, unguard_formula)


def _map_text(column: Any, change: Callable[[str], str]) -> Any:
    """Apply `change` to a text column, if any value begins with a suspect character."""
    suspect = pc.match_substring_regex(column, FORMULA)
    if not pc.any(suspect).as_py():
        return column
    return pa.chunked_array([pa.array([None if t is None else change(t) for t in column.to_pylist()], column.type)])


def _records(file: Any, delimiter: str) -> Iterator[list[str]]:
    """Records by Python's csv module, without its limit on the length of a field."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield from csv.reader(file, delimiter=delimiter)
    finally:
        csv.field_size_limit(limit)


def _numbered(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records that are not empty, each with its first line."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        with raw_bytes(path) as file:
            text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
            reader = csv.reader(text, delimiter=delimiter)
            start = 1
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _located(path: Path, n_columns: int, message: str, delimiter: str) -> SfumatoError:
    """The error for a file that pyarrow could not read, with the line found by reading it again."""
    if "UTF8" in message:
        return not_utf8(path)
    try:
        with CheckedBytes(path, delimiter=delimiter) as file:
            file.read_all()
    except SfumatoError as error:  # an unclosed quote explains rows of wrong length
        return error
    raise_together(_ragged_rows(path, n_columns, delimiter))
    fix = "look for stray quotes and line breaks"
    return BadFile(f"text that is not CSV ({message[:120]})", "comma-separated rows", fix, "bad-csv", path)


def _ragged_rows(path: Path, n_columns: int, delimiter: str) -> list[SfumatoError]:
    """The faults of rows with more or fewer fields than the header."""
    faults: list[SfumatoError] = []
    for start, fields in _numbered(path, delimiter):
        if len(fields) != n_columns:
            found = f"{len(fields)} fields ({show(delimiter.join(fields))})"
            fix = "add or remove commas; quote text that contains one"
            where = ErrorLocation(str(path), line=start)
            faults.append(BadTable(found, f"{n_columns} fields as in the header", fix, "ragged-row", where))
    return faults


def _huge(path: Path) -> BadFile:
    fix = "look for an unclosed quote, or a document pasted into a field"
    where = ErrorLocation(str(path), line=line_where(path, lambda text: len(text) > BLOCK_BYTES))
    return BadFile(f"a row longer than {BLOCK_BYTES:,} bytes", "shorter rows", fix, "huge-field", where)
