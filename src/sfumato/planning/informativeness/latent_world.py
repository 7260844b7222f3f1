"""Latent worlds: points around class centroids, and their distances as people perceive them, with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import cdist

from sfumato.tables.errors import BadSetting
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import at_least, not_negative


@dataclass(frozen=True, eq=False)
class LatentWorld:
    """Points and the centroids of their classes: the truth that labels should recover."""

    points: Float[np.ndarray, "points dimensions"]
    centroids: Float[np.ndarray, "classes dimensions"]
    class_of: Int[np.ndarray, "points"]
    """The centroid around which a point was drawn; another one may be nearer."""

    def __post_init__(self) -> None:
        freeze(self, "points", "centroids", "class_of")

    @classmethod
    def sample(cls, n: int, k: int, d: int, *, rng: np.random.Generator, spread: float = 1.0) -> LatentWorld:
        """`k` standard normal centroids in `d` dimensions, and `n` points around them with deviation `spread`.

        Class sizes differ by at most one point; with more classes than points, some classes have none. Use the
        generator only for this: an embedding that starts from the same stream would know the truth.
        """
        check_world(n, k, d)
        not_negative("spread", spread)
        centroids = rng.standard_normal((k, d))
        class_of = rng.permutation(k)[np.arange(n) % k]
        return cls(centroids[class_of] + spread * rng.standard_normal((n, d)), centroids, class_of)

    @property
    def n_points(self) -> int:
        return len(self.points)

    @property
    def n_classes(self) -> int:
        return len(self.centroids)

    @property
    def objects(self) -> Float[np.ndarray, "objects dimensions"]:
        """The points, then the centroids."""
        return np.concatenate([self.points, self.centroids])

    def cosines(self) -> Float[np.ndarray, "objects objects"]:
        """The cosine similarity of all objects."""
        lengths = np.linalg.norm(self.objects, axis=1, keepdims=True)
        unit = self.objects / np.where(lengths > 0, lengths, 1.0)
        return np.asarray(unit @ unit.T, np.float64)

    def noisy_distances(
        self, *, noise: float = 0.0, rng: np.random.Generator | None = None
    ) -> Float[np.ndarray, "points classes"]:
        """The distance of each point to each centroid, with noise."""
        return with_noise(cdist(self.points, self.centroids), noise=noise, rng=rng)

    def soft_labels(
        self, *, noise: float = 0.0, rng: np.random.Generator | None = None
    ) -> Float[np.ndarray, "points classes"]:
        """`softmax(-distance)`, of the distance and not of its square, with `noise` in the distance.

        Labels are normalized per item, so even without noise they can misjudge which item is nearer to a class: a point
        far from everything has more of its class than a nearer one between two classes.
        """
        distances = self.noisy_distances(noise=noise, rng=rng)
        weights = np.exp(distances.min(axis=1, keepdims=True) - distances)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float64)


def with_noise(
    distances: Float[np.ndarray, "*shape"], *, noise: float = 0.0, rng: np.random.Generator | None = None
) -> Float[np.ndarray, "*shape"]:
    """Distances with normal noise, drawn once per distance, so that all triplets of a label share it.

    `noise` is in standard deviations of the distances, in any number of dimensions.
    """
    if not not_negative("noise", noise):
        return distances
    if rng is None:
        raise BadSetting(
            f"noise = {noise} and no rng",
            "a generator for the noise",
            "give rng=numpy.random.default_rng(a seed of its own)",
        )
    return np.asarray(distances + noise * distances.std() * rng.standard_normal(distances.shape), np.float64)


def check_world(n: int, k: int, d: int) -> None:
    """Raise unless such a world is possible."""
    at_least("n", n, 2)
    at_least("k", k, 2)
    at_least("d", d, 1)
