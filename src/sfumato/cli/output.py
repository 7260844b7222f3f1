"""Output of commands: result lines, progress bars, and ids with control characters escaped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sfumato.tables.errors import one_line
from sfumato.tables.printed_text import WIDTH as WIDTH
from sfumato.tables.printed_text import bar as bar
from sfumato.tables.printed_text import counted as counted
from sfumato.tables.printed_text import printable as printable
from sfumato.tables.printed_text import wrapped

QUIET_SECONDS = 2.0
LOG_SECONDS = 10.0


def say_written(path: object, what: str, notes: Iterable[str] = ()) -> None:
    """Print a written file with a description and notes."""
    click.echo(f"{one_line(str(path))}: {what}")
    for note in notes:
        click.echo(f"  - {one_line(note)}")


def write_table(table: Any, path: Path | None, what: str, notes: Iterable[str] = ()) -> None:
    """Write a table, and print its file with a description and notes; nothing if no file was asked for."""
    if path is not None:
        table.write(path)
        say_written(path, what, notes)


def say(text: str, indent: str = "", hanging: int | None = None) -> None:
    """Print a sentence, wrapped: `indent` before it, later lines `hanging` characters further right than the margin."""
    click.echo("\n".join(wrapped(text, indent, hanging)))


def number(value: float, digits: int = 3) -> str:
    """A number for a table; a dash if it is not known."""
    return "-" if value != value else f"{value:.{digits}f}"


@contextmanager
def drawing() -> Iterator[Callable[[float, str], None]]:
    """A function that takes the share done and a line of text: draws progress on a terminal, or writes the line to
    a log from time to time. Shows nothing for work of less than two seconds.
    """
    started_at = shown_at = time.monotonic()
    is_terminal = sys.stderr.isatty()
    drawn = False

    def draw(share: float, line: str) -> None:
        nonlocal shown_at, drawn
        now = time.monotonic()
        if now - started_at < QUIET_SECONDS or now - shown_at < (0.1 if is_terminal else LOG_SECONDS):
            return
        shown_at, drawn = now, True
        if is_terminal:
            click.echo(f"\r{bar([(share, '█')])} {line}\x1b[K", nl=False, err=True)
        else:
            click.echo(line, err=True)

    try:
        yield draw
    finally:
        if drawn and is_terminal:
            click.echo("", err=True)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that shows how many of `what` are done."""
    started_at = time.monotonic()
    with drawing() as draw:

        def show(done: int, of: int) -> None:
            draw(done / of if of else 1.0, f"{done:,} of {of:,} {what}, {time.monotonic() - started_at:.0f} s")

        yield show


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, float], None]]:
    """A function that shows the progress of iterations."""
    started_at = time.monotonic()
    with drawing() as draw:

        def show(iteration: int, iterations: int, objective: float) -> None:
            seconds = time.monotonic() - started_at
            line = f"iteration {iteration} of at most {iterations}, objective {objective:,.1f}, {seconds:.0f} s"
            draw(iteration / iterations, line)

        yield show
