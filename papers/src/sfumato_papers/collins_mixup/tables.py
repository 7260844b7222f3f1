"""Tables of trainings: the thesis' figures with their spread, next to ours with what they differ by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato_papers.collins_mixup.run_scores import HOW, BySeed
from sfumato_papers.finding import Estimate, Finding, Published, Reference, published_cells

SPREAD = re.compile(r"±([\d.]+)")


@dataclass(frozen=True)
class PublishedTable:
    """Figures by row and column, and the spread each is printed with (95% over seeds)."""

    cells: Mapping[tuple[str, str], Published]
    spreads: Mapping[tuple[str, str], Published]

    @classmethod
    def of(cls, text: str) -> PublishedTable:
        """From a table written as text, cells as `2.25±0.04`."""
        return cls(published_cells(SPREAD.sub("", text)), published_cells(re.sub(r"[\d.]+±", "", text)))

    def best(self, column: str) -> str:
        """The row with the lowest figure: lower is better in every column of these tables."""
        rows = [row for row, name in self.cells if name == column]
        return min(rows, key=lambda row: self.cells[row, column].value)


@dataclass(frozen=True)
class Row:
    """A row of a table of trainings: by column what came out of every seed, and the row it is measured from."""

    name: str
    values: Mapping[str, BySeed]
    reference: str = ""


def findings(table: PublishedTable, rows: Sequence[Row], columns: Sequence[str]) -> list[Finding]:
    """Every cell; rows that the thesis does not have stand without a published figure."""
    named = {row.name: row for row in rows}
    found = []
    for row in rows:
        for column in columns:
            published = table.cells.get((row.name, column))
            spread = table.spreads.get((row.name, column))
            reference = None
            if row.reference:
                other = named[row.reference]
                reference = Reference(other.name, table.cells.get((other.name, column)), other.values[column])
            how = HOW[column] + (f"; published ±{spread}" if spread else "")
            found.append(
                Finding.over_seeds(row.name, column, published, row.values[column], reference=reference, how=how)
            )
    return found


def change(row: Row, other: Row, column: str) -> Estimate:
    """How much a row is above another, seed by seed."""
    one, two = row.values[column], other.values[column]
    return Estimate.over_seeds([one[seed] - two[seed] for seed in sorted(one.keys() & two.keys())])


def said(estimate: Estimate) -> str:
    """`+0.123 (+0.100 to +0.146)`."""
    return f"{estimate.value:+.3f} ({estimate.low:+.3f} to {estimate.high:+.3f})"


def is_lower(estimate: Estimate) -> bool:
    """Whether a difference is shown to be below 0."""
    return estimate.leaves_out_0 and estimate.value < 0


def mean_of(row: Row, column: str) -> float:
    return Estimate.over_seeds(list(row.values[column].values())).value
