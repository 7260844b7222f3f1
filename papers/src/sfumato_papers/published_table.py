"""Published tables: the figures that a paper prints, by row and column, read from the text file of its folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from sfumato_papers.finding import Published

NONE = "-"
"""Stands in a table where the paper gives no figure."""
NAME = re.compile(r"^\[(.+?)(?:, unit (.+))?\]$", re.MULTILINE)

Cells: TypeAlias = Mapping[tuple[str, str], Published]
"""Published figures by row and column."""


@dataclass(frozen=True)
class PublishedTable:
    """Figures by row and column, and what each is printed with after ±, where it is."""

    cells: Cells
    spreads: Cells

    @classmethod
    def of(cls, text: str, unit: str = "") -> PublishedTable:
        """From a table written as text: a head, then a row per line; two or more spaces part the columns.

        The first column names the rows and has no head. A cell is `2.25`, `2.25±0.04`, or `-` where there is no figure.
        """
        head, *lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]
        figures: dict[tuple[str, str], Published] = {}
        spreads: dict[tuple[str, str], Published] = {}
        for name, *cells in lines:
            assert len(cells) == len(head), f"row {name!r} has {len(cells)} cells under {len(head)} heads"
            assert not any((name, column) in figures for column in head), f"row {name!r} stands twice"
            for column, cell in zip(head, cells, strict=True):
                figure, _, spread = cell.partition("±")
                if cell != NONE:
                    figures[name, column] = Published(figure, unit)
                if spread:
                    spreads[name, column] = Published(spread, unit)
        return cls(figures, spreads)


@cache
def published_tables(paper: str) -> Mapping[str, PublishedTable]:
    """The tables of `published_tables.txt` in the folder of a paper, by name.

    A table begins with its name in brackets, `[Table 1]`, or `[Table 1, unit %]`. Lines with `#` are about the tables.
    """
    text = (Path(__file__).parent / paper / "published_tables.txt").read_text("utf-8")
    _, *parts = NAME.split(re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    return {
        name: PublishedTable.of(table, unit or "")
        for name, unit, table in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }
