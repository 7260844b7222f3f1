"""Sharing: the variance of a figure over pairs or triplets that have items in common."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from jaxtyping import Float, Int


def shared_variance(pull: Float[np.ndarray, "rows"], members: Int[np.ndarray, "rows shared"]) -> float:
    """The sum of `pull[p] * pull[q]` over all rows p, q that share an item, each pair of rows once.

    `pull` is how much each row moves the figure, `members` the items a row is about, all different. Rows that share
    several items would be counted for each; sums over two items at a time take that off again, and so on (Cameron,
    Gelbach and Miller 2011; for pairs Aronow, Samii and Assenova 2015).
    """
    ordered = np.sort(members, axis=1)
    total = 0.0
    for n_shared in range(1, ordered.shape[1] + 1):
        sign = 1.0 if n_shared % 2 else -1.0
        parts = [ordered[:, list(chosen)] for chosen in combinations(range(ordered.shape[1]), n_shared)]
        total += sign * _squared_sums(np.concatenate(parts), np.tile(pull, len(parts)))
    return total


def _squared_sums(keys: Int[np.ndarray, "rows shared"], pull: Float[np.ndarray, "rows"]) -> float:
    n_items = int(keys.max(initial=0)) + 1
    # Rows as single numbers, where they fit, are sorted sooner.
    packed = (
        np.ravel_multi_index(tuple(keys.T), (n_items,) * keys.shape[1]) if n_items ** keys.shape[1] < 2**62 else keys
    )
    _, group = np.unique(packed, axis=0, return_inverse=True)
    sums = np.bincount(group.reshape(-1), weights=pull)
    return float(sums @ sums)
