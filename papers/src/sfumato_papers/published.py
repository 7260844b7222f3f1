"""Published figures: numbers as a paper prints them, whose digits say how precise they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

NONE = "-"
"""Stands in a table where the paper gives no figure."""

Cells: TypeAlias = "Mapping[tuple[str, str], Published]"
"""Published figures by row and column."""


@dataclass(frozen=True)
class Published:
    """A figure as it is printed: `0.596`, `84`, `511,400`. Its last digit is what can be compared with."""

    text: str
    unit: str = ""

    def __post_init__(self) -> None:
        assert _NUMBER.fullmatch(self.text), f"{self.text!r} is no number as a paper prints one"

    @property
    def value(self) -> float:
        return float(self.text.replace(",", ""))

    @property
    def half_unit(self) -> float:
        """Half a unit of the last digit: numbers no further off round to what is printed."""
        digits, _, exponent = self.text.replace(",", "").lower().partition("e")
        places = len(digits.partition(".")[2])
        return 0.5 * 10.0 ** (int(exponent or 0) - places)

    def less(self, other: Published) -> Published:
        """The difference of two printed figures, as precise as the less precise of them."""
        places = min(_places(self.text), _places(other.text))
        return Published(f"{self.value - other.value:.{places}f}", self.unit)

    def __str__(self) -> str:
        return f"{self.text}{self.unit}"


def published_cells(text: str, *, unit: str = "") -> dict[tuple[str, str], Published]:
    """The figures of a table written as text: a head, then a row per line; two or more spaces part the columns.

    The first column names the rows and has no head. `-` stands where there is no figure.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    head = _parted(lines[0])
    found: dict[tuple[str, str], Published] = {}
    for line in lines[1:]:
        name, *cells = _parted(line)
        assert len(cells) == len(head), f"row {name!r} has {len(cells)} cells under {len(head)} heads"
        assert (name, head[0]) not in found, f"row {name!r} stands twice"
        found |= {
            (name, column): Published(cell, unit) for column, cell in zip(head, cells, strict=True) if cell != NONE
        }
    return found


_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)


def _parted(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def _places(text: str) -> int:
    return len(text.partition(".")[2])
