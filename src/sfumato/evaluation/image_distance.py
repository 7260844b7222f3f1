"""Near images: all pairs of pictures that are nearly the same, though brighter, noisier or moved by a pixel.

The distance of two pictures is 1 - the correlation of their pixels (all colours together) where they are moved against
each other so that it is least, by at most `shift` pixels a side: 0 for pictures that differ in brightness and contrast
alone. A margin of `shift` pixels is left out, so that what moved over the edge does not count: of one picture the
middle is taken, of the other as much from further down or to a side.

No pair is missed: standardised pixels are projected onto their leading principal axes, which can only bring pictures
nearer, pairs that stay apart there are let go a block at a time, and the rest is compared pixel by pixel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int, UInt8

from sfumato.tables.errors import BadTable

AXES = 32
"""Principal axes that pairs are looked for along."""
COARSEST = 32
"""Pictures are averaged down to at most so many pixels a side before axes are found."""
SAMPLED = 4_000
"""Pictures that the axes are found from; any axes find all pairs, good ones find them sooner."""
ROWS_AT_ONCE, COLUMNS_AT_ONCE, COMPARED_AT_ONCE = 512, 4_096, 2_048
MOST_PAIRS = 1_000_000
FLAT = 1.0
"""Pictures whose grey levels spread less than this have nothing to compare."""
SLACK = 1e-5
"""What rounding to 32 bits may do to a distance."""

Pictures = UInt8[np.ndarray, "pictures height width colours"]


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Rows of pictures that are near each other, `first` before `second`, each pair once; and how many pictures were
    too flat to be compared."""

    first: Int[np.ndarray, "pairs"]
    second: Int[np.ndarray, "pairs"]
    distance: Float[np.ndarray, "pairs"]
    n_flat: int


def near_pairs(images: Pictures, *, distance: float, shift: int) -> NearPairs:
    """All pairs at most `distance` apart, moved by at most `shift` pixels against each other."""
    shift = min(shift, (min(images.shape[1:3]) - 1) // 4)
    centre = _window(images, shift, 0, 0)
    textured = np.flatnonzero(_spread(centre) >= FLAT)
    if not len(textured):
        return NearPairs(textured, textured, np.empty(0), len(images))
    axes = _axes(centre[textured[:: max(1, len(textured) // SAMPLED)]])
    here = _placed(centre[textured], axes)
    nearest: dict[int, float] = {}
    for dy, dx in _moves(shift):
        moved = _window(images, shift, dy, dx)
        usable = textured if not (dy or dx) else textured[_spread(moved[textured]) >= FLAT]
        there = here if not (dy or dx) else _placed(moved[usable], axes)
        for i, j in _joined(here, there, distance):
            one, other = textured[i], usable[j]
            # Without a move each pair would come twice.
            kept = one < other if not (dy or dx) else one != other
            one, other = one[kept], other[kept]
            apart = _apart(centre, moved, one, other)
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
    """Every move of one picture against another; its opposite is the same with the two exchanged."""
    span = range(-shift, shift + 1)
    return [(dy, dx) for dy in range(shift + 1) for dx in span if dy > 0 or dx >= 0]


def _window(
    images: Pictures, margin: int, dy: int, dx: int
) -> UInt8[np.ndarray, "pictures inner_height inner_width colours"]:
    height, width = images.shape[1:3]
    return images[:, margin + dy : height - margin + dy, margin + dx : width - margin + dx]


def _spread(images: Pictures) -> Float[np.ndarray, "pictures"]:
    parts = [
        images[start : start + COMPARED_AT_ONCE].std(axis=(1, 2, 3))
        for start in range(0, len(images), COMPARED_AT_ONCE)
    ]
    return np.concatenate([np.empty(0), *parts])


def _standard(images: Pictures) -> Float32[np.ndarray, "pictures pixels"]:
    """The pixels, their mean taken off, as vectors of length 1."""
    flat = images.reshape(len(images), -1).astype(np.float32)
    flat -= flat.mean(axis=1, keepdims=True)
    flat /= np.sqrt(np.einsum("ij,ij->i", flat, flat))[:, None]
    return flat


def _coarse(images: Pictures) -> Float32[np.ndarray, "pictures cells"]:
    """Standardised pictures, their colours summed and their pixels joined in cells: an orthogonal projection."""
    height, width, colours = images.shape[1:]
    summed = _standard(images).reshape(-1, colours) @ np.full(colours, colours**-0.5, np.float32)
    grey = summed.reshape(len(images), height, width)
    for axis, size in ((1, height), (2, width)):
        if size <= COARSEST:
            continue
        begins = np.unique(np.arange(min(size, COARSEST)) * size // min(size, COARSEST))
        lengths = np.diff([*begins.tolist(), size]).astype(np.float32)
        grey = np.add.reduceat(grey, begins, axis=axis) / np.sqrt(lengths[:, None] if axis == 1 else lengths)
    return np.asarray(grey.reshape(len(images), -1), np.float32)


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
    """Rows of `here` and `there` whose places are near enough, block by block.

    For vectors of length 1, a correlation of 1 - d is a squared distance of 2 d. Both sides are sorted along the first
    axis, so that a block meets only what can be near it.
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
    """Places with two coordinates more, so that an inner product of both sides is minus half a squared distance."""
    half = -np.einsum("ij,ij->i", places, places)[:, None] / 2
    ones = np.ones_like(half)
    return np.concatenate([places, half, ones] if own else [places, ones, half], axis=1)


def _apart(
    centre: Pictures, moved: Pictures, one: Int[np.ndarray, "pairs"], other: Int[np.ndarray, "pairs"]
) -> Float[np.ndarray, "pairs"]:
    """1 - the correlation of all pixels."""
    parts = [
        1.0 - np.einsum("ij,ij->i", _standard(centre[one[part]]), _standard(moved[other[part]]), dtype=np.float64)
        for part in (slice(start, start + COMPARED_AT_ONCE) for start in range(0, len(one), COMPARED_AT_ONCE))
    ]
    # Rounding may make equal pictures a little more than equal.
    return np.asarray(np.maximum(np.concatenate([np.empty(0), *parts]), 0.0))


def _too_many(distance: float) -> BadTable:
    return BadTable(
        f"more than {MOST_PAIRS:,} pairs within a distance of {distance:g}",
        "few pictures that are nearly the same",
        "choose a smaller distance",
        "too-many-pairs",
    )
