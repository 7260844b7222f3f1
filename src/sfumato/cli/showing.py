"""What commands print: short, aligned, safe against whatever an id may contain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from sfumato.errors import one_line

BAR = 24


def printable(text: str, limit: int = 60) -> str:
    """An id as it may go to a terminal: control characters escaped, long ones cut."""
    safe = one_line(text)
    return safe if len(safe) <= limit else safe[: limit - 3] + "..."


def say_written(path: object, what: str, notes: Iterable[str] = ()) -> None:
    """The line every writing command ends with, and its notes."""
    click.echo(f"{one_line(str(path))}: {what}")
    for note in notes:
        click.echo(f"  - {one_line(note)}")


def bar(parts: Sequence[tuple[float, str]], width: int = BAR) -> str:
    """Shares as runs of characters: `[(0.5, "█"), (0.25, "░")]`; what is left stays blank."""
    drawn = ""
    total = 0.0
    for share, mark in parts:
        total += share
        drawn += mark * max(round(total * width) - len(drawn), 0)
    return drawn.ljust(width)
