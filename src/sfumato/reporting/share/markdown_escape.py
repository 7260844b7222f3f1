"""Markdown with names from data escaped, so that they neither break a table nor become HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sfumato.tables.errors import one_line


def code(text: str) -> str:
    """A name from data as code; a backquote becomes an apostrophe, because it would end the code."""
    return f"`{one_line(text).replace('`', chr(39))}`"


def plain(text: str) -> str:
    """Text in which only `code` is markup; other HTML and Markdown characters are escaped."""
    parts = re.split(r"(`[^`]*`)", one_line(text))
    return "".join(part if i % 2 else re.sub(r"([\\<>*_\[\]])", r"\\\1", part) for i, part in enumerate(parts))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; bars in cells are escaped."""
    lines = [_line(header), _line(["---"] * len(header))]
    return [*lines, *(_line([plain(cell) for cell in row]) for row in rows)]


def meanings(columns: Mapping[str, str]) -> list[str]:
    """A table of columns and their meanings."""
    return table(("column", "meaning"), [(code(name), meaning) for name, meaning in columns.items()])


def quoted(text: str) -> list[str]:
    """Markdown of several lines as a quotation, so that none is read as a line of the datasheet or as HTML."""
    return [f"> {one_line(line).replace('<', chr(92) + '<')}".rstrip() for line in text.strip().splitlines()]


def _line(cells: Sequence[str]) -> str:
    # A backslash before a bar is removed even inside code.
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
