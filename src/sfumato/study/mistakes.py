"""Mistakes of a study file as they are gathered: every one is kept, with its line, and reading goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.study.lines import KeyPath
from sfumato.tables.errors import BadSetting, ErrorLocation, SfumatoError


@dataclass
class Mistakes:
    """What is wrong with `file` so far."""

    file: str
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    found: list[SfumatoError] = field(default_factory=list)

    def add(self, path: KeyPath, found: str, *, expected: str, fix: str, code: str) -> None:
        """One more mistake, at the key `path`."""
        self.found.append(BadSetting(f"found {found}", expected=expected, fix=fix, code=code, where=self.where(path)))

    def place(self, path: KeyPath, error: SfumatoError) -> None:
        """One more mistake that somebody else found, at the key `path` to which it is owed."""
        where = self.where(path)
        at = f" ({error.where})" if error.where.file and error.where.file != self.file else ""
        self.found.append(
            type(error)(error.found + at, expected=error.expected, fix=error.fix, code=error.code, where=where)
        )

    def where(self, path: KeyPath) -> ErrorLocation:
        """The place of a key; that of the table it should be in where it is missing."""
        return ErrorLocation(self.file, line=self.line(path), column=written(path) or None)

    def line(self, path: KeyPath) -> int:
        """The line of a key, or of the nearest thing around it that is there."""
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 1)

    def about(self, *path: str | int) -> bool:
        """Whether a mistake was found at `path` or within it."""
        start = written(path)
        return any(
            (each.where.column or "") == start or (each.where.column or "").startswith((f"{start}.", f"{start}["))
            for each in self.found
        )

    def in_order(self) -> list[SfumatoError]:
        """The mistakes from the top of the file to its end; those of other files come last."""
        return sorted(self.found, key=lambda each: (each.where.file != self.file, each.where.line or 0))


def written(path: KeyPath) -> str:
    """A path as one would write it: `practice[1].item`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
