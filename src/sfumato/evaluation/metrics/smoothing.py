"""Values along 0..1 smoothed by a Gaussian that is reflected at both ends, on a grid.

Reflected, the Gaussian is the heat kernel of an interval with closed ends: every cosine keeps its shape and loses
height. So smoothing is one cosine transform, whatever the width.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


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
