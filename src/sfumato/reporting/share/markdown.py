"""Markdown that says what it was given: names from data neither break a table nor become HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sfumato.tables.errors import one_line


def code(text: str) -> str:
    """A name from data, set as code. A backquote in it is shown as an apostrophe: it would end the code."""
    return f"`{one_line(text).replace('`', chr(39))}`"


def plain(text: str) -> str:
    """Text in which only `code` is markup: what HTML or Markdown could take for theirs is escaped."""
    parts = re.split(r"(`[^`]*`)", one_line(text))
    return "".join(part if i % 2 else re.sub(r"([\\<>*_\[\]])", r"\\\1", part) for i, part in enumerate(parts))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; a bar in a cell does not end it."""
    lines = [_line(header), _line(["---"] * len(header))]
    return [*lines, *(_line([plain(cell) for cell in row]) for row in rows)]


def meanings(columns: Mapping[str, str]) -> list[str]:
    """A table of columns and what they mean."""
    return table(("column", "meaning"), [(code(name), meaning) for name, meaning in columns.items()])


def quoted(text: str) -> list[str]:
    """Markdown of several lines as a quotation: no line of it can be taken for one of ours, and none for HTML."""
    return [f"> {one_line(line).replace('<', chr(92) + '<')}".rstrip() for line in text.strip().splitlines()]


def _line(cells: Sequence[str]) -> str:
    # A backslash before a bar is taken off even inside code.
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
