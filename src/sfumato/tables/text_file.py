"""Reads text files written by hand; an error names the line that is not plain text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sfumato.tables.errors import BadFile, ErrorLocation, show

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_text(path: Path, *, limit: int, what: str) -> str:
    """The text of `path` without a byte order mark; must be UTF-8 without NUL, and at most `limit` bytes."""
    data = _bytes_of(path, limit, what)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _bad_text(path, 1, "UTF-16 text", "UTF-8 text", "save the file as UTF-8", "not-utf8")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        fix = "remove the byte; the file may be damaged or of another type"
        raise _bad_text(path, line, "a NUL byte", "text without NUL bytes", fix, "nul-byte")
    # Not decoded as `utf-8-sig`: the positions of errors would not count the mark.
    data = data.removeprefix(BYTE_ORDER_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _bad_text(
            path, line, "bytes that are not UTF-8", "UTF-8 text", "save the file as UTF-8", "not-utf8"
        ) from error


def is_file(path: Path) -> bool:
    """Whether the file exists; also false for invalid names."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether the folder exists; also false for invalid names."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def path_inside(path: Path, folders: Sequence[Path]) -> Path | None:
    """`path` if it is in one of the folders once all links are followed, and its target if there are links; else None.

    A file that is opened by this path is the file that was checked.
    """
    try:
        target = path.resolve()
        if not any(target.is_relative_to(folder.resolve()) for folder in folders):
            return None
    except (OSError, RuntimeError, ValueError):  # a link to itself, or a name with NUL
        return None
    return path if target == Path(os.path.normpath(path.absolute())) else target


def _bytes_of(path: Path, limit: int, what: str) -> bytes:
    if is_folder(path):
        raise _bad_text(path, None, "a folder", what, "give the path of a file in it", "is-a-folder")
    if not is_file(path):
        raise _bad_text(path, None, "no such file", what, "check the path", "no-such-file")
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        found = f"a file that cannot be opened ({error.strerror})"
        raise _bad_text(path, None, found, what, "check its permissions", "unreadable") from error
    if len(data) > limit:
        found = f"more than {limit:,} bytes"
        raise _bad_text(path, None, found, f"{what} of at most that size", "is it the right file?", "huge-file")
    if not data.strip():
        raise _bad_text(path, None, "an empty file", what, "write the file again", "empty-file")
    return data


def _bad_text(path: Path, line: int | None, found: str, expected: str, fix: str, code: str) -> BadFile:
    name = str(path) if str(path).isprintable() else show(str(path))
    return BadFile(found, expected, fix, code, ErrorLocation(name, line=line))
