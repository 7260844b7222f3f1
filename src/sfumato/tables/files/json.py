"""Reads JSON strictly: no duplicate keys, no NaN, nothing after the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from sfumato.tables.errors import BadFile, ErrorLocation, decompression_bomb
from sfumato.tables.files.file_type import JSON, check_content
from sfumato.tables.files.text_stream import CheckedBytes, not_utf8
from sfumato.tables.payloads import DoubledKey, unique_keys

MAX_FREE_VALUES = 1_000_000
MAX_VALUES_PER_BYTE = 10


def read_document(path: Path) -> Any:
    """The document in `path` (`.json` or `.json.gz`) as plain Python values."""
    check_content(path, JSON)
    with CheckedBytes(path) as file:
        data = file.read_all().removeprefix(b"\xef\xbb\xbf")
    _check_weight(path, data)
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
