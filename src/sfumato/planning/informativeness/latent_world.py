"""Latent worlds: points around the centroids of classes, whose distances people see, with an error, when they judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import cdist

from sfumato.tables.errors import BadSetting
from sfumato.tables.growable_array import freeze
from sfumato.tables.settings import at_least, not_negative


@dataclass(frozen=True, eq=False)
class LatentWorld:
    """Points and the centroids of their classes; the truth that labels are to recover."""

    points: Float[np.ndarray, "points dimensions"]
    centroids: Float[np.ndarray, "classes dimensions"]
    class_of: Int[np.ndarray, "points"]
    """Around which centroid a point was drawn; another may be nearer."""

    def __post_init__(self) -> None:
        freeze(self, "points", "centroids", "class_of")

    @classmethod
    def drawn(
        cls, n: int, k: int, d: int, *, rng: np.random.Generator, spread: float = 1.0, less_than_one_shot: bool = False
    ) -> LatentWorld:
        """`k` standard normal centroids in `d` dimensions, and `n` points around them with deviation `spread`.

        Classes are equally large but for one point. More classes than points is mostly a slip, so it has to be asked
        for: `less_than_one_shot`. The generator is for this alone: whoever starts an embedding from the same stream
        hands it the truth.
        """
        check_world(n, k, d, less_than_one_shot=less_than_one_shot)
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

    def seen_distances(
        self, *, noise: float = 0.0, rng: np.random.Generator | None = None
    ) -> Float[np.ndarray, "points classes"]:
        """The distance of each point to each centroid, as seen by whoever labels it."""
        return seen(cdist(self.points, self.centroids), noise=noise, rng=rng)

    def soft_labels(
        self, *, noise: float = 0.0, rng: np.random.Generator | None = None
    ) -> Float[np.ndarray, "points classes"]:
        """`softmax(-distance)`, of the distance and not of its square; `noise` is an error in seeing the distance.

        Labels are normalised by item, so even without noise they misjudge which item is nearer to a class: a point
        far from everything else has more of its class than a nearer one between two classes.
        """
        distances = self.seen_distances(noise=noise, rng=rng)
        weights = np.exp(distances.min(axis=1, keepdims=True) - distances)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float64)


def seen(
    distances: Float[np.ndarray, "*shape"], *, noise: float = 0.0, rng: np.random.Generator | None = None
) -> Float[np.ndarray, "*shape"]:
    """Distances with a normal error, drawn once a distance, so that all triplets of a label share it.

    `noise` is in standard deviations of the distances: at 1 they differ as much by error as in truth, in few or in many
    dimensions.
    """
    if not not_negative("noise", noise):
        return distances
    if rng is None:
        raise BadSetting(
            f"found noise = {noise} and no rng",
            expected="a generator for the noise",
            fix="give rng=numpy.random.default_rng(a seed of its own)",
            code="bad-setting",
        )
    return np.asarray(distances + noise * distances.std() * rng.standard_normal(distances.shape), np.float64)


def check_world(n: int, k: int, d: int, *, less_than_one_shot: bool) -> None:
    """Raise unless there can be such a world."""
    at_least("n", n, 2)
    at_least("k", k, 2)
    at_least("d", d, 1)
    if k > n and not less_than_one_shot:
        raise BadSetting(
            f"found k = {k} classes for n = {n} points",
            expected="a point for each class, or more",
            fix="take more points or fewer classes, or ask for it: less_than_one_shot=True (--less-than-one-shot)",
            code="bad-setting",
        )
