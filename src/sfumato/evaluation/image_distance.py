"""Near-duplicate images: all pairs that are nearly the same up to brightness, contrast, noise and small shifts.

The distance of two images is 1 minus the correlation of their pixels (all colors together), minimized over shifts of
at most `shift` pixels: 0 for images that differ only in brightness and contrast. A margin of `shift` pixels is cut off,
so that both windows always have content.

No pair is missed: standardized pixels are projected onto principal axes, which can only reduce distances; pairs that
are far apart there are discarded in blocks, and the rest is compared pixel by pixel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int, UInt8

from sfumato.tables.errors import BadTable

AXES = 32
"""The number of principal axes for the search."""
COARSEST = 32
"""Images are reduced to at most this many pixels per side before the axes are computed."""
SAMPLED = 4_000
"""The number of images used to compute the axes; any axes find all pairs, good ones are faster."""
ROWS_AT_ONCE, COLUMNS_AT_ONCE, COMPARED_AT_ONCE = 512, 4_096, 2_048
MOST_PAIRS = 1_000_000
FLAT = 1.0
"""Images with a smaller standard deviation of gray levels have no content to compare."""
SLACK = 1e-5
"""The rounding error of distances in 32 bits."""

Pictures = UInt8[np.ndarray, "pictures height width colors"]


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Pairs of rows of near images, `first` before `second`; and the number of images too flat to compare."""

    first: Int[np.ndarray, "pairs"]
    second: Int[np.ndarray, "pairs"]
    distance: Float[np.ndarray, "pairs"]
    n_flat: int


def near_pairs(images: Pictures, *, distance: float, shift: int) -> NearPairs:
    """All pairs at most `distance` apart, shifted by at most `shift` pixels."""
    shift = min(shift, (min(images.shape[1:3]) - 1) // 4)
    center = _window(images, shift, 0, 0)
    textured = np.flatnonzero(_spread(center) >= FLAT)
    if not len(textured):
        return NearPairs(textured, textured, np.empty(0), len(images))
    axes = _axes(center[textured[:: max(1, len(textured) // SAMPLED)]])
    here = _placed(center[textured], axes)
    nearest: dict[int, float] = {}
    for dy, dx in _moves(shift):
        moved = _window(images, shift, dy, dx)
        usable = textured if not (dy or dx) else textured[_spread(moved[textured]) >= FLAT]
        there = here if not (dy or dx) else _placed(moved[usable], axes)
        for i, j in _joined(here, there, distance):
            one, other = textured[i], usable[j]
            # Without a shift each pair would occur twice.
            kept = one < other if not (dy or dx) else one != other
            one, other = one[kept], other[kept]
            apart = _apart(center, moved, one, other)
            near = apart <= distance
            keys = np.minimum(one, other)[near] * len(images) + np.maximum(one, other)[near]
            for key, value in zip(keys.tolist(), apart[near].tolist(), strict=True):
                nearest[key] = min(value, nearest.get(key, np.inf))
            if len(nearest) > MOST_PAIRS:
                raise _too_many(distance)
    found = np.array(sorted(nearest), np.int64)
    values = np.array([nearest[key] for key in found.tolist()], np.float64)
    return NearPairs(found // len(images), found % len(images), values, len(images) - len(textured))


def _moves(shift: int) -> list[tuple[int, int]]:
    """All shifts of one image against another, without opposites, which exchange the two images."""
    span = range(-shift, shift + 1)
    return [(dy, dx) for dy in range(shift + 1) for dx in span if dy > 0 or dx >= 0]


def _window(
    images: Pictures, margin: int, dy: int, dx: int
) -> UInt8[np.ndarray, "pictures inner_height inner_width colors"]:
    height, width = images.shape[1:3]
    return images[:, margin + dy : height - margin + dy, margin + dx : width - margin + dx]


def _spread(images: Pictures) -> Float[np.ndarray, "pictures"]:
    parts = [
        images[start : start + COMPARED_AT_ONCE].std(axis=(1, 2, 3))
        for start in range(0, len(images), COMPARED_AT_ONCE)
    ]
    return np.concatenate([np.empty(0), *parts])


def _standard(images: Pictures) -> Float32[np.ndarray, "pictures pixels"]:
    """The pixels minus their mean, as vectors of length 1."""
    flat = images.reshape(len(images), -1).astype(np.float32)
    flat -= flat.mean(axis=1, keepdims=True)
    flat /= np.sqrt(np.einsum("ij,ij->i", flat, flat))[:, None]
    return flat


def _coarse(images: Pictures) -> Float32[np.ndarray, "pictures cells"]:
    """Standardized images with colors summed and pixels joined into cells: an orthogonal projection."""
    height, width, colors = images.shape[1:]
    summed = _standard(images).reshape(-1, colors) @ np.full(colors, colors**-0.5, np.float32)
    gray = summed.reshape(len(images), height, width)
    for axis, size in ((1, height), (2, width)):
        if size <= COARSEST:
            continue
        begins = np.unique(np.arange(min(size, COARSEST)) * size // min(size, COARSEST))
        lengths = np.diff([*begins.tolist(), size]).astype(np.float32)
        gray = np.add.reduceat(gray, begins, axis=axis) / np.sqrt(lengths[:, None] if axis == 1 else lengths)
    return np.asarray(gray.reshape(len(images), -1), np.float32)


def _axes(images: Pictures) -> Float32[np.ndarray, "cells axes"]:
    coarse = _coarse(images)
    _, vectors = np.linalg.eigh(coarse.T @ coarse)
    return np.ascontiguousarray(vectors[:, ::-1][:, :AXES])


def _placed(images: Pictures, axes: Float32[np.ndarray, "cells axes"]) -> Float32[np.ndarray, "pictures axes"]:
    parts = [
        _coarse(images[start : start + COMPARED_AT_ONCE]) @ axes for start in range(0, len(images), COMPARED_AT_ONCE)
    ]
    return np.concatenate([np.empty((0, axes.shape[1]), np.float32), *parts])


def _joined(
    here: Float32[np.ndarray, "one axes"], there: Float32[np.ndarray, "other axes"], distance: float
) -> Iterator[tuple[Int[np.ndarray, "some"], Int[np.ndarray, "some"]]]:
    """Rows of `here` and `there` that are near enough, in blocks.

    For vectors of length 1, a correlation of 1 - d is a squared distance of 2 d. Both sides are sorted along the first
    axis, so that a block is compared only with rows that can be near.
    """
    radius = np.sqrt(2 * distance) + SLACK
    order, other_order = np.argsort(here[:, 0], kind="stable"), np.argsort(there[:, 0], kind="stable")
    left, right = _lifted(here[order], own=True), _lifted(there[other_order], own=False)
    first, other_first = here[order, 0], there[other_order, 0]
    for start in range(0, len(left), ROWS_AT_ONCE):
        block = left[start : start + ROWS_AT_ONCE]
        low = int(np.searchsorted(other_first, first[start] - radius))
        high = int(np.searchsorted(other_first, first[start + len(block) - 1] + radius, side="right"))
        for column in range(low, high, COLUMNS_AT_ONCE):
            part = right[column : min(column + COLUMNS_AT_ONCE, high)]
            near = np.flatnonzero((block @ part.T).ravel() >= -(radius**2) / 2 - SLACK)
            if len(near):
                yield order[start + near // len(part)], other_order[column + near % len(part)]


def _lifted(places: Float32[np.ndarray, "pictures axes"], *, own: bool) -> Float32[np.ndarray, "pictures lifted"]:
    """Coordinates with two more, so that an inner product of both sides is minus half the squared distance."""
    half = -np.einsum("ij,ij->i", places, places)[:, None] / 2
    ones = np.ones_like(half)
    return np.concatenate([places, half, ones] if own else [places, ones, half], axis=1)


def _apart(
    center: Pictures, moved: Pictures, one: Int[np.ndarray, "pairs"], other: Int[np.ndarray, "pairs"]
) -> Float[np.ndarray, "pairs"]:
    """1 minus the correlation of all pixels."""
    parts = [
        1.0 - np.einsum("ij,ij->i", _standard(center[one[part]]), _standard(moved[other[part]]), dtype=np.float64)
        for part in (slice(start, start + COMPARED_AT_ONCE) for start in range(0, len(one), COMPARED_AT_ONCE))
    ]
    # Rounding may give equal images a distance slightly below 0.
    return np.asarray(np.maximum(np.concatenate([np.empty(0), *parts]), 0.0))


def _too_many(distance: float) -> BadTable:
    return BadTable(
        f"more than {MOST_PAIRS:,} pairs within a distance of {distance:g}",
        "few images that are nearly the same",
        "choose a smaller distance",
        "too-many-pairs",
    )
