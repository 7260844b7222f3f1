"""Reads the keys of single tables of a study file. A wrong value is recorded as a mistake and replaced by its default.

Used by `study_file` and `study_file_tables`; the limits are those of the fields in `study`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from sfumato.study.study import MAX_TEXT, Length, Range
from sfumato.study.toml_mistakes import KeyPath, Mistakes, written
from sfumato.tables.errors import listing, nearest
from sfumato.tables.errors import show as show_any
from sfumato.tables.text_file import is_file, is_folder, path_inside

Choice = TypeVar("Choice", bound=StrEnum)
Part = TypeVar("Part")

TOP_KEYS = ("title", "name", "classes", "ordered", "items", "language", "languages")
"""Keys that belong above the first table, and are often written below it by mistake."""
FOLDERS_VARIABLE = "SFUMATO_ITEM_FOLDERS"
ITEM_KEYS = ("folder", "csv", "npz", "texts")
"""The sources of items, which are keys of `[items]`."""
MAX_UNKNOWN_KEYS = 50
"""How many unknown keys of a table are listed; the rest are counted."""
LINE_ENDS = "\n\r\t"
NO_BREAK = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
"""Allowed in sentences (French has them before : ; ? and !), but not in names, where they cannot be seen."""


@dataclass
class Fields:
    """The table at `path`. Each known key is read once; `close` reports the other keys."""

    values: Mapping[str, Any]
    mistakes: Mistakes
    path: KeyPath = ()
    _known: dict[str, None] = field(default_factory=dict)

    def given(self, key: str) -> bool:
        """Whether the key is in the table, with any value."""
        self._known[key] = None
        return key in self.values

    def add(self, key: str | None, found: str, expected: str, fix: str, code: str) -> None:
        """Record a mistake at `key`, or at the table itself."""
        self.mistakes.add(self.path if key is None else (*self.path, key), found, expected, fix, code)

    def require(self, key: str, expected: str, example: str) -> None:
        """Record a mistake if the key is missing."""
        if key not in self.values:
            self.add(key, f"no {key}", expected, f"write {key} = {example}", "missing-key")

    def read(self, part: type[Part], *, close: bool = True, **known: Any) -> Part:
        """The keys of this table as the fields of a dataclass; fields in `known` are already read.

        A field named `settings` gets all other keys, which are checked later; otherwise they are mistakes, if `close`.
        """
        hints = get_type_hints(part, include_extras=True)
        for each in fields(part):  # type: ignore[arg-type]
            if each.name not in known and each.name != "settings":
                known[each.name] = self._field(each.name, hints[each.name], each.default)
        if "settings" in hints:
            known["settings"] = self.rest()
        elif close:
            self.close()
        return part(**known)

    def _field(self, key: str, hint: Any, default: Any) -> Any:
        limits = hint.__metadata__[0] if hasattr(hint, "__metadata__") else None
        if isinstance(limits, Range):
            return self._number(key, 0 if default is MISSING else default, limits)
        if isinstance(limits, Length):
            default = "" if default is MISSING else default
            return self.text(key, default, one_line=not limits.lines, limit=limits.most) or default
        return self.flag(key) if hint is bool else self.choice(key, default)

    def text(
        self,
        key: str,
        default: str | None = None,
        *,
        one_line: bool = True,
        prose: bool = False,
        limit: int = MAX_TEXT,
    ) -> str | None:
        """A text that is not empty."""
        if not self.given(key):
            return default
        return self.checked_text((key,), self.values[key], one_line=one_line, prose=prose, limit=limit) or default

    def checked_text(
        self, at: KeyPath, value: object, *, one_line: bool = True, prose: bool = False, limit: int = MAX_TEXT
    ) -> str | None:
        """`value`, which is at `at` in this table, as a text; None if it is wrong. Several lines are always `prose`."""
        key = written(at)
        path = (*self.path, *at)
        if not isinstance(value, str):
            self._wrong_type(path, value, "a text in quotes")
            return None
        allowed = ("" if one_line else LINE_ENDS) + (NO_BREAK if prose or not one_line else "")
        bad = next((c for c in value if not c.isprintable() and c not in allowed), None)
        found, fix, code = "", "", "bad-text"
        if not value.strip():
            found, fix, code = f"an empty {key}", "fill it in, or leave the key out", "empty-text"
        elif bad is not None:
            fix = "replace it with a plain space" if bad in NO_BREAK else "remove it"
            found = f"the character {show_value(bad)} in {key}"
        elif one_line and value != value.strip():
            found, fix = f"{key} = {show_value(value)} with space at its ends", "remove the space"
        elif len(value) > limit:
            found, fix = f"{len(value):,} characters in {key}", f"shorten it to {limit:,}"
        if not found:
            return value
        self.mistakes.add(path, found, f"{'one line of ' * one_line}text of 1 to {limit:,} characters", fix, code)
        return None

    def whole(self, key: str, default: int | None, low: int, high: int) -> Any:
        """A whole number from `low` to `high`."""
        return self._number(key, default, Range(low, high, whole=True))

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        return float(self._number(key, default, Range(low, high)))

    def _number(self, key: str, default: Any, limits: Range) -> Any:
        if not self.given(key):
            return default
        value = self.values[key]
        if type(value) is not int and (limits.whole or type(value) is not float):
            self._wrong_type((*self.path, key), value, "a whole number" if limits.whole else "a number")
            return default
        if limits.low <= value <= limits.high:
            return value if limits.whole else float(value)
        usual = "" if default is None else f" for {default:g}"
        fix = f"choose a number in this range, or leave the key out{usual}"
        expected = f"{limits.low:,g} to {limits.high:,g}"
        self.add(key, f"{key} = {show_value(value)}", expected, fix, "out-of-range")
        return default

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        if not self.given(key):
            return default
        value = self.values[key]
        if not isinstance(value, bool):
            self._wrong_type((*self.path, key), value, "true or false")
        return value is True

    def choice(self, key: str, default: Choice) -> Choice:
        """One of the values of the enumeration of `default`."""
        if not self.given(key):
            return default
        value = self.values[key]
        names = [each.value for each in type(default)]
        if value in names:
            return type(default)(value)
        near = nearest(value, names) if isinstance(value, str) else ""
        expected = " or ".join(f'"{name}"' for name in names)
        self.add(key, f"{key} = {show_value(value)}", expected, f"{near}write one of these in quotes", f"unknown-{key}")
        return default

    def file(self, key: str, base: Path, *, folder: bool = False, also_in: Sequence[Path] = ()) -> Path | None:
        """The path of an existing file (or folder), relative to `base`; it must be in there, or in one of `also_in`."""
        value = self.text(key)
        if value is None:
            return None
        path = base / value
        if is_folder(path) if folder else is_file(path):
            inside = path_inside(path, (base, *also_in))
            if inside is None:
                self.add(key, *outside(f"{key} = {show_value(value)}", is_item=key in ITEM_KEYS))
            return inside or path
        what = "folder" if folder else "file"
        wrong_sort = is_file(path) or is_folder(path)
        found = f"{key} = {show_value(value)}, which {f'is not a {what}' if wrong_sort else 'does not exist'}"
        fix = f"{nearest(path.name, _names_in(path.parent))}check the path; it is relative to the study file"
        self.add(key, found, f"an existing {what}", fix, "no-such-file")
        # Not None: what depends on the path would be reported as a second mistake.
        return path

    def table(self, key: str) -> Fields:
        """The table `[key]`; an empty one if it is missing."""
        value = self.values[key] if self.given(key) else {}
        if not isinstance(value, Mapping):
            self._wrong_type((*self.path, key), value, f"a table, [{key}]")
            value = {}
        return Fields(value, self.mistakes, (*self.path, key))

    def tables(self, key: str) -> list[Fields]:
        """The tables `[[key]]`, in order."""
        value = self.values[key] if self.given(key) else []
        path = (*self.path, key)
        if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
            self._wrong_type(path, value, f"tables, each under its own [[{key}]]")
            return []
        return [Fields(entry, self.mistakes, (*path, number)) for number, entry in enumerate(value)]

    def texts(self, key: str, low: int, high: int, *, prose: bool = False) -> tuple[str, ...]:
        """A list of different texts; empty if the key is missing."""
        if not self.given(key):
            return ()
        value = self.values[key]
        if not isinstance(value, list):
            self._wrong_type((*self.path, key), value, "a list of texts in quotes")
            return ()
        if not low <= len(value) <= high:
            fix = "add some" if len(value) < low else "leave some out"
            self.add(key, f"{len(value)} {key}", f"{low} to {high} of them", fix, "out-of-range")
        kept: dict[str, None] = {}
        for number, each in enumerate(value):
            text = self.checked_text((key, number), each, prose=prose)
            if text is not None and text in kept:
                found = f"{show_value(text)} twice in {key}"
                self.mistakes.add((*self.path, key, number), found, "each once", "leave one out", "doubled-text")
            elif text is not None:
                kept[text] = None
        return tuple(kept)

    def rest(self) -> dict[str, Any]:
        """The keys that were not read, unchecked."""
        return {key: value for key, value in self.values.items() if key not in self._known}

    def close(self) -> None:
        """Record every key that was not read as a mistake."""
        here = f"[{written(self.path)}]" if self.path else "a study file"
        others = list(self.rest())
        for key in others[:MAX_UNKNOWN_KEYS]:
            fix = f"{nearest(key, self._known)}leave it out, or write it as listed".strip()
            if self.path and key in TOP_KEYS:
                fix = f"write {key} above the first [table]; below one it belongs to that table"
            expected = f"the keys of {here}: {listing(list(self._known), 16)}"
            self.add(key, f"the key {show_value(key)}", expected, fix, "unknown-key")
        if len(others) > MAX_UNKNOWN_KEYS:
            n_more = len(others) - MAX_UNKNOWN_KEYS
            self.add(None, f"{n_more:,} more keys", f"the keys of {here}", "is it a study file?", "unknown-key")

    def _wrong_type(self, path: KeyPath, value: object, expected: str) -> None:
        fix = f"write {expected}"
        if isinstance(value, str) and "number" in expected:
            fix = "leave out the quotes" if _is_number(value) else fix
        elif type(value) in (int, float) and "quotes" in expected:
            fix = "put it in quotes"
        found = f"{written(path[-1:] if isinstance(path[-1], str) else path[-2:])} = {show_value(value)}"
        self.mistakes.add(path, found, expected, fix, "wrong-type")


def item_folders() -> tuple[Path, ...]:
    """The folders outside a study whose files it may show as items; only the person who runs the command names them."""
    return tuple(Path(each) for each in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if each)


def outside(found: str, *, is_item: bool) -> tuple[str, str, str, str]:
    """The parts of the error for a path that leaves the study's folder: found, expected, fix and code."""
    otherwise = f", or, if you trust the study, name its folder: {FOLDERS_VARIABLE}=FOLDER sfumato ..."
    fix = f"copy it into the study's folder{otherwise if is_item else ''}"
    return f"{found}, which is outside the study's folder", "a path in the study's folder", fix, "outside-folder"


def show_value(value: object) -> str:
    """A value of the file for messages; Python does not print numbers of thousands of digits."""
    try:
        return show_any(value)
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
