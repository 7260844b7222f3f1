"""Told: what the tables know of one question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped


@dataclass(frozen=True)
class FactTable:
    """A small table: heads, and rows of texts."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class KnownFacts:
    """Sentences, perhaps a table and a quotation; which files they come from, and the command that shows them again
    (empty where the datasheet's own does). Nothing told is `Told()`."""

    points: tuple[str, ...] = ()
    grid: FactTable | None = None
    quote: str = ""
    files: tuple[str, ...] = ()
    command: str = ""
    settled: bool = True
    """Whether that answers the question as far as tables can; a person is asked for the rest otherwise."""

    def __bool__(self) -> bool:
        return bool(self.points or self.grid or self.quote)


def interval(low: float, high: float, places: int) -> str:
    """`0.716 to 0.754`; a dash where there is none."""
    return "–" if np.isnan(low) or np.isnan(high) else f"{low:.{places}f} to {high:.{places}f}"


def spread(values: Shaped[np.ndarray, "values"]) -> str:
    """Whole numbers in a few words: `3 to 9 (median 5)`, or the one number they all are."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,} (median {np.median(values):g})"
