"""Bins of confidence, Gaussian smoothing along confidence, and intervals for the calibration errors.

The smoothing Gaussian is reflected at 0 and 1, so smoothing is one cosine transform.

The sum of absolute gaps between confidence and accuracy is above 0 even for a calibrated model, so an ordinary
bootstrap interval, which adds chance a second time, is too high. Instead a test is inverted: the interval contains the
errors `e` under which the observed sum is not too rare. The true gaps are assumed proportional to the observed ones,
smoothed along confidence and scaled to sum to `e`. At e = 0 the test is exact except for the normal approximation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.tables.bootstrap import Bootstrap, Interval


def equal_width(values: Float[np.ndarray, "items"], n_bins: int) -> Int[np.ndarray, "items"]:
    """The bin of each value among `n_bins` bins (lo, hi] of equal width over 0..1; 0 is in the first bin."""
    edges = np.linspace(0, 1, n_bins + 1)
    return np.clip(np.searchsorted(edges, values, side="left") - 1, 0, n_bins - 1)


@dataclass(frozen=True, eq=False)
class EqualCount:
    """Items in order of confidence, `size` per bin, the last bin with the rest.

    If items of equal confidence are in different bins, all values are expectations over the order of ties, so the
    order of items does not matter.
    """

    n_items: Int[np.ndarray, "bins"]
    confidence: Float[np.ndarray, "bins"]
    accuracy: Float[np.ndarray, "bins"]
    variance: Float[np.ndarray, "bins"]
    """The variance of each bin's accuracy over the order of ties: 0 if no ties are split between bins."""

    @classmethod
    def of(cls, matched: MatchedLabels, size: int) -> EqualCount:
        n = len(matched)
        starts = np.arange(max(n // size, 1)) * size
        n_items = np.diff(starts, append=n)
        confidence, right = matched.confidence[matched.by_confidence], matched.right[matched.by_confidence]
        begins = np.concatenate([[True], np.diff(confidence) > 0])
        variance = np.zeros(len(starts))
        if not begins.all():
            group = np.cumsum(begins) - 1
            n_equal = np.bincount(group)
            mean = np.bincount(group, right) / n_equal
            spread = np.maximum(np.bincount(group, right**2) / n_equal - mean**2, 0.0)
            right = mean[group]
            # A piece is the part of a group of ties in one bin: drawn from the group without replacement.
            begins[starts] = True
            pieces = np.flatnonzero(begins)
            k, m = np.diff(pieces, append=n), n_equal[group[pieces]]
            of_sum = k * (m - k) / np.maximum(m - 1, 1) * spread[group[pieces]]
            variance = np.add.reduceat(of_sum, np.searchsorted(pieces, starts)) / n_items**2
        sure, accuracy = (np.add.reduceat(each, starts) / n_items for each in (confidence, right))
        return cls(n_items, sure, accuracy, variance)

    @classmethod
    def as_sorted(cls, matched: MatchedLabels, size: int) -> EqualCount:
        """Ties in the order of the sort, and the first of tied classes as the prediction."""
        n = len(matched)
        order = np.argsort(matched.confidence)
        right = (matched.predicted.argmax(axis=1) == matched.people.argmax(axis=1)).astype(np.float64)
        starts = np.arange(max(n // size, 1)) * size
        n_items = np.diff(starts, append=n)
        sure, accuracy = (np.add.reduceat(each[order], starts) / n_items for each in (matched.confidence, right))
        return cls(n_items, sure, accuracy, np.zeros(len(starts)))

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
    """The sum of `weights` at each of `n_points` points from 0 to 1, each weight split between the two nearest."""
    place = np.clip(at, 0, 1) * (n_points - 1)
    below = np.minimum(place.astype(np.int64), n_points - 2)
    part = (place - below) * weights
    sums = np.bincount(below, weights - part, minlength=n_points)
    sums[1:] += np.bincount(below, part, minlength=n_points - 1)
    return np.asarray(sums)


def cosines(sums: Float[np.ndarray, "*rows points"]) -> Float[np.ndarray, "*rows points"]:
    """The cosine coefficients of the density of `sums` along 0..1."""
    density = sums * (sums.shape[-1] - 1)
    density[..., [0, -1]] *= 2
    return np.fft.rfft(np.concatenate([density, density[..., -2:0:-1]], axis=-1)).real


def from_cosines(heights: Float[np.ndarray, "*rows points"], width: float) -> Float[np.ndarray, "*rows points"]:
    """The density with these cosine coefficients, smoothed with standard deviation `width`."""
    n_steps = heights.shape[-1] - 1
    keeps = np.exp(-((np.pi * width * np.arange(n_steps + 1)) ** 2) / 2)
    return np.asarray(np.fft.irfft(heights * keeps, 2 * n_steps)[..., : n_steps + 1])


def smoothed(sums: Float[np.ndarray, "*rows points"], width: float) -> Float[np.ndarray, "*rows points"]:
    """The density of `sums` along 0..1, smoothed with standard deviation `width`; its integral is their sum."""
    return from_cosines(cosines(sums), width)


def trapezoid(n_points: int) -> Float[np.ndarray, "points"]:
    """Weights of the trapezoidal rule on a grid from 0 to 1."""
    weights = np.full(n_points, 1 / (n_points - 1))
    weights[[0, -1]] /= 2
    return weights


HALVINGS = 9
WIDTH = 0.5
"""Width of the smoothing for one item; divided by the fifth root of the number of items."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """Mean gaps per cell, their `weights` in the sum, and the noise of each draw."""

    found: Float[np.ndarray, "cells"]
    likely: Float[np.ndarray, "cells"]
    """The assumed true gaps, up to a factor."""
    noise: Float[np.ndarray, "draws cells"]
    weights: Float[np.ndarray, "cells"]

    def share_as_large(self, error: float) -> float:
        """The share of draws with a sum at least as large as the observed one if `error` is the true error."""
        size = float(self.weights @ np.abs(self.likely))
        true = error * self.likely / size if size > 0 else np.zeros(len(self.likely))
        return float((np.abs(true + self.noise) @ self.weights >= self.weights @ np.abs(self.found)).mean())


def likely_gaps(matched: MatchedLabels, n_points: int) -> Float[np.ndarray, "points"]:
    """The sums of gaps on a grid if every item had the mean gap of items with similar confidence."""
    sums = on_grid(matched.confidence, matched.gaps, n_points)
    counts = on_grid(matched.confidence, np.ones(len(matched)), n_points)
    width = WIDTH * len(matched) ** -0.2
    return np.asarray(counts * smoothed(sums, width) / np.maximum(smoothed(counts, width), np.finfo(float).tiny))


def noise_of(
    sums: Float[np.ndarray, "cells"], squares: Float[np.ndarray, "cells"], n_items: int, bootstrap: Bootstrap
) -> Float[np.ndarray, "draws cells"]:
    """Normal noise of each cell's sum of gaps, divided by `n_items`; its covariance is diag(squares) - sums sums'/n.

    This is the covariance if items are in random cells. Its root is `D (I - b u u') ` with D the root of `squares` and
    u = sums / (D sqrt n).
    """
    root = np.sqrt(squares)
    u = np.divide(sums, root * np.sqrt(n_items), out=np.zeros(len(sums)), where=root > 0)
    length = min(float(u @ u), 1.0)
    b = (1 - np.sqrt(1 - length)) / length if length > 0 else 0.0
    drawn = bootstrap.normals(len(sums))
    return np.asarray((drawn - b * (drawn @ u)[:, None] * u) * root / n_items)


def inverted_test(gaps_at: Callable[[float], Gaps], value: float, bootstrap: Bootstrap) -> Interval:
    """The errors that the test does not reject; `gaps_at` gives the gaps for testing an error."""
    if bootstrap.n_items < 2:
        return Interval(np.nan, np.nan, "none: only one item")
    tail = bootstrap.tails[0]
    gaps = gaps_at(value)
    most = min(1.0, value + 4 * float(gaps.weights @ gaps.noise.std(axis=0)))
    low = _crossing(lambda error: gaps_at(error).share_as_large(error) > tail, 0.0, value)
    high = _crossing(lambda error: gaps_at(error).share_as_large(error) >= 1 - tail, 0.0, most)
    kind = f"{100 * bootstrap.level:g}% inverted test over items, {bootstrap.draws:,} normal draws"
    return Interval(low, high, kind + ": about the error itself, free of what chance adds to the value")


def _crossing(is_above: Callable[[float], bool], low: float, high: float) -> float:
    """The point between `low` and `high` where `is_above` changes from false to true."""
    if is_above(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2
