"""JSON documents, read strictly: no doubled keys, no NaN, nothing after the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from sfumato.errors import BadFile, Where, show
from sfumato.files.kinds import JSON, check_content
from sfumato.files.text import CheckedBytes


class DoubledKey(ValueError):
    """A key that stands twice in one JSON object."""

    def __init__(self, key: str) -> None:
        super().__init__(f"doubled key {show(key)}")
        self.key = key


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` that refuses doubled keys."""
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        raise DoubledKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return result


def read_document(path: Path) -> Any:
    """The document in `path` (`.json` or `.json.gz`) as plain Python values."""
    check_content(path, JSON)
    with CheckedBytes(path) as file:
        data = _read_all(file)
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        msgspec.json.decode(data)
        return json.loads(data, object_pairs_hook=unique_keys)
    except DoubledKey as error:
        raise _bad(path, f"found {error}", "each key once in an object", None) from error
    except RecursionError as error:
        raise _bad(path, "found values nested too deep", "at most some hundred levels", None) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise _bad(
            path, f"found text that is no JSON ({error})", "one whole JSON document", _line(data, str(error))
        ) from error


def _read_all(file: CheckedBytes) -> bytes:
    parts = []
    while part := file.read(2**20):
        parts.append(part)
    return b"".join(parts)


def _line(data: bytes, message: str) -> int | None:
    """The line of msgspec's `(byte N)`; the last line for a document cut short."""
    if "truncated" in message:
        return data.count(b"\n") + 1
    _, found, tail = message.partition("(byte ")
    return data.count(b"\n", 0, int(tail.rstrip(")"))) + 1 if found and tail.rstrip(")").isdigit() else None


def _bad(path: Path, found: str, expected: str, line: int | None) -> BadFile:
    return BadFile(
        found,
        expected=expected,
        fix="export the file again, or mend it by hand",
        code="bad-json",
        where=Where(str(path), line=line),
    )
