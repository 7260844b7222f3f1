"""Strict JSON: objects in which a key stands once. `json` keeps the last of two in silence."""

from __future__ import annotations

from typing import Any

from sfumato.tables.errors import show


class DoubledKey(ValueError):
    """A key that stands twice in one JSON object."""

    def __init__(self, key: str) -> None:
        super().__init__(f"doubled key {show(key)}")
        self.key = key


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` that refuses doubled keys."""
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        raise DoubledKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return result
