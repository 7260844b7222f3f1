"""Tables as the paper prints them: mean±spread over six seeds, by set, labels scored on, target and column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind_from_stats

from sfumato_papers.published import Published, published_cells

N_SEEDS = 6
SPREAD = re.compile(r"±[\d.]+")
MNIST, MUKHOTI = "MNIST", "Mukhoti"
ON_ORIGINAL, ON_PEOPLE = "original labels", "re-annotated labels"


@dataclass(frozen=True)
class Printed:
    """A cell: what it is about, its mean, and the standard deviation beside it."""

    set: str
    scored_on: str
    target: str
    column: str
    mean: Published
    spread: Published

    @property
    def row(self) -> str:
        return f"{self.set} on {self.scored_on}: {self.target}"


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper, cell by cell, in its order."""

    cells: tuple[Printed, ...]

    @classmethod
    def of(cls, blocks: Mapping[tuple[str, str], str], unit: str = "") -> PrintedTable:
        """From its blocks, each a set and the labels it is scored on; `-` stands where nothing is printed."""
        return cls(tuple(cell for (name, on), text in blocks.items() for cell in _cells(name, on, text, unit)))

    def at(self, name: str, on: str, target: str, column: str) -> Printed:
        return next(
            cell
            for cell in self.cells
            if (cell.set, cell.scored_on, cell.target, cell.column) == (name, on, target, column)
        )

    def mean(self, name: str, on: str, target: str, column: str) -> float:
        return self.at(name, on, target, column).mean.value


def p_of(one: Printed, other: Printed) -> float:
    """Welch's two-sided p of two printed means, six seeds each; seeds are not paired there."""
    found = ttest_ind_from_stats(
        one.mean.value, one.spread.value, N_SEEDS, other.mean.value, other.spread.value, N_SEEDS, equal_var=False
    )
    return float(np.asarray(found.pvalue))


def _cells(name: str, on: str, text: str, unit: str) -> Iterator[Printed]:
    means = published_cells(SPREAD.sub("", text), unit=unit)
    spreads = published_cells(re.sub(r"[\d.]+±", "", text), unit=unit)
    for (target, column), mean in means.items():
        yield Printed(name, on, target, column, mean, spreads[target, column])
