"""Names as a report shows them: cut where they are long, and still no two the same."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_NAME = 28


def shortened(text: str, most: int = LONGEST_NAME) -> str:
    """The text, or its beginning with what shows that there is more."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def short_names(names: Sequence[str], most: int = LONGEST_NAME) -> list[str]:
    """Every name short enough for an axis; those that would be the same when cut are numbered."""
    short = [shortened(name, most) for name in names]
    return [name if short.count(name) == 1 else f"{shortened(name, most - 4)} {i + 1}" for i, name in enumerate(short)]
