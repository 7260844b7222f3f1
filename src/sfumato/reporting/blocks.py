"""What stands in a section besides figures and tables: words, big numbers, points, commands.

Text is text: nothing in it is read as HTML. A part between `backquotes` is set as code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, final


class Block(Protocol):
    """A part of a section; `template` is the file that says how it looks."""

    @property
    def template(self) -> str: ...


@final
@dataclass(frozen=True)
class Prose:
    """Paragraphs."""

    paragraphs: tuple[str, ...]
    template: ClassVar[str] = "prose.html"


@final
@dataclass(frozen=True)
class Fact:
    """One number to remember: what it counts, and a note in small print."""

    value: str
    label: str
    note: str = ""


@final
@dataclass(frozen=True)
class Facts:
    """A row of big numbers. Two to five can be taken in at a glance."""

    facts: tuple[Fact, ...]
    template: ClassVar[str] = "facts.html"


@final
@dataclass(frozen=True)
class Points:
    """Sentences one below the other."""

    points: tuple[str, ...]
    template: ClassVar[str] = "points.html"


@final
@dataclass(frozen=True)
class Commands:
    """Lines to be typed into a terminal."""

    lines: tuple[str, ...]
    template: ClassVar[str] = "commands.html"
