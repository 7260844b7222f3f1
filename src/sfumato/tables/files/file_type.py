"""What kind of file this is: by its name, confirmed by its first bytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.tables.errors import BadFile

MAX_EXPANSION = 500
"""A compressed file may grow this many times ..."""
FREE_EXPANSION_BYTES = 16 * 2**20
"""... beyond this many bytes; past both it is taken for a decompression bomb."""


@dataclass(frozen=True)
class FileKind:
    """A kind of file: its name and the endings it goes by."""

    name: str
    suffixes: tuple[str, ...]


CSV = FileKind("CSV", (".csv", ".csv.gz"))
JSON = FileKind("JSON", (".json", ".json.gz"))
PARQUET = FileKind("Parquet", (".parquet", ".pq"))
NUMPY = FileKind("NumPy", (".npz", ".npy"))

KINDS = (CSV, JSON, PARQUET, NUMPY)
TABLE_KINDS = (PARQUET, CSV)

_SIGNATURES = (
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\x93NUMPY", "npy"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"\x89PNG", "PNG image"),
    (b"%PDF", "PDF"),
    (b"SQLite format 3", "SQLite database"),
    (b"\x80\x04\x95", "pickle"),
)


def kind_of(path: Path, allowed: tuple[FileKind, ...] = KINDS) -> FileKind:
    """The kind `path` goes by, or an error listing the endings allowed here."""
    name = path.name.lower()
    for kind in allowed:
        if name.endswith(kind.suffixes):
            return kind
    raise BadFile(
        f"a file named {path.name!r}",
        f"a name ending in {', '.join(s for kind in allowed for s in kind.suffixes)}",
        "in Excel: save as CSV UTF-8 (comma separated)" if name.endswith((".xlsx", ".xls")) else "convert the file",
        "file-kind",
        where=path,
    )


def content_of(start: bytes) -> str | None:
    """What the first bytes say the content is; None for what may be plain text."""
    return next((name for magic, name in _SIGNATURES if start.startswith(magic)), None)


def check_readable(path: Path) -> None:
    """Raise unless `path` is a file with something in it that can be opened."""
    if not _exists(path):
        near = (
            sorted(p.name for p in path.parent.iterdir())[:8] if _exists(path.parent) and path.parent.is_dir() else []
        )
        raise BadFile(
            "nothing there",
            "an existing file",
            f"check the path{'; the folder holds ' + ', '.join(map(repr, near)) if near else ''}",
            "no-such-file",
            where=path,
        )
    if path.is_dir():
        raise BadFile("a folder", "a file", "name a file inside it", "is-a-folder", where=path)
    try:
        if not path.is_file():
            raise OSError(0, "a pipe or a device")
        with path.open("rb") as file:
            start = file.read(1)
    except OSError as error:
        raise BadFile(
            f"a file that cannot be opened ({error.strerror})",
            "a readable file",
            "check its permissions",
            "unreadable",
            where=path,
        ) from error
    if not start:
        raise BadFile("an empty file", "some content", "write the file again", "empty-file", where=path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long for the file system, or with a NUL in it
        return False


def check_content(path: Path, kind: FileKind) -> None:
    """Raise unless the first bytes of `path` agree with `kind`."""
    check_readable(path)
    with path.open("rb") as file:
        start = file.read(16)
    compressed = path.name.lower().endswith(".gz")
    content = content_of(start)
    expected = "gzip" if compressed else {CSV: None, JSON: None, NUMPY: content}.get(kind, kind.name)
    if kind is NUMPY and content not in ("zip", "npy"):
        expected = "NumPy"
    if content == expected:
        return
    raise BadFile(
        f"{content or 'other'} content under a {kind.name} name",
        f"{expected or 'plain UTF-8'} content",
        (
            "save the text as UTF-8"
            if content == "UTF-16 text"
            else "give the file the ending of its content, or write it again"
        ),
        "not-utf8" if content == "UTF-16 text" else "wrong-content",
        where=path,
    )
