"""Bytes of a text file, plain or gzipped, checked as they are read."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from sfumato.errors import BadFile, UnsafeFile, Where
from sfumato.files.kinds import FREE_EXPANSION_BYTES, MAX_EXPANSION


class CheckedBytes(io.RawIOBase):
    """A readable stream that refuses bombs, damaged gzip and NUL bytes, and counts what it saw."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._compressed_size = path.stat().st_size if path.name.lower().endswith(".gz") else None
        self._file = raw_bytes(path)
        self.n_bytes = 0
        self.n_quotes = 0

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadFile(
                f"found damaged gzip data ({error})",
                expected="a whole gzip file",
                fix="copy or compress the file again",
                code="damaged",
                where=Where(str(self._path)),
            ) from error
        self.n_bytes += len(data)
        self.n_quotes += data.count(b'"')
        self._check_expansion()
        if b"\0" in data:
            self._refuse_nul()
        return data

    def _check_expansion(self) -> None:
        if self._compressed_size is None or self.n_bytes <= FREE_EXPANSION_BYTES:
            return
        if self.n_bytes > MAX_EXPANSION * self._compressed_size:
            raise UnsafeFile(
                f"found more than {self.n_bytes:,} bytes in a gzip file of {self._compressed_size:,}",
                expected=f"at most {MAX_EXPANSION} times the compressed size",
                fix="if the file is really yours, decompress it first",
                code="bomb",
                where=Where(str(self._path)),
            )

    def _refuse_nul(self) -> None:
        line = 1
        with raw_bytes(self._path) as file:
            for number, text in enumerate(file, 1):
                if b"\0" in text:
                    line = number
                    break
        raise BadFile(
            "found a NUL byte",
            expected="text without NUL bytes",
            fix="remove the byte; the file may be damaged or of another kind",
            code="nul-byte",
            where=Where(str(self._path), line=line),
        )


def raw_bytes(path: Path) -> BinaryIO:
    """The same bytes without the checks: for finding the line of an error already known."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def line_of_bad_utf8(path: Path) -> int:
    """The first line that is not UTF-8 (1 when none is found)."""
    with raw_bytes(path) as file:
        for number, text in enumerate(file, 1):
            try:
                text.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1
