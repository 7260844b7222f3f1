"""The classes of a study file: plain names, or tables with a key and an example picture each."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.study.study import StudyClass
from sfumato.study.toml_fields import Fields, show_value

WITHOUT_CLASSES = frozenset({"similarity", "triplet"})
"""Kinds that compare items with each other, and so can do without classes."""
RESERVED_KEYS: Mapping[str, str] = {"tokens": "o"}
"""Shortcuts that a form keeps for itself: `o` says that others are possible."""
MAX_CLASSES = 1000


def read_classes(top: Fields, base: Path, kind: str) -> tuple[StudyClass, ...]:
    """The classes, in the order of the file."""
    value = top.values.get("classes", [])
    top.given("classes")
    if not isinstance(value, list):
        fix = 'write classes = ["cat", "dog"]'
        top.add("classes", f"classes = {show_value(value)}", expected="a list of names", fix=fix, code="wrong-type")
        return ()
    if len(value) == 1 or len(value) > MAX_CLASSES or (not value and kind not in WITHOUT_CLASSES):
        top.add(
            "classes",
            f"{len(value):,} class{'es' * (len(value) != 1)}",
            expected=f"2 to {MAX_CLASSES:,} classes",
            fix='write classes = ["cat", "dog"] above the first [table]',
            code="too-few-classes" if len(value) < 2 else "too-many-classes",
        )
    kept = [_read_class(top, number, each, base) for number, each in enumerate(value)]
    _check_once(top, [each.name for each in kept], "name", _same_name)
    _check_once(top, [each.key for each in kept], "key", str.lower)
    for number, each in enumerate(kept):
        if each.key is not None and each.key.lower() in RESERVED_KEYS.get(kind, ""):
            top.mistakes.add(
                ("classes", number, "key"),
                f"key = {show_value(each.key)}, which the form of {kind} uses itself",
                expected="a key of its own",
                fix="choose another key",
                code="reserved-key",
            )
    return tuple(kept)


def _read_class(top: Fields, number: int, value: Any, base: Path) -> StudyClass:
    if not isinstance(value, Mapping):
        return StudyClass(top.checked_text(("classes", number), value, limit=200) or "")
    entry = Fields(value, top.mistakes, ("classes", number))
    name = entry.text("name", limit=200)
    if name is None and "name" not in value:
        entry.missing("name", "the name of the class", '"cat"')
    key = entry.text("key") if "key" in value and value["key"] != " " else None
    if entry.given("key") and (value["key"] == " " or (key is not None and not _is_key(key))):
        entry.add(
            "key",
            f"key = {show_value(value['key'])}",
            expected="one character on the keyboard, but not space or ? (Enter, Tab and Escape have their own work)",
            fix='write a letter or a digit: key = "c"',
            code="bad-key",
        )
        key = None
    example = entry.file("example", base)
    entry.close(("title", "items"))
    return StudyClass(name or "", key, example)


def _is_key(text: str) -> bool:
    """Whether a press of one key gives `text`; the page compares keys in lower case."""
    return len(text) == 1 and len(text.lower()) == 1 and text != "?" and not unicodedata.combining(text)


def _same_name(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _check_once(top: Fields, values: list[Any], what: str, form: Any) -> None:
    """Note each class whose name or key an earlier one has."""
    seen: dict[str, int] = {}
    for number, value in enumerate(values):
        if not value:
            continue
        first = seen.setdefault(form(value), number)
        if first != number:
            at = (
                ("classes", number, what) if isinstance(top.values["classes"][number], Mapping) else ("classes", number)
            )
            top.mistakes.add(
                at,
                f"{what} = {show_value(value)}, which class {first + 1} has already",
                expected=f"a {what} of its own for every class",
                fix="rename one of them" if what == "name" else "choose another key; case makes no difference",
                code=f"doubled-{what}",
            )
