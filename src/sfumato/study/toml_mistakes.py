"""Where each key of a TOML document stands: `tomllib` reads the values and keeps no places.

Mistakes of a study file as they are gathered: every one is kept, with its line, and reading goes on.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.tables.errors import BadSetting, ErrorLocation, SfumatoError

KeyPath = tuple[str | int, ...]
"""The way to a value: keys, and positions (from 0) in arrays: `("practice", 1, "item")`."""

BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
SPACE = re.compile(r"[ \t]*")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
STRINGS = (
    re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}', re.DOTALL),
    re.compile(r"'''(?:[^']|'{1,2}(?!'))*'{3,5}"),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
PLAIN = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line (from 1) of every table, key and array element of `text`, a document that `tomllib` accepts.

    A table stands where its header does, or its first key where it has none.
    """
    scan = _Scan(text.replace("\r\n", "\n"))
    scan.document()
    return scan.lines


@dataclass
class _Scan:
    """A walk through the document; `at` is the next character."""

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
        """The path of `keys` seen from `table`: an array of tables stands for its last entry."""
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
        """Whether the array or inline table ends here; a comma before what comes next is passed over."""
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
        """Pass over a string, if one stands here."""
        match = next((found for each in STRINGS if (found := each.match(self.text, self.at))), None)
        if match:
            self.at = match.end()
        return match is not None

    def _note(self, path: KeyPath) -> None:
        """Keep the line of `path`; what it lies in has stood there since its first key, unless it has a header."""
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        for length in range(1, len(path)):
            self.lines.setdefault(path[:length], self._line)
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
