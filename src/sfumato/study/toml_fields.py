"""The keys of one table of a study file, read one by one: what is wrong is noted, and a default taken instead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from sfumato.study.text_file import is_file, is_folder
from sfumato.study.toml_mistakes import KeyPath, Mistakes, written
from sfumato.tables.errors import listing, nearest
from sfumato.tables.errors import show as shown

Choice = TypeVar("Choice", bound=StrEnum)

MAX_TEXT = 100_000
LINE_ENDS = "\n\r\t"
NO_BREAK = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
"""Spaces at which no line ends, as French has them before : ; ? and !. They belong into sentences; in names, which are
compared letter by letter, nobody would see them."""


@dataclass
class Fields:
    """A table at `path`. Each key is asked for once; `close` then names those nobody asked for."""

    values: Mapping[str, Any]
    mistakes: Mistakes
    path: KeyPath = ()
    _asked: dict[str, None] = field(default_factory=dict)

    def given(self, key: str) -> bool:
        """Whether the key is there, whatever it holds."""
        self._asked[key] = None
        return key in self.values

    def add(self, key: str | None, found: str, *, expected: str, fix: str, code: str) -> None:
        """Note a mistake at `key`, or at the table itself."""
        at = self.path if key is None else (*self.path, key)
        self.mistakes.add(at, found, expected=expected, fix=fix, code=code)

    def missing(self, key: str, expected: str, example: str) -> None:
        """Note that a key which must be there is not."""
        self.add(key, f"no {key}", expected=expected, fix=f"write {key} = {example}", code="missing-key")

    def text(
        self,
        key: str,
        default: str | None = None,
        *,
        one_line: bool = True,
        prose: bool = False,
        limit: int = MAX_TEXT,
    ) -> str | None:
        """A text that says something."""
        if not self.given(key):
            return default
        return self.checked_text((key,), self.values[key], one_line=one_line, prose=prose, limit=limit) or default

    def checked_text(
        self, at: KeyPath, value: object, *, one_line: bool = True, prose: bool = False, limit: int = MAX_TEXT
    ) -> str | None:
        """`value`, which stands at `at` in this table, as a text; None where it is none. What has lines is `prose`."""
        key = written(at)
        path = (*self.path, *at)
        if not isinstance(value, str):
            self._wrong_type(path, value, "a text in quotes")
            return None
        allowed = ("" if one_line else LINE_ENDS) + (NO_BREAK if prose or not one_line else "")
        bad = next((c for c in value if not c.isprintable() and c not in allowed), None)
        found, fix, code = "", f"write {key} anew", "bad-text"
        if not value.strip():
            found, fix, code = f"an empty {key}", "fill it in, or leave the key out", "empty-text"
        elif bad is not None:
            fix = "write a plain space in its place" if bad in NO_BREAK else "remove it"
            found = f"the character {show_value(bad)} in {key}"
        elif one_line and value != value.strip():
            found, fix = f"{key} = {show_value(value)} with space at its ends", "remove the space"
        elif len(value) > limit:
            found, fix = f"{len(value):,} characters in {key}", f"shorten it to {limit:,}"
        if not found:
            return value
        expected = f"{'one line of ' if one_line else ''}text of 1 to {limit:,} characters"
        self.mistakes.add(path, found, expected=expected, fix=fix, code=code)
        return None

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        if not self.given(key):
            return default
        value = self.values[key]
        if type(value) is not int:
            self._wrong_type((*self.path, key), value, "a whole number")
            return default
        return int(self._in_range(key, value, default, low, high))

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        if not self.given(key):
            return default
        value = self.values[key]
        if type(value) not in (int, float):
            self._wrong_type((*self.path, key), value, "a number")
            return default
        return float(self._in_range(key, value, default, low, high))

    def _in_range(self, key: str, value: float, default: float, low: float, high: float) -> float:
        if low <= value <= high:
            return value
        fix = f"choose a number in this range, or leave the key out for {default:g}"
        found = f"{key} = {show_value(value)}"
        self.add(key, found, expected=f"{low:,g} to {high:,g}", fix=fix, code="out-of-range")
        return default

    def flag(self, key: str) -> bool:
        """True or false; false where it is missing."""
        if not self.given(key):
            return False
        value = self.values[key]
        if not isinstance(value, bool):
            self._wrong_type((*self.path, key), value, "true or false")
        return value is True

    def choice(self, key: str, default: Choice) -> Choice:
        """One of the names of the enumeration of `default`."""
        if not self.given(key):
            return default
        value = self.values[key]
        names = [each.value for each in type(default)]
        if value in names:
            return type(default)(value)
        near = nearest(value, names) if isinstance(value, str) else ""
        expected = " or ".join(f'"{name}"' for name in names)
        fix = f"{near}write one of these in quotes"
        self.add(key, f"{key} = {show_value(value)}", expected=expected, fix=fix, code=f"unknown-{key}")
        return default

    def file(self, key: str, base: Path, *, folder: bool = False) -> Path | None:
        """The path of a file (or folder) that is there, from `base` where it is relative."""
        value = self.text(key)
        if value is None:
            return None
        path = base / value
        if is_folder(path) if folder else is_file(path):
            return path
        what = "folder" if folder else "file"
        wrong_sort = is_file(path) or is_folder(path)
        found = f"{key} = {show_value(value)}, which is {'no ' + what if wrong_sort else 'not there'}"
        near = nearest(path.name, _names_in(path.parent))
        fix = f"{near}check the path; it is read from the folder of the study file"
        self.add(key, found, expected=f"an existing {what}", fix=fix, code="no-such-file")
        # Where it would be: what depends on it is not reported twice.
        return path

    def table(self, key: str) -> Fields:
        """The table `[key]`; an empty one where it is missing."""
        value = self.values.get(key, {})
        self._asked[key] = None
        if isinstance(value, Mapping):
            return Fields(value, self.mistakes, (*self.path, key))
        self._wrong_type((*self.path, key), value, f"a table, [{key}]")
        return Fields({}, self.mistakes, (*self.path, key))

    def tables(self, key: str) -> list[Fields]:
        """The tables `[[key]]`, in order."""
        value = self.values.get(key, [])
        self._asked[key] = None
        entries = value if isinstance(value, list) else [value]
        path = (*self.path, key)
        good = isinstance(value, list) and all(isinstance(entry, Mapping) for entry in entries)
        if not good:
            self._wrong_type(path, value, f"tables, each under its own [[{key}]]")
        return [
            Fields(entry, self.mistakes, (*path, number))
            for number, entry in enumerate(entries)
            if good and isinstance(entry, Mapping)
        ]

    def texts(self, key: str, low: int, high: int, *, prose: bool = False) -> list[str]:
        """A list of texts, each once."""
        if not self.given(key):
            return []
        value = self.values[key]
        if not isinstance(value, list):
            self._wrong_type((*self.path, key), value, "a list of texts in quotes")
            return []
        if not low <= len(value) <= high:
            fix = "add some" if len(value) < low else "leave some out"
            self.add(key, f"{len(value)} {key}", expected=f"{low} to {high} of them", fix=fix, code="out-of-range")
        kept: list[str] = []
        for number, each in enumerate(value):
            text = self.checked_text((key, number), each, prose=prose)
            if text is not None and text in kept:
                at = (*self.path, key, number)
                found = f"{show_value(text)} twice in {key}"
                self.mistakes.add(at, found, expected="each once", fix="leave one out", code="doubled-text")
            elif text is not None:
                kept.append(text)
        return kept

    def rest(self) -> dict[str, Any]:
        """The keys nobody asked for: taken as they are."""
        return {key: value for key, value in self.values.items() if key not in self._asked}

    def close(self, elsewhere: Sequence[str] = ()) -> None:
        """Note every key nobody asked for; `elsewhere` lists keys that belong above the first table."""
        here = f"[{written(self.path)}]" if self.path else "a study file"
        for key in self.rest():
            fix = f"{nearest(key, self._asked)}leave it out, or write it as listed".strip()
            if self.path and key in elsewhere:
                fix = f"write {key} above the first [table]; below one it belongs to that table"
            expected = f"the keys of {here}: {listing(list(self._asked), 16)}"
            self.add(key, f"the key {show_value(key)}", expected=expected, fix=fix, code="unknown-key")

    def _wrong_type(self, path: KeyPath, value: object, expected: str) -> None:
        fix = f"write {expected}"
        if isinstance(value, str) and "number" in expected:
            fix = "leave out the quotes" if _is_number(value) else fix
        elif type(value) in (int, float) and "quotes" in expected:
            fix = "put it in quotes"
        found = f"{written(path[-1:] if isinstance(path[-1], str) else path[-2:])} = {show_value(value)}"
        self.mistakes.add(path, found, expected=expected, fix=fix, code="wrong-type")


def show_value(value: object) -> str:
    """A value of the file as it may be printed; Python refuses to spell out numbers of thousands of digits."""
    try:
        return shown(value)
    except ValueError:
        return "a huge number"


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir())[:1000]
    except (OSError, ValueError):
        return []
