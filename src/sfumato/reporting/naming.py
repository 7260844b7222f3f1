"""Names and counts as a report says them: names cut where they are long, and still no two the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

LONGEST_NAME = 28
DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Characters that turn what follows them around, and would turn around the sentence that a name stands in."""


def shortened(text: str, most: int = LONGEST_NAME) -> str:
    """The text without what would turn its surroundings around; of a long one the beginning, and that there is more."""
    plain = "".join(each for each in text if unicodedata.bidirectional(each) not in DIRECTIONS)
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"


def short_names(names: Sequence[str], most: int = LONGEST_NAME) -> list[str]:
    """Every name short enough for an axis; those that would be the same when cut are numbered."""
    short = [shortened(name, most) for name in names]
    return [name if short.count(name) == 1 else f"{shortened(name, most - 4)} {i + 1}" for i, name in enumerate(short)]


def counted(n: int, what: str) -> str:
    """`1 item`, `2,000 items`."""
    return f"{n:,} {what}{'s' * (n != 1)}"
