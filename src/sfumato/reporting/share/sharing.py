"""What a format does: write a release where it is told, whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from sfumato.reporting.share.release import Release


@dataclass(frozen=True)
class Shared:
    """What was written: the place, its files by their names there, and how to read them."""

    place: Path
    files: tuple[str, ...]
    reading: str


@runtime_checkable
class Format(Protocol):
    """A form in which others read labels."""

    name: ClassVar[str]
    holds_answers: ClassVar[bool]
    """Whether beliefs and answers can stand beside the labels."""

    def check_place(self, place: Path) -> None:
        """An error unless the release can be written to `place`; for the moment before anything is read."""
        ...

    def write(self, release: Release, place: Path) -> Shared: ...
