"""Bins of confidence: equally wide ones, and ones of equally many items.

Values along 0..1 smoothed by a Gaussian that is reflected at both ends, on a grid.

Reflected, the Gaussian is the heat kernel of an interval with closed ends: every cosine keeps its shape and loses
height. So smoothing is one cosine transform, whatever the width.

Intervals for calibration errors that add up absolute gaps, which chance can only make larger.

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
from jaxtyping import Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.tables.bootstrap import Bootstrap, Interval


def equal_width(values: Float[np.ndarray, "items"], n_bins: int) -> Int[np.ndarray, "items"]:
    """The bin of each value among `n_bins` of equal width over 0..1: (lo, hi], 0 in the first and 1 in the last."""
    edges = np.linspace(0, 1, n_bins + 1)
    return np.clip(np.searchsorted(edges, values, side="left") - 1, 0, n_bins - 1)


@dataclass(frozen=True, eq=False)
class EqualCount:
    """Items in order of confidence, `size` to a bin, the last bin with what remains.

    Where items of equal confidence fall into different bins, all figures are expectations over the order of equals,
    so that the order of items does not matter.
    """

    n_items: Int[np.ndarray, "bins"]
    confidence: Float[np.ndarray, "bins"]
    accuracy: Float[np.ndarray, "bins"]
    variance: Float[np.ndarray, "bins"]
    """Of each bin's accuracy, over the order of equals: 0 where no equals are torn apart."""

    @classmethod
    def of(cls, compared: MatchedLabels, size: int) -> EqualCount:
        n = len(compared)
        starts = np.arange(max(n // size, 1)) * size
        n_items = np.diff(starts, append=n)
        confidence, right = compared.confidence[compared.by_confidence], compared.right[compared.by_confidence]
        begins = np.concatenate([[True], np.diff(confidence) > 0])
        variance = np.zeros(len(starts))
        if not begins.all():
            group = np.cumsum(begins) - 1
            n_equal = np.bincount(group)
            mean = np.bincount(group, right) / n_equal
            spread = np.maximum(np.bincount(group, right**2) / n_equal - mean**2, 0.0)
            right = mean[group]
            # A piece is what one bin holds of one group of equals: drawn from the group without replacement.
            begins[starts] = True
            pieces = np.flatnonzero(begins)
            k, m = np.diff(pieces, append=n), n_equal[group[pieces]]
            of_sum = k * (m - k) / np.maximum(m - 1, 1) * spread[group[pieces]]
            variance = np.add.reduceat(of_sum, np.searchsorted(pieces, starts)) / n_items**2
        return cls(
            n_items,
            np.add.reduceat(confidence, starts) / n_items,
            np.add.reduceat(right, starts) / n_items,
            variance,
        )

    @classmethod
    def as_sorted(cls, compared: MatchedLabels, size: int) -> EqualCount:
        """Equals in the order a sort leaves them in, and the first of tied classes chosen."""
        n = len(compared)
        order = np.argsort(compared.confidence)
        right = compared.predicted.argmax(axis=1) == compared.people.argmax(axis=1)
        starts = np.arange(max(n // size, 1)) * size
        n_items = np.diff(starts, append=n)
        return cls(
            n_items,
            np.add.reduceat(compared.confidence[order], starts) / n_items,
            np.add.reduceat(right[order].astype(np.float64), starts) / n_items,
            np.zeros(len(starts)),
        )

    @property
    def squared_gaps(self) -> Float[np.ndarray, "bins"]:
        return np.asarray((self.confidence - self.accuracy) ** 2 + self.variance)

    @property
    def spread(self) -> Float[np.ndarray, "bins"]:
        """acc (1 - acc)."""
        return np.asarray(self.accuracy * (1 - self.accuracy) - self.variance)


def on_grid(
    at: Float[np.ndarray, "items"], weights: Float[np.ndarray, "items"], n_points: int
) -> Float[np.ndarray, "points"]:
    """The sum of `weights` at each of `n_points` points from 0 to 1, each split between the two nearest."""
    place = np.clip(at, 0, 1) * (n_points - 1)
    below = np.minimum(place.astype(np.int64), n_points - 2)
    part = (place - below) * weights
    sums = np.bincount(below, weights - part, minlength=n_points)
    sums[1:] += np.bincount(below, part, minlength=n_points - 1)
    return np.asarray(sums)


def cosines(sums: Float[np.ndarray, "*rows points"]) -> Float[np.ndarray, "*rows points"]:
    """The density of `sums` along 0..1 as heights of cosines, to be smoothed by several widths."""
    density = sums * (sums.shape[-1] - 1)
    density[..., [0, -1]] *= 2
    return np.fft.rfft(np.concatenate([density, density[..., -2:0:-1]], axis=-1)).real


def from_cosines(heights: Float[np.ndarray, "*rows points"], width: float) -> Float[np.ndarray, "*rows points"]:
    """The density with these cosines, smoothed with standard deviation `width`."""
    n_steps = heights.shape[-1] - 1
    keeps = np.exp(-((np.pi * width * np.arange(n_steps + 1)) ** 2) / 2)
    return np.asarray(np.fft.irfft(heights * keeps, 2 * n_steps)[..., : n_steps + 1])


def smoothed(sums: Float[np.ndarray, "*rows points"], width: float) -> Float[np.ndarray, "*rows points"]:
    """The density of `sums` along 0..1, smoothed with standard deviation `width`; its integral is their sum."""
    return from_cosines(cosines(sums), width)


def trapezoid(n_points: int) -> Float[np.ndarray, "points"]:
    """Weights that turn a density on a grid into its integral."""
    weights = np.full(n_points, 1 / (n_points - 1))
    weights[[0, -1]] /= 2
    return weights


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
