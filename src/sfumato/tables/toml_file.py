"""Reads TOML with limits on its shape: a small file can make `tomllib` use gigabytes or minutes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from sfumato.tables.errors import BadFile, ErrorLocation

STRINGS = (
    r'"""(?:[^"\\]++|\\.|"{1,2}(?!"))*+"{3,5}',
    r"'''(?:[^']++|'{1,2}(?!'))*+'{3,5}",
    r'"(?:[^"\\\n]++|\\.)*+"',
    r"'[^'\n]*+'",
)
"""The four kinds of TOML strings; matched without backtracking."""
TOKEN = re.compile(rf"{'|'.join(STRINGS)}|#[^\n]*+|[^\s\"'#.,=\[\]{{}}]++|.|\n", re.DOTALL)
AT_LINE = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", re.DOTALL)

MAX_KEY_PARTS = 16
MAX_DEPTH = 32
MAX_VALUES = 20_000
"""Keys, their parts and array elements together."""
MAX_PLAIN_CHARACTERS = 10_000
"""Of a number, a date, or a key without quotes."""


def parse_toml(text: str, path: Path, example: str) -> dict[str, Any]:
    """The document in `text`, which was read from `path`; an error names the line. `example` says what TOML is."""
    text = text.replace("\r\n", "\n")
    _check_shape(text, path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        match = AT_LINE.match(str(error))
        reason = match.group(1) if match else "values nested too deep" if "recursion" in str(error) else str(error)
        line = None
        if match:
            line = int(match.group(2)) if match.group(2) else text.rstrip("\n").count("\n") + 1
        found = f"text that is not TOML ({reason[:120]})"
        fix = "correct this line; a quote or bracket may be open above it"
        raise BadFile(found, example, fix, "bad-toml", ErrorLocation(str(path), line=line)) from error


def _check_shape(text: str, path: Path) -> None:
    """Raise if the document is deeper or has more parts than anyone writes by hand.

    Up to the first syntax error the tokens are those of `tomllib`, which does not read further.
    """
    n_dots = depth = n_values = 0
    for match in TOKEN.finditer(text):
        token = match.group()
        mark = token[0]
        if mark in "\"'" and (token == mark or (len(token) == 2 and text.startswith(mark, match.end()))):
            return  # a string that is not closed: to look for its end again and again would take minutes
        if mark == ".":
            n_dots += 1
            n_values += 1
        elif mark in "[]{}=,\n":
            n_dots = 0
            depth += (mark in "[{") - (mark in "]}")
            n_values += mark in "=,["
        found = ""
        if n_dots >= MAX_KEY_PARTS:
            found = f"a key of more than {MAX_KEY_PARTS} parts"
        elif depth > MAX_DEPTH:
            found = f"values nested more than {MAX_DEPTH} deep"
        elif n_values > MAX_VALUES:
            found = f"more than {MAX_VALUES:,} keys and values"
        elif len(token) > MAX_PLAIN_CHARACTERS and mark not in "\"'#":
            found = f"a number or a key of more than {MAX_PLAIN_CHARACTERS:,} characters"
        if found:
            where = ErrorLocation(str(path), line=text.count("\n", 0, match.start()) + 1)
            fix = "correct this line; if the file is not yours, do not use it"
            raise BadFile(found, "a file as people write them", fix, "huge-toml", where)
