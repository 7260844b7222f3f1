"""Intervals: a bootstrap over items that works on their sums, so that it costs blocks x resamples, not answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.agreement.measure import Measure

MOST_BLOCKS = 10_000
"""Blocks that are resampled. More would not be seen: the error in an interval's width that comes of 10,000 blocks is
under 1%, that of 1,000 resamples some 3%."""
FEWEST_BLOCKS = 100
NUMBERS_AT_ONCE = 2**24


@dataclass(frozen=True)
class Interval:
    """Between `low` and `high`; `kind` says how it was found, or why there is none (then both are NaN)."""

    low: float
    high: float
    kind: str


def n_blocks_for(n_items: int, n_sums: int) -> int:
    """As many blocks as items up to `MOST_BLOCKS`; fewer where an item has so many sums that they would fill memory."""
    return min(n_items, MOST_BLOCKS, max(FEWEST_BLOCKS, NUMBERS_AT_ONCE // n_sums))


def blocks(n_items: int, n_blocks: int, rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """The block of every item: its own, or one drawn at random, all equally large but for one item."""
    return np.arange(n_items) if n_items == n_blocks else rng.permutation(n_items) % n_blocks


def interval(
    measure: Measure,
    sums: Float[np.ndarray, "blocks sums"],
    *,
    n_items: int,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> Interval:
    """The percentile bootstrap interval (Efron and Tibshirani 1993): blocks drawn with replacement, the figure taken
    anew from their sums, chance included.

    Resamples in which the figure is undefined are left out, and counted in `kind`. Where every resample gives the same
    figure there is no interval: a bootstrap cannot see what never happened.
    """
    if n_items < 2:
        return Interval(np.nan, np.nan, "none: only one item")
    values = _resampled(measure, sums, resamples, rng)
    defined = values[~np.isnan(values)]
    # Sums over the same items in another order differ in the last digits.
    if not len(defined) or np.ptp(defined) < 1e-12:
        return Interval(np.nan, np.nan, "none: every resample gives the same")
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    over = "items" if len(sums) == n_items else f"{len(sums):,} random groups of items"
    n_left_out = len(values) - len(defined)
    left_out = f", {n_left_out:,} of them undefined and left out" if n_left_out else ""
    kind = f"{100 * level:g}% percentile bootstrap over {over}, {resamples:,} resamples{left_out}"
    return Interval(float(low), float(high), kind)


def _resampled(
    measure: Measure, sums: Float[np.ndarray, "blocks sums"], resamples: int, rng: np.random.Generator
) -> Float[np.ndarray, "resamples"]:
    n_blocks, n_sums = sums.shape
    at_once = max(1, NUMBERS_AT_ONCE // 8 // max(n_blocks, n_sums))
    values = np.empty(resamples)
    for start in range(0, resamples, at_once):
        n = min(at_once, resamples - start)
        drawn = rng.integers(0, n_blocks, (n, n_blocks)) + n_blocks * np.arange(n)[:, None]
        times_drawn = np.bincount(drawn.ravel(), minlength=n * n_blocks).reshape(n, n_blocks)
        values[start : start + n] = measure.value(times_drawn.astype(np.float64) @ sums)
    return values
