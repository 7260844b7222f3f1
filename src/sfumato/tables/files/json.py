"""Reads JSON and JSON Lines strictly: no duplicate keys, no NaN, nothing after the end."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sfumato.tables.errors import (
    BadFile,
    BadTable,
    ErrorLocation,
    SfumatoError,
    decompression_bomb,
    no_rows,
    raise_together,
    show,
)
from sfumato.tables.files.file_type import JSON, JSON_LINES, FileKind, check_content, kind_of
from sfumato.tables.files.text_stream import CheckedBytes, not_utf8
from sfumato.tables.payloads import DoubledKey, unique_keys

MAX_FREE_VALUES = 1_000_000
MAX_VALUES_PER_BYTE = 10
LONG_NUMBER = re.compile(rb"[0-9]{18}")


@dataclass(frozen=True)
class JsonContent:
    """The content of a JSON file: one document, or the values of JSON Lines with the `lines` they are in."""

    path: Path
    value: Any
    lines: tuple[int, ...] | None = None

    def records(self) -> list[dict[str, Any]]:
        """The values as a list of objects; the first other value is an error."""
        values = self.value if isinstance(self.value, list) else [self.value]
        for number, value in enumerate(values):
            if not isinstance(value, dict):
                found, fix = show(value), "export the file again, or correct it"
                raise BadTable(found, "an object with named values", fix, "bad-field", self.where(number))
        return values

    def where(self, number: int | None = None, *keys: object) -> ErrorLocation:
        """The location of value `number` (from 0), and of `keys` in it: a line, or a JSON pointer."""
        if number is not None and self.lines is not None:
            return ErrorLocation(str(self.path), line=self.lines[number], column="/".join(map(str, keys)) or None)
        parts = ([] if number is None or not isinstance(self.value, list) else [number]) + list(keys)
        return ErrorLocation(str(self.path), column="".join(f"/{part}" for part in parts) or None)


def read_json(path: str | Path, *, at_most: int | None = None) -> JsonContent:
    """The content of a JSON or JSON Lines file, plain or gzipped; of JSON Lines `at_most` so many values. Lines of
    objects in a file named `.json` are JSON Lines too: several tools write them so."""
    path = Path(path)
    kind = kind_of(path, (JSON, JSON_LINES))
    data = _bytes(path, kind)
    if kind is JSON_LINES or _has_lines(data):
        return _lines(path, data, at_most)
    return JsonContent(path, _document(path, data))


def read_document(path: Path) -> Any:
    """The document in `path` (`.json` or `.json.gz`) as plain Python values."""
    return _document(path, _bytes(path, JSON))


def _bytes(path: Path, kind: FileKind) -> bytes:
    check_content(path, kind)
    with CheckedBytes(path) as file:
        data = file.read_all().removeprefix(b"\xef\xbb\xbf")
    _check_weight(path, data)
    return data


def _has_lines(data: bytes) -> bool:
    """Whether the first line is a whole object and more than blank lines follow."""
    first, _, rest = data.lstrip().partition(b"\n")
    if not first.startswith(b"{") or not rest.strip():
        return False
    try:
        msgspec.json.decode(first)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _lines(path: Path, data: bytes, at_most: int | None) -> JsonContent:
    values: list[Any] = []
    lines: list[int] = []
    faults: list[SfumatoError] = []
    for number, text in enumerate(data.split(b"\n"), 1):
        if not text.strip():
            continue
        if at_most is not None and len(values) >= at_most:
            break
        try:
            values.append(_line_value(path, text))
            lines.append(number)
        except BadFile as error:
            found, expected = error.found.removeprefix("found "), error.expected.replace("document", "value per line")
            faults.append(_bad(path, found, expected, number))
    raise_together(faults)
    if not values:
        raise no_rows("at least one line", where=path)
    return JsonContent(path, values, tuple(lines))


def _line_value(path: Path, text: bytes) -> Any:
    """The value of a line. The fast reader does not see doubled keys, and rounds numbers of 20 digits."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _document(path, text)
    is_flat = isinstance(value, dict) and text.count(b":") == len(value)
    return value if is_flat and not LONG_NUMBER.search(text) else _document(path, text)


def _document(path: Path, data: bytes) -> Any:
    try:
        msgspec.json.decode(data)
        return json.loads(data, object_pairs_hook=unique_keys)
    except DoubledKey as error:
        raise _bad(path, str(error), "each key once in an object", None) from error
    except RecursionError as error:
        raise _bad(path, "values nested too deep", "at most some hundred levels", None) from error
    except UnicodeDecodeError as error:
        raise not_utf8(path) from error
    except (msgspec.MsgspecError, ValueError) as error:
        line = _line(data, str(error))
        raise _bad(path, f"text that is not JSON ({error})", "one complete JSON document", line) from error


def _check_weight(path: Path, data: bytes) -> None:
    """Reject a small file with millions of values: each needs about 100 bytes of memory."""
    n_values = data.count(b",") + data.count(b"{") + data.count(b"[")
    if n_values > MAX_FREE_VALUES and n_values > MAX_VALUES_PER_BYTE * path.stat().st_size:
        found = f"more than {n_values:,} values in a file of {path.stat().st_size:,} bytes"
        raise decompression_bomb(path, found, f"{MAX_VALUES_PER_BYTE} values per byte")


def _line(data: bytes, message: str) -> int | None:
    """The line of msgspec's `(byte N)`; the last line for a document cut short."""
    if "truncated" in message:
        return data.count(b"\n") + 1
    _, found, tail = message.partition("(byte ")
    return data.count(b"\n", 0, int(tail.rstrip(")"))) + 1 if found and tail.rstrip(")").isdigit() else None


def _bad(path: Path, found: str, expected: str, line: int | None) -> BadFile:
    fix = "export the file again, or correct it"
    return BadFile(found, expected, fix, "bad-json", ErrorLocation(str(path), line=line))
