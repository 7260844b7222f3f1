"""Checks the structure of a Parquet file before pyarrow reads it: a small file can claim, or expand to, gigabytes.

pyarrow trusts the footer and allocates what page headers say. Here both are read as plain numbers (Thrift's compact
protocol) and compared with the size of the file. Nothing is decompressed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.tables.errors import FREE_EXPANSION_BYTES, MAX_EXPANSION, damaged_file, decompression_bomb

MAGIC = b"PAR1"
MAX_FOOTER_BYTES = 32 * 2**20
MAX_FOOTER_VALUES = 2_000_000
MAX_COLUMNS = 8192
MAX_SCHEMA_DEPTH = 32
MAX_PAGE_BYTES = 128 * 2**20
MAX_PAGE_HEADER_BYTES, SHORT_HEADER_BYTES = 2**16, 128
MAX_VALUES_PER_ROW = 2**20
"""On average over a row group."""
BATCH_BYTES = 64 * 2**20
"""The rows that are read at once should need at most this much memory."""
BYTE_ARRAYS = (6, 7)
"""Physical types whose values have any length: BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY."""
DICTIONARY_PAGE = 2
DELTA_BYTE_ARRAY = 7
"""An encoding whose values repeat the start of the one before: a page expands without limit."""

# Field numbers of the structures in parquet.thrift.
SCHEMA, N_ROWS, ROW_GROUPS = 2, 3, 4
ELEMENT_TYPE, N_CHILDREN, CONVERTED_TYPE, LOGICAL_TYPE = 1, 5, 6, 10
COLUMNS, GROUP_BYTES, GROUP_ROWS = 1, 2, 3
FILE_PATH, COLUMN_DATA = 1, 3
N_VALUES, N_BYTES, N_COMPRESSED, DATA_OFFSET, DICTIONARY_OFFSET = 5, 6, 7, 9, 11
PAGE_TYPE, PAGE_BYTES, PAGE_COMPRESSED, DATA_PAGE, DATA_PAGE_V2 = 1, 2, 3, 5, 8


class DamagedFooter(ValueError):
    """The structure of the file is not that of a Parquet file."""


@dataclass(frozen=True)
class ParquetShape:
    """What the file holds according to its pages: the decompressed bytes, and how many rows may be read at once."""

    n_bytes: int
    rows_at_once: int


def check_parquet(path: Path) -> ParquetShape:
    """The shape of the Parquet file; raises if it is damaged, or expands too much for its size."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            shape = _shape(file, size)
    except (DamagedFooter, OSError) as error:
        raise damaged_file("Parquet file", error, path) from error
    if shape.n_bytes > FREE_EXPANSION_BYTES and shape.n_bytes > MAX_EXPANSION * size:
        found = f"about {shape.n_bytes:,} bytes of data in a file of {size:,}"
        raise _bomb(path, found, f"{MAX_EXPANSION:,} times the size of the file")
    return shape


def _bomb(path: Path, found: str, limit: str) -> Exception:
    return decompression_bomb(path, found, limit, "open it with pyarrow and pass the table to from_arrow")


def _shape(file: BinaryIO, size: int) -> ParquetShape:
    file.seek(max(size - 8, 0))
    tail = file.read(8)
    n_footer = int.from_bytes(tail[:4], "little")
    _require(tail[4:] == MAGIC, "no Parquet signature at its end")
    _require(n_footer <= min(size - 12, MAX_FOOTER_BYTES), f"a footer of {n_footer:,} bytes")
    end = size - 8 - n_footer
    file.seek(end)
    footer = _Compact(file.read(n_footer), MAX_FOOTER_VALUES).whole_struct()
    leaves = _leaves(_list(footer, SCHEMA))
    total, per_row = 0, 1.0
    groups = _list(footer, ROW_GROUPS)
    _require(_number(footer, N_ROWS) == sum(_number(group, GROUP_ROWS) for group in groups), "another number of rows")
    for group in groups:
        columns = _list(group, COLUMNS)
        _require(len(columns) == len(leaves), f"{len(columns):,} columns where {len(leaves):,} are described")
        n_rows = _number(group, GROUP_ROWS)
        group_bytes, row_bytes = 0, 0.0
        for leaf, column in zip(leaves, columns, strict=True):
            chunk = _chunk(column, end)
            if not n_rows <= chunk.n_values <= n_rows * MAX_VALUES_PER_ROW:
                raise DamagedFooter(f"a column with {chunk.n_values:,} values in {n_rows:,} rows")
            pages = _pages(file, chunk, leaf)
            group_bytes += max(pages.n_bytes, chunk.n_bytes)
            row_bytes += pages.densest * max(chunk.n_values / max(n_rows, 1), 1.0)
        total += max(group_bytes, _number(group, GROUP_BYTES))
        per_row = max(per_row, row_bytes)
    return ParquetShape(total, max(1, int(BATCH_BYTES // per_row)))


@dataclass(frozen=True)
class _Chunk:
    """One column of a row group: its place in the file, and what the footer says about it."""

    start: int
    stop: int
    n_values: int
    n_bytes: int


def _chunk(column: dict[int, Any], end: int) -> _Chunk:
    _require(FILE_PATH not in column, "data in another file")
    data = column.get(COLUMN_DATA)
    if not isinstance(data, dict):
        raise DamagedFooter("a column without a description")
    starts = [_number(data, key) for key in (DATA_OFFSET, DICTIONARY_OFFSET) if key in data]
    # A dictionary at 0 means that there is none.
    start = min([each for each in starts if each] or [0])
    stop = start + _number(data, N_COMPRESSED)
    n_values = _number(data, N_VALUES)
    if n_values and not len(MAGIC) <= start <= stop <= end:
        raise DamagedFooter(f"a column at byte {start:,} of {end:,}")
    return _Chunk(start, stop, n_values, _number(data, N_BYTES))


@dataclass(frozen=True)
class _Pages:
    """The pages of a column: their decompressed bytes, and the bytes per value in the densest one."""

    n_bytes: int
    densest: float


def _pages(file: BinaryIO, chunk: _Chunk, leaf: dict[Any, Any]) -> _Pages:
    """The pages of the column, by their headers; raises unless they fit its description."""
    at, n_values, n_bytes, densest, dictionary = chunk.start, 0, 0, 8.0, 0
    while n_values < chunk.n_values:
        if at >= chunk.stop:
            raise DamagedFooter(f"{n_values:,} values where {chunk.n_values:,} were expected")
        page, n_head = _page_header(file, at, chunk.stop)
        size, compressed = _number(page, PAGE_BYTES), _number(page, PAGE_COMPRESSED)
        at += n_head + compressed
        n_bytes += size
        if at > chunk.stop:
            raise DamagedFooter("a page beyond the end of its column")
        if size > MAX_PAGE_BYTES:
            raise DamagedFooter(f"a page of {size:,} bytes, at most {MAX_PAGE_BYTES:,} are read")
        head = page.get(DATA_PAGE) or page.get(DATA_PAGE_V2)
        if isinstance(head, dict):
            n_here = _number(head, 1)
            if head.get(2 if DATA_PAGE in page else 4) == DELTA_BYTE_ARRAY:
                raise DamagedFooter("the encoding DELTA_BYTE_ARRAY, which is not supported")
            n_values += n_here
            densest = max(densest, size / max(n_here, 1))
        elif page.get(PAGE_TYPE) == DICTIONARY_PAGE:
            dictionary = size
    if dictionary and leaf.get(ELEMENT_TYPE) in BYTE_ARRAYS and not leaf["is_coded"]:
        # Every value may be the longest one of the dictionary.
        densest = max(densest, float(dictionary))
    return _Pages(n_bytes, densest)


def _page_header(file: BinaryIO, at: int, stop: int) -> tuple[dict[int, Any], int]:
    """The page header at `at` and its length. Most are short; those with statistics of long texts are not."""
    for most in (SHORT_HEADER_BYTES, MAX_PAGE_HEADER_BYTES):
        reader = _Compact(os.pread(file.fileno(), min(most, stop - at), at), most)
        try:
            return reader.whole_struct(), reader.at
        except DamagedFooter:
            if most == MAX_PAGE_HEADER_BYTES:
                raise
    raise AssertionError


def _leaves(elements: list[dict[int, Any]]) -> list[dict[Any, Any]]:
    """The columns of the schema, which is a tree in depth-first order; its first element is the root."""
    _require(0 < len(elements) <= MAX_COLUMNS, f"{len(elements):,} columns, at most {MAX_COLUMNS:,} are read")
    leaves: list[dict[Any, Any]] = []
    open_children: list[int] = []
    for number, element in enumerate(elements):
        _require(number == 0 or bool(open_children), "a schema that is no tree")
        n_children = element.get(N_CHILDREN) or 0
        _require(isinstance(n_children, int) and n_children >= 0, "a schema that is no tree")
        if open_children:
            open_children[-1] -= 1
        if n_children or number == 0:
            open_children.append(n_children)
        else:
            leaves.append(element | {"is_coded": len(open_children) == 1 and _is_text(element)})
        _require(len(open_children) <= MAX_SCHEMA_DEPTH, "columns nested too deep")
        while open_children and not open_children[-1]:
            open_children.pop()
    _require(not open_children, "a schema that is no tree")
    return leaves


def _is_text(element: dict[int, Any]) -> bool:
    """Whether a column is text, which is read as codes of a dictionary, and not bytes."""
    logical = element.get(LOGICAL_TYPE)
    return element.get(CONVERTED_TYPE) == 0 or (isinstance(logical, dict) and 1 in logical)


def _number(struct: dict[int, Any], key: int) -> int:
    value = struct.get(key, 0)
    if type(value) is not int or not 0 <= value < 2**62:
        raise DamagedFooter(f"the number {str(value)[:40]} in its description")
    return value


def _list(struct: dict[int, Any], key: int) -> list[dict[int, Any]]:
    value = struct.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise DamagedFooter("a description without a list of structures")
    return value


def _require(holds: bool, found: str) -> None:
    if not holds:
        raise DamagedFooter(found)


class _Compact:
    """Reads Thrift's compact protocol: structures as numbered fields. Texts are skipped; at most `left` values."""

    __slots__ = ("at", "data", "depth", "left")

    def __init__(self, data: bytes, left: int) -> None:
        self.data, self.left, self.at, self.depth = data, left, 0, 0

    def whole_struct(self) -> dict[int, Any]:
        """The structure at the start of the data."""
        try:
            return self._struct()
        except IndexError:
            raise DamagedFooter("a description that is cut off") from None

    def _struct(self) -> dict[int, Any]:
        self.depth += 1
        if self.depth > MAX_SCHEMA_DEPTH:
            raise DamagedFooter("values nested too deep")
        data, fields, key = self.data, dict[int, Any](), 0
        while head := data[self.at]:
            self.at += 1
            key = key + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[key] = kind == 1 if kind < 3 else self._value(kind)
        self.at += 1
        self.depth -= 1
        return fields

    def _value(self, kind: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise DamagedFooter("too many values in its description")
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 8:
            length = self._unsigned()
            self.at += length
        elif kind == 12:
            return self._struct()
        elif kind in (9, 10):
            head = self._unsigned_byte()
            n = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15) for _ in range(n)]
        elif kind == 7:
            self.at += 8
        elif kind in (1, 2, 3):
            return self._unsigned_byte()
        else:
            raise DamagedFooter(f"a value of the unknown type {kind}")
        if self.at > len(self.data):
            raise IndexError
        return None

    def _unsigned_byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _unsigned(self) -> int:
        byte = self.data[self.at]
        self.at += 1
        value, shift = byte & 127, 7
        while byte > 127:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if shift > 70:
                raise DamagedFooter("a number that is too long")
        return value

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
