"""Text files a researcher writes by hand: read whole, and refused with the line where they are no plain text."""

from __future__ import annotations

from pathlib import Path

from sfumato.tables.errors import BadFile, ErrorLocation, show

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_text(path: Path, *, limit: int, what: str) -> str:
    """The text of `path` without a byte order mark; an error unless it is UTF-8, without NUL, at most `limit` bytes."""
    data = _bytes_of(path, limit, what)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _refused(path, 1, "UTF-16 text", "UTF-8 text", "save the file as UTF-8", "not-utf8")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        fix = "remove the byte; the file may be damaged or of another kind"
        raise _refused(path, line, "a NUL byte", "text without NUL bytes", fix, "nul-byte")
    # Taken off the bytes: decoding as `utf-8-sig` would count the places of an error from behind it.
    data = data.removeprefix(BYTE_ORDER_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused(
            path, line, "bytes that are not UTF-8", "UTF-8 text", "save the file as UTF-8", "not-utf8"
        ) from error


def is_file(path: Path) -> bool:
    """Whether a file is there; false, too, for names no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there; false, too, for names no folder can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _bytes_of(path: Path, limit: int, what: str) -> bytes:
    if is_folder(path):
        raise _refused(path, None, "a folder", what, "name a file inside it", "is-a-folder")
    if not is_file(path):
        raise _refused(path, None, "nothing there", what, "check the path", "no-such-file")
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        found = f"a file that cannot be opened ({error.strerror})"
        raise _refused(path, None, found, what, "check its permissions", "unreadable") from error
    if len(data) > limit:
        found = f"more than {limit:,} bytes"
        raise _refused(path, None, found, f"{what} of at most that size", "is it the right file?", "huge-file")
    if not data.strip():
        raise _refused(path, None, "an empty file", what, "write the file again", "empty-file")
    return data


def _refused(path: Path, line: int | None, found: str, expected: str, fix: str, code: str) -> BadFile:
    name = str(path) if str(path).isprintable() else show(str(path))
    return BadFile(f"found {found}", expected=expected, fix=fix, code=code, where=ErrorLocation(name, line=line))
