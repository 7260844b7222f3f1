"""File types: recognized by the file name and confirmed by the first bytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.tables.errors import BadFile, show, wrong_ending


@dataclass(frozen=True)
class FileKind:
    """A file type: its name and the endings of its file names."""

    name: str
    suffixes: tuple[str, ...]


CSV = FileKind("CSV", (".csv", ".csv.gz"))
TSV = FileKind("TSV", (".tsv", ".tsv.gz"))
JSON = FileKind("JSON", (".json", ".json.gz"))
JSON_LINES = FileKind("JSON Lines", (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"))
PARQUET = FileKind("Parquet", (".parquet", ".pq"))
NUMPY = FileKind("NumPy", (".npz", ".npy"))
NPZ = FileKind("NumPy", (".npz",))

KINDS = (CSV, TSV, JSON, JSON_LINES, PARQUET, NUMPY)
TABLE_KINDS = (PARQUET, CSV)
"""Tables are written in these types; a TSV file is only read."""
TEXT_KINDS = (CSV, TSV, JSON, JSON_LINES)

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


def kind_of(path: Path, allowed: tuple[FileKind, ...] = KINDS, *, to_write: bool = False) -> FileKind:
    """The file type of `path`, or an error with the allowed endings; `to_write` if the file is an output."""
    name = path.name.lower()
    for kind in allowed:
        if name.endswith(kind.suffixes):
            return kind
    is_excel = name.endswith((".xlsx", ".xls"))
    fix = "in Excel: save as CSV UTF-8 (comma separated)" if is_excel else "convert the file"
    if to_write:
        usual = allowed[-1].suffixes[0]
        fix = f"write {show(path.with_suffix(usual).name)} instead{', which Excel opens' if is_excel else ''}"
    raise wrong_ending(path, [suffix for kind in allowed for suffix in kind.suffixes], fix)


def content_of(start: bytes) -> str | None:
    """The type of content by its first bytes; None for plain text."""
    return next((name for magic, name in _SIGNATURES if start.startswith(magic)), None)


def check_readable(path: Path) -> None:
    """Raise unless `path` is a readable file that is not empty."""
    if not _exists(path):
        near = (
            sorted(p.name for p in path.parent.iterdir())[:8] if _exists(path.parent) and path.parent.is_dir() else []
        )
        fix = f"check the path{'; the folder contains ' + ', '.join(map(repr, near)) if near else ''}"
        raise BadFile("no such file", "an existing file", fix, "no-such-file", path)
    if path.is_dir():
        raise BadFile("a folder", "a file", "give the path of a file in it", "is-a-folder", where=path)
    try:
        if not path.is_file():
            raise OSError(0, "a pipe or a device")
        with path.open("rb") as file:
            start = file.read(1)
    except OSError as error:
        found = f"a file that cannot be opened ({error.strerror})"
        raise BadFile(found, "a readable file", "check its permissions", "unreadable", path) from error
    if not start:
        raise BadFile("an empty file", "some content", "write the file again", "empty-file", where=path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long or contains NUL
        return False


def check_content(path: Path, kind: FileKind) -> None:
    """Raise unless the first bytes of `path` match `kind`."""
    check_readable(path)
    with path.open("rb") as file:
        start = file.read(16)
    compressed = path.name.lower().endswith(".gz")
    content = content_of(start)
    plain = None if kind in TEXT_KINDS else content if kind is NUMPY else kind.name
    expected = "gzip" if compressed else plain
    if kind is NUMPY and content not in ("zip", "npy"):
        expected = "NumPy"
    if content == expected:
        return
    is_text = content == "UTF-16 text"
    fix = "save the text as UTF-8" if is_text else "rename the file by its content, or write it again"
    found = f"{content or 'other'} content in a file with a {kind.name} name"
    code = "not-utf8" if is_text else "wrong-content"
    raise BadFile(found, f"{expected or 'plain UTF-8'} content", fix, code, path)
