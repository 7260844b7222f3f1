"""Ordered classes: names on a scale (none < mild < severe), and how tables carry that they are ordered.

`OrderedClasses` is a tuple of names, so it goes wherever the classes of a table go. Files record it in the schema's
metadata; a CSV has none, and `--ordered` says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sfumato.tables.errors import BadSetting, BadTable, Where, bad_classes, show, warn

ORDERED_KEY = b"sfumato.ordered"
"""The schema metadata key of a table with ordered classes; its value is `true`."""
MOST_SHOWN = 12


class OrderedClasses(tuple[str, ...]):
    """Classes on a scale, from the lowest to the highest. Equal to the plain tuple of the same names."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OrderedClasses({tuple(self)!r})"


def is_ordered(classes: Sequence[str]) -> bool:
    """Whether the classes are on a scale."""
    return isinstance(classes, OrderedClasses)


def names_like(names: Iterable[str], classes: Sequence[str]) -> tuple[str, ...]:
    """`names` as a tuple, ordered if `classes` are."""
    return OrderedClasses(names) if is_ordered(classes) else tuple(names)


def order_metadata(classes: Sequence[str]) -> dict[bytes, bytes]:
    """The schema metadata that records the order; empty for classes without one."""
    return {ORDERED_KEY: b"true"} if is_ordered(classes) else {}


def with_recorded_order(
    classes: tuple[str, ...], metadata: dict[bytes, bytes] | None, where: Where = None
) -> tuple[str, ...]:
    """`classes`, ordered if the schema's metadata says so."""
    text = (metadata or {}).get(ORDERED_KEY, b"false")
    if text not in (b"true", b"false"):
        found = f"{show(text)} under the metadata key {ORDERED_KEY.decode()}"
        raise BadTable(found, "true or false", "write the file again", "bad-order", where)
    return OrderedClasses(classes) if text == b"true" else classes


def scale_text(classes: Sequence[str], between: str = " < ") -> str:
    """The scale for messages: `none < mild < severe`; the middle of a long one is left out."""
    shown = [name if name.isprintable() and len(name) <= 40 else show(name, 40) for name in classes]
    if len(shown) > MOST_SHOWN:
        shown = [*shown[: MOST_SHOWN // 2], "...", *shown[-MOST_SHOWN // 2 :]]
    return between.join(shown)


def reordered(table: Any, classes: Sequence[str], where: Where = None) -> Any:
    """A table (Annotations, Beliefs, Counts, SoftLabels) with its classes, and the columns of their numbers, in the
    order of `classes`; other names are an error. A scale of `classes` becomes that of the table; if they are no scale,
    a table with a scale keeps its own."""
    given = names_like(classes, classes)
    if sorted(given) != sorted(table.classes):
        fix = "name the same classes, in any order, or leave out --classes"
        raise bad_classes(f"the classes {scale_text(table.classes, ', ')} in the table", given, fix, where)
    if is_ordered(table.classes) and not is_ordered(given):
        return table
    if tuple(given) == tuple(table.classes):
        return replace(table, classes=given)
    if is_ordered(table.classes):
        warn(f"the scale {scale_text(table.classes)} of the table is replaced by {scale_text(given)}")
    columns = [table.classes.index(name) for name in given]
    changed: dict[str, Any] = {}
    for name in ("probs", "counts", "soft"):
        numbers = table.__dict__.get(name)
        if numbers is not None:
            changed[name] = numbers[:, columns]
    hard = table.__dict__.get("hard")
    if hard is not None:
        # Imported here: a study is read without it.
        import numpy as np

        changed["hard"] = np.argsort(columns)[hard].astype(hard.dtype)
    return replace(table, classes=given, **changed)


def in_order(table: Any, scale: Sequence[str] = ()) -> Any:
    """A table that was read, with ordered classes, in the order of `scale` if given.

    Warns if the order is only alphabetical, as that of classes that nobody put in order is.
    """
    classes = getattr(table, "classes", ()) if hasattr(table, "as_ordered") else ()
    if not classes:
        fix = "name the classes in order with --classes, or leave out --ordered"
        raise BadSetting("--ordered for a file without class names", "a table with classes", fix, "no-classes")
    words = not all(re.fullmatch(r"[+-]?[0-9]+([.][0-9]+)?", name) for name in classes)
    if not scale and not is_ordered(classes) and words and len(classes) > 2 and list(classes) == sorted(classes):
        warn(f"the order of the classes is alphabetical: {scale_text(classes)}; give the scale with --classes")
    return table.as_ordered(scale)


def check_same_scale(one: Sequence[str], other: Sequence[str], where: Where = None) -> None:
    """Raise if both are ordered, over the same classes, and their orders differ."""
    if is_ordered(one) and is_ordered(other) and tuple(one) != tuple(other):
        fix = "write one of the tables again with its classes in the other order"
        raise BadSetting(f"the scale {scale_text(one)}", f"the scale {scale_text(other)}", fix, "other-order", where)
