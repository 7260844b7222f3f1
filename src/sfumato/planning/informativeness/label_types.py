"""Label types of the informativeness simulation: what each type keeps of a full soft label, how many triplets it gives
(with equally large classes and without ties), and the names as typed (`soft`, `sparse:3`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import pdist, squareform

from sfumato.planning.informativeness.answered_triplets import RankedLists, check_labels, possible_triplets
from sfumato.planning.informativeness.latent_world import LatentWorld, with_noise
from sfumato.tables.errors import unknown
from sfumato.tables.setting_checks import at_least, bad_setting

PILOT = 200
"""Items used to choose the most informative classes."""


@runtime_checkable
class LabelType(Protocol):
    """How points are judged."""

    @property
    def title(self) -> str: ...

    def n_triplets(self, n: int, k: int) -> float:
        """How many triplets `n` points with `k` classes give, by formula."""

    def judge(self, world: LatentWorld, *, noise: float = 0.0, rng: np.random.Generator | None = None) -> RankedLists:
        """What such labels of all points of a world say; `noise` as in `latent_world.with_noise`."""


class LabelSet(ABC):
    """A type that judges points against classes."""

    @abstractmethod
    def labels(self, soft: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "points classes"]:
        """What such labels keep of full soft labels, simulated or real."""

    @final
    def judge(self, world: LatentWorld, *, noise: float = 0.0, rng: np.random.Generator | None = None) -> RankedLists:
        return RankedLists.of_labels(self.labels(world.soft_labels(noise=noise, rng=rng)))


@final
@dataclass(frozen=True)
class HardLabels(LabelSet):
    """Only the most relevant class. Cheap; with very many points it says nearly as much as soft labels."""

    title: ClassVar[str] = "hard"

    def n_triplets(self, n: int, k: int) -> float:
        """`n (k - 1) + n^2 (1 - 1/k)`: the class of each item against the others, and in each class its items against
        all others. With unequal classes exactly `n (k - 1) + n^2 - sum n_c^2`, which is less."""
        _check_size(n, k)
        return n * (k - 1) + n**2 * (1 - 1 / k)

    def labels(self, soft: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "points classes"]:
        """One-hot rows; the first of equally relevant classes."""
        best = np.nanargmax(check_labels(soft), axis=1)
        return np.asarray(np.eye(soft.shape[1])[best], np.float64)


@final
@dataclass(frozen=True)
class SoftLabelType(LabelSet):
    """A share for every class. Most information per point, highest cost."""

    title: ClassVar[str] = "soft"

    def n_triplets(self, n: int, k: int) -> float:
        """`k n (k + n - 2) / 2`: all pairs of classes for each item, all pairs of items for each class."""
        _check_size(n, k)
        return k * n * (k + n - 2) / 2

    def labels(self, soft: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "points classes"]:
        """The soft labels themselves."""
        return check_labels(soft)


@final
@dataclass(frozen=True)
class SparseLabels(LabelSet):
    """Shares for the `kept` most relevant classes of each point; 0 for the others, which were judged to be farther.

    That is certain within a row. Within a column it is a guess: a class named by one point may still be farther from it
    than from a point that named nearer ones.
    """

    kept: int

    @property
    def title(self) -> str:
        return f"sparse({self.kept})"

    def n_triplets(self, n: int, k: int) -> float:
        """`n [h (h - 1)/2 + h (k - h)] + k [m (m - 1)/2 + m (n - m)]`, `m = n h / k`: each item names `h` classes."""
        _check_size(n, k, self.kept)
        m = n * self.kept / k
        return n * (self.kept * (self.kept - 1) / 2 + self.kept * (k - self.kept)) + k * (m * (m - 1) / 2 + m * (n - m))

    def labels(self, soft: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "points classes"]:
        """The `kept` largest entries of each row, 0 elsewhere; missing entries stay missing."""
        _check_size(len(check_labels(soft)), soft.shape[1], self.kept)
        ranked = np.argsort(-soft, axis=1, kind="stable")
        labels = np.where(np.isnan(soft), np.nan, 0.0)
        named = ranked[:, : self.kept]
        np.put_along_axis(labels, named, np.take_along_axis(soft, named, axis=1), axis=1)
        return labels


@final
@dataclass(frozen=True)
class TopClassLabels(LabelSet):
    """Shares for the same `kept` classes of every point; the other classes are unknown (NaN).

    Prefer sparse labels if people can choose the classes per point. These need a shorter form.
    """

    kept: int

    @property
    def title(self) -> str:
        return f"top-class({self.kept})"

    def n_triplets(self, n: int, k: int) -> float:
        """`h n (h + n - 2) / 2`: soft labels of `h` classes, the same for all items; the others are unknown."""
        _check_size(n, k, self.kept)
        return self.kept * n * (self.kept + n - 2) / 2

    def labels(self, soft: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "points classes"]:
        """The columns of the `kept` most informative classes, NaN elsewhere."""
        _check_size(len(check_labels(soft)), soft.shape[1], self.kept)
        labels = np.full(soft.shape, np.nan)
        best = informative_classes(soft)[: self.kept]
        labels[:, best] = soft[:, best]
        return check_labels(labels)


@final
@dataclass(frozen=True)
class SimilarityLabels:
    """The similarity of every pair of points. Needs no classes; the cost grows with `n^2`."""

    title: ClassVar[str] = "similarity"

    def n_triplets(self, n: int, k: int) -> float:  # noqa: ARG002
        """`3 C(n, 3)`: every question about items is answered, none about classes."""
        return possible_triplets(n)

    def judge(self, world: LatentWorld, *, noise: float = 0.0, rng: np.random.Generator | None = None) -> RankedLists:
        return RankedLists.of_similarities(-squareform(with_noise(pdist(world.points), noise=noise, rng=rng)))


@final
@dataclass(frozen=True)
class TripletLabels:
    """`n_judgments` answers to "is a nearer to b or to c?", drawn at random, every distance seen again each time."""

    n_judgments: int

    @property
    def title(self) -> str:
        return f"triplets({self.n_judgments})"

    def n_triplets(self, n: int, k: int) -> float:  # noqa: ARG002
        """One each, if no question is asked twice."""
        return min(at_least("n_judgments", self.n_judgments, 1), possible_triplets(n))

    def judge(self, world: LatentWorld, *, noise: float = 0.0, rng: np.random.Generator | None = None) -> RankedLists:
        """Needs a generator even without noise, to draw the questions."""
        if rng is None:
            raise bad_setting("rng", rng, "a generator, to draw the questions")
        points = world.points
        asked = questions(len(points), at_least("n_judgments", self.n_judgments, 1), rng)
        anchor, a, b = asked.T
        distances = np.linalg.norm(points[anchor][:, None] - points[asked[:, 1:]], axis=2)
        near, far = with_noise(distances, noise=noise, rng=rng).T
        return RankedLists.of_triplets(
            np.stack([anchor, np.where(near < far, a, b), np.where(near < far, b, a)], 1), len(points)
        )


def informative_classes(soft: Float[np.ndarray, "points classes"]) -> Int[np.ndarray, "classes"]:
    """The classes, ordered by how much their column alone says about the similarity of items.

    By the mutual information `-log(1 - r^2)/2` of two normal variables: the difference of two items in that class, and
    the distance of their whole labels. From the first 200 items; missing entries count as 0.
    """
    pilot = np.nan_to_num(soft[:PILOT])
    if len(pilot) < 3:
        return np.argsort(-pilot.mean(axis=0), kind="stable")
    whole = pdist(pilot) - pdist(pilot).mean()
    alone = np.stack([pdist(column[:, None]) for column in pilot.T])
    alone -= alone.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(alone, axis=1) * np.linalg.norm(whole)
    r = alone @ whole / np.where(lengths > 0, lengths, 1.0)
    # Rounded, so that the choice does not depend on the machine.
    return np.argsort(-np.round(r**2, 12), kind="stable")


def questions(n: int, n_judgments: int, rng: np.random.Generator) -> Int[np.ndarray, "judgments 3"]:
    """Different triplets of points at random, or all of them if fewer exist."""
    total = possible_triplets(n)
    number = rng.choice(total, min(n_judgments, total), replace=False, shuffle=False)
    anchor, pair = np.divmod(number, (n - 1) * (n - 2) // 2)
    # The pair number counts the lower triangle by row.
    high = ((1 + np.sqrt(1 + 8.0 * pair)) / 2).astype(np.int64)
    high -= high * (high - 1) // 2 > pair
    low = pair - high * (high - 1) // 2
    others = np.stack([low, high], axis=1)
    return np.concatenate([anchor[:, None], others + (others >= anchor[:, None])], axis=1)


def _check_size(n: int, k: int, kept: int = 1) -> None:
    at_least("n", n, 1)
    at_least("k", k, 2)
    if at_least("kept", kept, 1) > k:
        raise bad_setting("kept", kept, f"at most {k}, the number of classes")


PLAIN: dict[str, LabelType] = {"soft": SoftLabelType(), "hard": HardLabels(), "similarity": SimilarityLabels()}
COUNTED: dict[str, type[SparseLabels | TopClassLabels | TripletLabels]] = {
    "sparse": SparseLabels,
    "top-class": TopClassLabels,
    "triplets": TripletLabels,
}
NAMES = (*PLAIN, *(f"{name}:NUMBER" for name in COUNTED))


def label_kind_named(text: str) -> LabelType:
    """The label type for a name as typed; its number is of classes, or of triplets."""
    name, colon, number = text.partition(":")
    if name in PLAIN and not colon:
        return PLAIN[name]
    if name in COUNTED and number.isdecimal():
        return COUNTED[name](at_least(text, int(number), 1))
    if name in COUNTED or name in PLAIN:
        expected = f"{name} and a number, 1 or more, as in {name}:3" if name in COUNTED else f"{name} without a number"
        raise bad_setting("kind", text, expected)
    raise unknown("kind of label", text, NAMES)
