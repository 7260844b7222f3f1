"""A map of classes: those that people take for each other lie near each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh
from scipy.stats import rankdata, spearmanr


@dataclass(frozen=True, eq=False)
class ClassMap:
    """Places of classes on a plane. `fit` is the rank correlation of distances on the map with how seldom pairs of
    classes are confused: 1 where the plane has room for the whole order, NaN where there is none."""

    places: Float[np.ndarray, "classes 2"]
    similarity: Float[np.ndarray, "classes classes"]
    fit: float


def class_map(probs: Float[np.ndarray, "items classes"]) -> ClassMap:
    """The map of some labels' classes.

    Two classes are alike as far as labels give mass to both: `s_ij = sum p_i p_j / sqrt(sum p_i^2 sum p_j^2)` over
    items. Pairs are ranked by it, and Torgerson's scaling (1952) of the ranks gives the two strongest dimensions:
    of the similarities themselves, which are near 0 but for a few pairs, a plane would show little.
    """
    norms = np.sqrt((probs**2).sum(axis=0))
    similarity = probs.T @ probs / np.maximum(norms[:, None] * norms[None, :], 1e-300)
    k = probs.shape[1]
    if k < 3:
        return ClassMap(np.column_stack([np.arange(k, dtype=np.float64), np.zeros(k)]), similarity, np.nan)
    above = np.triu_indices(k, 1)
    rank = rankdata(-similarity[above]) / len(above[0])
    distance = np.zeros((k, k))
    distance[above] = rank
    distance += distance.T
    centring = np.eye(k) - 1 / k
    values, vectors = eigh(-0.5 * centring @ distance**2 @ centring)
    places = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    # Signs of eigenvectors are arbitrary: the first class that is not in the middle lies to the right, and above.
    signs = np.array([np.sign(axis[np.argmax(np.abs(axis) > 1e-9)]) or 1.0 for axis in places.T])
    places = places * signs
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[above]
    is_flat = np.ptp(apart) < 1e-12 or np.ptp(rank) < 1e-12
    return ClassMap(places, similarity, np.nan if is_flat else float(spearmanr(apart, rank).statistic))
