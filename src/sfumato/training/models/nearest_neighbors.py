"""Nearest neighbors on soft labels: `knn` predicts the mean label of the most similar training items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import at_least
from sfumato.training.models.fit_inputs import FeatureScale, FitInputs, checked_features
from sfumato.training.models.softmax_loss import Features

CHOICES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
"""Numbers of neighbors to choose from."""
DISTANCES_PER_BLOCK = 4_000_000


@dataclass(frozen=True)
class NearestNeighbors:
    """The mean label of the `k` training items at the smallest Euclidean distance, weighted by the items' weights.

    Without `k`, each target uses the number (1 to 100) whose leave-one-out predictions have the lowest Brier score,
    the smaller one if two are equal. `standardize` as for `linear`: dense features get mean 0 and standard deviation 1.
    Compares every item with every training item, which are stored with the model.
    """

    k: int | None = None
    standardize: bool = True

    name: ClassVar[str] = "knn"
    takes: ClassVar[tuple[str, ...]] = ("features", "images")

    def __post_init__(self) -> None:
        if self.k is not None:
            at_least("k", self.k, 1)

    def fit_many(
        self,
        x: Features,
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"] | None = None,
        *,
        seed: int = 0,  # noqa: ARG002
    ) -> list[FittedNeighbors]:
        """One fitted model per target."""
        given = FitInputs.checked(x, probs, weights)
        used = np.flatnonzero(given.weights > 0)
        features, labels, item_weights = given.x[used], given.probs[:, used], given.weights[used]
        scale = FeatureScale.of(features, item_weights, self.standardize)
        features = scale.standardized(features)
        if self.k is not None and self.k > len(used):
            found, expected = f"k = {self.k} and {len(used):,} training items", "at most as many neighbors as items"
            raise BadSetting(found, expected, "choose a smaller k")
        chosen = [self.k] * len(labels) if self.k is not None else _best_k(features, labels, item_weights)
        return [
            FittedNeighbors(features, each, item_weights, scale, int(k)) for each, k in zip(labels, chosen, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class FittedNeighbors:
    """Training items with their labels, and how many of them to average."""

    x: Features
    labels: Float[np.ndarray, "items classes"]
    weights: Float[np.ndarray, "items"]
    scale: FeatureScale
    k: int

    def predict(self, x: Features) -> Float[np.ndarray, "items classes"]:
        """The mean label of the nearest training items of each item."""
        features = self.scale.standardized(checked_features(x, len(self.scale.mean)))
        parts = [_means(each, self.labels[None], self.weights)[0, :, -1] for each in _nearest(features, self.x, self.k)]
        return np.concatenate(parts)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays to store."""
        kept = {"labels": self.labels, "weights": self.weights, "k": np.array([self.k])}
        kept |= {"mean": self.scale.mean, "deviation": self.scale.deviation}
        if isinstance(self.x, np.ndarray):
            return kept | {"x": self.x}
        return kept | {"x_data": self.x.data, "x_indices": self.x.indices, "x_starts": self.x.indptr}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> FittedNeighbors:
        """The model with stored arrays."""
        labels, weights, mean = (arrays[name] for name in ("labels", "weights", "mean"))
        x: Any = arrays.get("x")
        if x is None:
            from scipy.sparse import csr_array

            shape = len(labels), len(mean)
            x = csr_array((arrays["x_data"], arrays["x_indices"], arrays["x_starts"]), shape=shape)
        return cls(x, labels, weights, FeatureScale(mean, arrays["deviation"]), int(arrays["k"][0]))


def _nearest(x: Features, training: Features, k: int, *, same: bool = False) -> Iterator[Int[np.ndarray, "items k"]]:
    """The `k` nearest training items of some rows of `x` at a time, nearest first; an item is not its own neighbor if
    `x` and `training` are the `same`."""
    lengths = _squares(training)
    size = max(DISTANCES_PER_BLOCK // training.shape[0], 1)
    for first in range(0, x.shape[0], size):
        part = x[first : first + size]
        product = part @ training.T
        # Without the squared length of the item itself, which changes no order.
        distances = lengths - 2 * (product if isinstance(product, np.ndarray) else product.toarray())
        rows = np.arange(part.shape[0])
        if same:
            distances[rows, first + rows] = np.inf
        near = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
        order = np.argsort(distances[rows[:, None], near], axis=1, kind="stable")
        yield near[rows[:, None], order]


def _means(
    near: Int[np.ndarray, "items k"],
    labels: Float[np.ndarray, "targets training classes"],
    weights: Float[np.ndarray, "training"],
    ks: tuple[int, ...] = (),
) -> Float[np.ndarray, "targets items ks classes"]:
    """The mean label of the first neighbors, for every number in `ks`, by default all of them."""
    places = np.array(ks or (near.shape[1],)) - 1
    each = weights[near]
    sums = np.stack([np.cumsum(label[near] * each[:, :, None], axis=1)[:, places] for label in labels])
    means = sums / np.cumsum(each, axis=1)[:, places, None]
    return np.asarray(means / means.sum(axis=3, keepdims=True))


def _best_k(
    x: Features, labels: Float[np.ndarray, "targets items classes"], weights: Float[np.ndarray, "items"]
) -> list[int]:
    """The number of neighbors of each target with the lowest leave-one-out Brier score."""
    ks = tuple(k for k in CHOICES if k < x.shape[0])
    if not ks:
        return [1] * len(labels)
    scores = np.zeros((len(labels), len(ks)))
    first = 0
    for near in _nearest(x, x, ks[-1], same=True):
        rows = slice(first, first + len(near))
        for target, label in enumerate(labels):
            errors = ((_means(near, label[None], weights, ks)[0] - label[rows, None]) ** 2).sum(axis=2)
            scores[target] += weights[rows] @ errors
        first += len(near)
    return [ks[best] for best in scores.argmin(axis=1)]


def _squares(x: Features) -> Float[np.ndarray, "items"]:
    squared = x * x if isinstance(x, np.ndarray) else x.multiply(x)
    return np.asarray(squared.sum(axis=1)).reshape(-1)
