"""Reads a text file, plain or gzipped, and checks its bytes."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from sfumato.tables.errors import (
    FREE_EXPANSION_BYTES,
    MAX_EXPANSION,
    BadFile,
    ErrorLocation,
    damaged_file,
    decompression_bomb,
)

QUOTE = ord('"')
LINE_END_OR_QUOTE = '\n\r"'
"""Characters allowed next to a quoted field, as the delimiter is; two quotes mean one quote inside the field."""


DEFLATE_LIMIT = 1032
"""No gzip file can expand more than this many times."""


class CheckedBytes(io.RawIOBase):
    """A stream that rejects bombs, damaged gzip, NUL bytes, and (with its `delimiter`) stray quotes in a CSV."""

    def __init__(self, path: Path, *, delimiter: str = "") -> None:
        self._path = path
        self._compressed_size = path.stat().st_size if path.name.lower().endswith(".gz") else None
        self._file = raw_bytes(path)
        self._quotes = QuoteCheck(path, delimiter) if delimiter else None
        # The size that the file states: enough to reject a simple bomb without reading it.
        self.n_bytes = _stated_size(path) if self._compressed_size is not None else 0
        self._check_expansion()
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise damaged_file("gzip file", error, self._path, "copy or compress the file again") from error
        self.n_bytes += len(data)
        self._check_expansion()
        if b"\0" in data:
            raise self._nul_byte()
        if self._quotes is not None:
            self._quotes.check(data)
        return data

    def read_all(self) -> bytes:
        """All remaining bytes."""
        parts = []
        while part := self.read(2**20):
            parts.append(part)
        return b"".join(parts)

    def _check_expansion(self) -> None:
        if self._compressed_size is None or self.n_bytes <= FREE_EXPANSION_BYTES:
            return
        if self.n_bytes > MAX_EXPANSION * self._compressed_size:
            found = f"more than {self.n_bytes:,} bytes in a gzip file of {self._compressed_size:,}"
            raise decompression_bomb(self._path, found, f"{MAX_EXPANSION} times the compressed size")

    def _nul_byte(self) -> BadFile:
        fix = "remove the byte; the file may be damaged or of another type"
        where = ErrorLocation(str(self._path), line=line_where(self._path, lambda text: b"\0" in text))
        return BadFile("a NUL byte", "text without NUL bytes", fix, "nul-byte", where)


class QuoteCheck:
    """Checks the quotes of a CSV: every other one opens a field, and must be at its edge.

    pyarrow would read an unclosed quote as the beginning of a long field, and lose rows without an error.
    """

    def __init__(self, path: Path, delimiter: str) -> None:
        self._path = path
        self._edge = np.zeros(256, dtype=bool)
        self._edge[[ord(c) for c in delimiter + LINE_END_OR_QUOTE]] = True
        self._n_quotes = 0
        self._n_lines = 0
        self._last = ord("\n")

    def check(self, data: bytes) -> None:
        """Check the next bytes; at the end of the file `data` is empty."""
        if not data:
            if self._n_quotes % 2:
                raise self._bad_quote("a quote that is never closed", "unclosed-quote", self._line_that_opens())
            return
        text = np.frombuffer(data, np.uint8)
        at = np.flatnonzero(text == QUOTE)
        # A byte order mark may come before the first field.
        before = np.where(at > 0, text[np.maximum(at - 1, 0)], self._last)
        opens = (np.arange(len(at)) + self._n_quotes) % 2 == 0
        edge_before = self._edge[before] | ((at == 3) & data.startswith(b"\xef\xbb\xbf") & (self._n_lines == 0))
        stray = opens & ~edge_before
        after = text[np.minimum(at + 1, len(text) - 1)]
        stray |= ~opens & (at + 1 < len(text)) & ~self._edge[after]
        if self._last == QUOTE and self._n_quotes % 2 == 0 and self._n_quotes and not self._edge[text[0]]:
            raise self._bad_quote("a quote inside a field", "bad-csv", self._n_lines + 1)
        if stray.any():
            place = int(at[int(np.argmax(stray))])
            raise self._bad_quote("a quote inside a field", "bad-csv", self._n_lines + data.count(b"\n", 0, place) + 1)
        self._n_quotes += len(at)
        self._n_lines += data.count(b"\n")
        self._last = int(text[-1])

    def _line_that_opens(self) -> int:
        """The line of the last quote that opens a field."""
        line = 1
        n_quotes = 0
        with raw_bytes(self._path) as file:
            for number, text in enumerate(file, 1):
                n_before = n_quotes
                n_quotes += text.count(b'"')
                if (n_quotes - 1) // 2 > (n_before - 1) // 2:
                    line = number
        return line

    def _bad_quote(self, found: str, code: str, line: int) -> BadFile:
        fix = 'close the quote; write a quote inside quoted text twice ("")'
        where = ErrorLocation(str(self._path), line=line)
        return BadFile(found, "quotes in pairs, around whole fields", fix, code, where)


def _stated_size(path: Path) -> int:
    """The size of the content in the last four bytes of a gzip file; 0 if it is impossible."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(-min(size, 4), 2)
        stated = int.from_bytes(file.read(4), "little")
    return stated if stated <= DEFLATE_LIMIT * size else 0


def raw_bytes(path: Path) -> BinaryIO:
    """The same bytes without checks, to find the line of an error."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def line_where(path: Path, is_wrong: object) -> int:
    """The first line for which `is_wrong(bytes)` is true (1 if none is)."""
    assert callable(is_wrong)
    with raw_bytes(path) as file:
        return next((number for number, text in enumerate(file, 1) if is_wrong(text)), 1)


def not_utf8(path: Path) -> BadFile:
    """The error for a file that is not UTF-8, with its line."""
    where = ErrorLocation(str(path), line=line_where(path, _is_not_utf8))
    return BadFile("bytes that are not UTF-8", "UTF-8 text", "save the file as UTF-8", "not-utf8", where)


def _is_not_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
