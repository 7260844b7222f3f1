"""Mistakes of a TOML file, each with its line. `lines_of` finds the lines, which `tomllib` does not keep."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.tables.errors import BadSetting, ErrorLocation, SfumatoError
from sfumato.tables.toml_file import STRINGS

KeyPath = tuple[str | int, ...]
"""The path of a value: keys, and indices in arrays: `("practice", 1, "item")`."""

BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
SPACE = re.compile(r"[ \t]*")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
STRING = re.compile("|".join(STRINGS), re.DOTALL)
PLAIN = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line (from 1) of every table, key and array element of `text`, a document that `tomllib` accepts.

    The line of a table is that of its header, or of its first key if it has none.
    """
    scan = _Scanner(text.replace("\r\n", "\n"))
    scan.document()
    return scan.lines


@dataclass
class _Scanner:
    """Reads the document once; `at` is the next character."""

    text: str
    at: int = 0
    lines: dict[KeyPath, int] = field(default_factory=dict)
    _n_entries: dict[KeyPath, int] = field(default_factory=dict)
    _line: int = 1
    _counted_to: int = 0

    def document(self) -> None:
        table: KeyPath = ()
        while self._skip(BLANK) < len(self.text):
            if self._takes("[["):
                *above, last = self._keys()
                array = (*self._within((), above), last)
                number = self._n_entries.get(array, 0)
                self._n_entries[array] = number + 1
                table = (*array, number)
                self._note(table)
                self._take("]]")
            elif self._takes("["):
                table = self._within((), self._keys())
                self._note(table)
                self._take("]")
            else:
                self._pair(table)

    def _within(self, table: KeyPath, keys: list[str]) -> KeyPath:
        """The path of `keys` from `table`; an array of tables means its last entry."""
        path = table
        for key in keys:
            path = (*path, key)
            if path in self._n_entries:
                path = (*path, self._n_entries[path] - 1)
        return path

    def _pair(self, table: KeyPath) -> None:
        path = (*table, *self._keys())
        self._note(path)
        self._skip(SPACE)
        self._take("=")
        self._skip(SPACE)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        if self._takes("["):
            number = 0
            while not self._ends("]"):
                self._note((*path, number))
                self._value((*path, number))
                number += 1
        elif self._takes("{"):
            while not self._ends("}"):
                self._pair(path)
        elif not self._string():
            self._skip(PLAIN)

    def _ends(self, mark: str) -> bool:
        """Whether the array or inline table ends here; skips a comma before the next value."""
        self._skip(BLANK)
        if self._takes(","):
            self._skip(BLANK)
        return self._takes(mark)

    def _keys(self) -> list[str]:
        """The parts of a dotted key."""
        keys: list[str] = []
        while not keys or self._takes("."):
            self._skip(SPACE)
            start = self.at
            if self._string():
                keys.append(tomllib.loads(f"key = {self.text[start : self.at]}")["key"])
            else:
                keys.append(self.text[start : self._skip(BARE_KEY)])
            self._skip(SPACE)
        return keys

    def _string(self) -> bool:
        """Skip a string, if there is one here."""
        start = self.at
        return self._skip(STRING) > start

    def _note(self, path: KeyPath) -> None:
        """Record the line of `path`, and of the tables around it unless they have one already."""
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        above = path[:-1]
        while above and above not in self.lines:
            self.lines[above] = self._line
            above = above[:-1]
        self.lines[path] = self._line

    def _skip(self, what: re.Pattern[str]) -> int:
        match = what.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def _takes(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def _take(self, mark: str) -> None:
        taken = self._takes(mark)
        assert taken, f"{mark!r} is not at {self.at} of a valid document"


@dataclass
class Mistakes:
    """The mistakes found in `file` so far."""

    file: str
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    found: list[SfumatoError] = field(default_factory=list)

    def add(self, path: KeyPath, found: str, expected: str, fix: str, code: str) -> None:
        """Record a mistake at the key `path`."""
        self.found.append(BadSetting(found, expected, fix, code, self.where(path)))

    def place(self, path: KeyPath, error: SfumatoError) -> None:
        """Record an error of another check as a mistake at the key `path`."""
        at = f" ({error.where})" if error.where.file and error.where.file != self.file else ""
        self.found.append(type(error)(error.found + at, error.expected, error.fix, error.code, self.where(path)))

    def where(self, path: KeyPath) -> ErrorLocation:
        """The location of a key; if it is missing, that of its table."""
        return ErrorLocation(self.file, line=self.line(path), column=written(path) or None)

    def line(self, path: KeyPath) -> int:
        """The line of a key, or of the innermost table around it that exists."""
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 1)

    def about(self, *path: str | int) -> bool:
        """Whether there is a mistake at `path` or below it."""
        start = written(path)
        return any(
            (each.where.column or "") == start or (each.where.column or "").startswith((f"{start}.", f"{start}["))
            for each in self.found
        )

    def in_order(self) -> list[SfumatoError]:
        """The mistakes by line; those of other files come last."""
        return sorted(self.found, key=lambda each: (each.where.file != self.file, each.where.line or 0))


def written(path: KeyPath) -> str:
    """A path as text: `practice[1].item`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
