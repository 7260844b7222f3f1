"""Conditions: what was done to the pictures that runs predict, in the order in which they are read."""

from __future__ import annotations

import re

from sfumato.tables.scores import ALL

CLEAN = "clean"
"""Pictures as they are."""
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def order_of(condition: str) -> tuple[int, list[tuple[str, float]]]:
    """What conditions are sorted by: none first, then clean, then the others by name; numbers in it (severities,
    steps) count as numbers."""
    parts = NUMBER.split(condition)
    first = {"": 0, CLEAN: 1}.get(condition, 2)
    return first, [(text, float(number)) for text, number in zip(parts[::2], [*parts[1::2], "-1"], strict=True)]


def joined(condition: str, stratum: str) -> str:
    """A condition and a stratum as one: `gaussian-noise/3: people disagree`; all items are not named beside one."""
    if not condition:
        return stratum
    return condition if stratum == ALL else f"{condition}: {stratum}"
