"""Intervals for calibration errors that add up absolute gaps, which chance can only make larger.

The sum of absolute gaps between confidence and accuracy is above 0 even for a calibrated model, so an ordinary
bootstrap interval, which adds chance once more, lies too high. Instead a test is inverted: an error `e` is in the
interval unless, were it the true one, a sum as large (or as small) as the one found would be rarer than the level
allows.

How a true error would be spread is taken from the gaps found, smoothed along confidence and scaled to add up to `e`.
At perfect calibration (e = 0) no spread is needed and the test is exact but for normal noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metrics.smoothing import on_grid, smoothed
from sfumato.tables.bootstrap import Bootstrap, Interval

HALVINGS = 9
WIDTH = 0.5
"""Of the smoothing, for one item; it gets narrower with the fifth root of their number, as kernels do."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """Mean gaps per cell, summed up with `weights`, and what chance may add to them, one draw a row."""

    found: Float[np.ndarray, "cells"]
    likely: Float[np.ndarray, "cells"]
    """How the true gaps are spread over the cells, but for their size."""
    noise: Float[np.ndarray, "draws cells"]
    weights: Float[np.ndarray, "cells"]

    def share_as_large(self, error: float) -> float:
        """The share of draws that would give a sum at least as large as the one found, were `error` the true one."""
        size = float(self.weights @ np.abs(self.likely))
        true = error * self.likely / size if size > 0 else np.zeros(len(self.likely))
        return float((np.abs(true + self.noise) @ self.weights >= self.weights @ np.abs(self.found)).mean())


def likely_gaps(compared: MatchedLabels, n_points: int) -> Float[np.ndarray, "points"]:
    """The sums of gaps along confidence, on a grid, had every item the mean gap of those of about its confidence."""
    sums = on_grid(compared.confidence, compared.gaps, n_points)
    counts = on_grid(compared.confidence, np.ones(len(compared)), n_points)
    width = WIDTH * len(compared) ** -0.2
    return np.asarray(counts * smoothed(sums, width) / np.maximum(smoothed(counts, width), np.finfo(float).tiny))


def noise_of(
    sums: Float[np.ndarray, "cells"], squares: Float[np.ndarray, "cells"], n_items: int, resampling: Bootstrap
) -> Float[np.ndarray, "draws cells"]:
    """What chance may add to each cell's sum of gaps, over `n_items`: normal, of covariance diag(squares) - sums
    sums'/n.

    That is the covariance when items fall into cells at random. Its root is `D (I - b u u') ` with D the root of
    `squares` and u = sums / (D sqrt n).
    """
    root = np.sqrt(squares)
    u = np.divide(sums, root * np.sqrt(n_items), out=np.zeros(len(sums)), where=root > 0)
    length = min(float(u @ u), 1.0)
    b = (1 - np.sqrt(1 - length)) / length if length > 0 else 0.0
    drawn = resampling.normals(len(sums))
    return np.asarray((drawn - b * (drawn @ u)[:, None] * u) * root / n_items)


def inverted(gaps_at: Callable[[float], Gaps], value: float, resampling: Bootstrap) -> Interval:
    """The errors that a test does not rule out; `gaps_at` gives the gaps to test an error with."""
    if resampling.n_items < 2:
        return Interval(np.nan, np.nan, "none: only one item")
    tail = resampling.tails[0]
    gaps = gaps_at(value)
    most = min(1.0, value + 4 * float(gaps.weights @ gaps.noise.std(axis=0)))
    low = _crossing(lambda error: gaps_at(error).share_as_large(error) > tail, 0.0, value)
    high = _crossing(lambda error: gaps_at(error).share_as_large(error) >= 1 - tail, 0.0, most)
    kind = f"{100 * resampling.level:g}% inverted test over items, {resampling.draws:,} normal draws"
    return Interval(low, high, kind + ": about the error itself, free of what chance adds to the value")


def _crossing(is_above: Callable[[float], bool], low: float, high: float) -> float:
    """Where `is_above` turns from false to true between `low` and `high`."""
    if is_above(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2
