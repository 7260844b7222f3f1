"""Label types of the informativeness simulation: what each type keeps of a full soft label, how many triplets it gives
(with equally large classes and without ties), how many judgments it takes, and the names as typed (`soft`,
`sparse:2..10`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import pdist, squareform

from sfumato.planning.informativeness.answered_triplets import RankedLists, check_labels, possible_triplets
from sfumato.planning.informativeness.latent_world import LatentWorld, with_noise
from sfumato.tables.errors import unknown
from sfumato.tables.setting_checks import above_0, at_least, bad_setting

PILOT = 200
"""Items used to choose the most informative classes."""


@runtime_checkable
class LabelType(Protocol):
    """How points are judged."""

    @property
    def title(self) -> str: ...

    def n_triplets(self, n: int, k: int) -> float:
        """How many triplets `n` points with `k` classes give, by formula."""

    def judgments(self, n: int, k: int) -> int:
        """How many judgments of one class, pair or triplet it takes to label `n` points of `k` classes once."""

    def judge(
        self, world: LatentWorld, *, noise: float = 0.0, times: float = 1.0, rng: np.random.Generator | None = None
    ) -> RankedLists:
        """What such labels of all points of a world say; `noise` as in `latent_world.with_noise`.

        Everything is judged `times` times on average, by different people, whose answers are averaged; below 1, only
        that share of the points, pairs or questions is judged.
        """


MOST_TIMES = 100
"""More answers about the same point are not simulated: they would hardly change their mean."""


class LabelSet(ABC):
    """A type that judges points against classes."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The name as typed."""

    @abstractmethod
    def labels(self, soft: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "points classes"]:
        """What such labels keep of full soft labels, simulated or real."""

    def kept_classes(self, n_classes: int) -> int:
        """The number of classes that a label names."""
        return n_classes

    @final
    def judgments(self, n: int, k: int) -> int:
        """One per point and named class."""
        return n * self.kept_classes(k)

    @final
    def judge(
        self, world: LatentWorld, *, noise: float = 0.0, times: float = 1.0, rng: np.random.Generator | None = None
    ) -> RankedLists:
        labels = self.mean_labels(world, noise=noise, times=times, rng=rng)
        return RankedLists.of_labels(labels, empty_rows=times < 1)

    @final
    def mean_labels(
        self, world: LatentWorld, *, noise: float = 0.0, times: float = 1.0, rng: np.random.Generator | None = None
    ) -> Float[np.ndarray, "points classes"]:
        """The labels, averaged over people; NaN for points that nobody labeled."""
        if not noise and times >= 1:
            # Everybody would answer the same.
            return self.labels(world.soft_labels())
        n_asked = numbers_asked(world.n_points, times, rng)
        labels = np.zeros((world.n_points, world.n_classes))
        missing = np.zeros(labels.shape, bool)
        for i in range(n_asked.max()):
            soft = world.soft_labels(noise=noise, rng=rng)
            if i == 0:
                seen = self.labels(soft)
                missing = np.isnan(seen)
            # Everybody is asked about the same classes.
            seen = soft if missing.any() else self.labels(soft)
            labels += np.where((n_asked > i)[:, None] & ~missing, seen, 0.0)
        labels /= np.maximum(n_asked, 1)[:, None]
        labels[missing | (n_asked == 0)[:, None]] = np.nan
        return labels


def numbers_asked(n: int, times: float, rng: np.random.Generator | None) -> Int[np.ndarray, "asked"]:
    """How often each of `n` points or pairs is judged if all are judged `times` times on average; at least one is."""
    times = min(above_0("times", times), MOST_TIMES)
    n_asked = np.full(n, int(times))
    n_more = max(round((times - int(times)) * n), int(times < 1))
    if n_more:
        if rng is None:
            raise bad_setting("rng", rng, "a generator, to choose what is judged")
        n_asked[rng.choice(n, n_more, replace=False)] += 1
    return n_asked


@final
@dataclass(frozen=True)
class HardLabels(LabelSet):
    """Only the most relevant class. Cheap; with very many points it says nearly as much as soft labels."""

    title: ClassVar[str] = "hard"

    def kept_classes(self, n_classes: int) -> int:  # noqa: ARG002
        return 1

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
        return f"sparse:{self.kept}"

    def kept_classes(self, n_classes: int) -> int:  # noqa: ARG002
        return self.kept

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
        return f"top:{self.kept}"

    def kept_classes(self, n_classes: int) -> int:  # noqa: ARG002
        return self.kept

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

    def judgments(self, n: int, k: int) -> int:  # noqa: ARG002
        """One per pair."""
        return n * (n - 1) // 2

    def judge(
        self, world: LatentWorld, *, noise: float = 0.0, times: float = 1.0, rng: np.random.Generator | None = None
    ) -> RankedLists:
        """Distances are averaged over people, which is the same as one person with less noise."""
        distances = pdist(world.points)
        if not noise and times >= 1:
            return RankedLists.of_similarities(-squareform(distances))
        n_asked = numbers_asked(len(distances), times, rng)
        if noise:
            seen = with_noise(distances, noise=noise, rng=rng)
            distances = distances + (seen - distances) / np.sqrt(np.maximum(n_asked, 1))
        if n_asked.min() > 0:
            return RankedLists.of_similarities(-squareform(distances))
        similarities = -squareform(np.where(n_asked > 0, distances, np.nan))
        return RankedLists.of_similarities(similarities, empty_rows=True)


@final
@dataclass(frozen=True)
class TripletLabels:
    """`n_judgments` answers to "is a nearer to b or to c?", drawn at random, every distance seen again each time."""

    n_judgments: int

    @property
    def title(self) -> str:
        return f"triplet:{self.n_judgments}"

    def n_triplets(self, n: int, k: int) -> float:  # noqa: ARG002
        """One each, if no question is asked twice."""
        return min(at_least("n_judgments", self.n_judgments, 1), possible_triplets(n))

    def judgments(self, n: int, k: int) -> int:  # noqa: ARG002
        """As many as are asked, at most all."""
        return min(self.n_judgments, possible_triplets(n))

    def judge(
        self, world: LatentWorld, *, noise: float = 0.0, times: float = 1.0, rng: np.random.Generator | None = None
    ) -> RankedLists:
        """Needs a generator even without noise, to draw the questions; further `times` are further questions."""
        if rng is None:
            raise bad_setting("rng", rng, "a generator, to draw the questions")
        points = world.points
        n_judgments = at_least("n_judgments", self.n_judgments, 1) * above_0("times", times)
        asked = questions(len(points), max(round(n_judgments), 1), rng)
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


SIMPLE: dict[str, LabelType] = {"hard": HardLabels(), "soft": SoftLabelType(), "similarity": SimilarityLabels()}
COUNTED: dict[str, type[SparseLabels | TopClassLabels | TripletLabels]] = {
    "sparse": SparseLabels,
    "top": TopClassLabels,
    "triplet": TripletLabels,
}
NAMES = (*SIMPLE, "sparse:H", "top:H", "triplet")


def label_kinds_named(texts: Sequence[str], n: int, k: int) -> tuple[LabelType, ...]:
    """The label types as typed, for `n` points of `k` classes: `hard`, `sparse:3`, `top:2..10`, `triplet:500`.

    `triplet` without a number is as many questions as soft labels take judgments, `n k`.
    """
    kinds = [kind for text in texts for kind in _kinds_named(text, n, k)]
    if not kinds:
        raise bad_setting("kinds", "", f"one kind of label or more: {', '.join(NAMES)}")
    return tuple(dict.fromkeys(kinds))


def _kinds_named(text: str, n: int, k: int) -> list[LabelType]:
    name, colon, number = text.partition(":")
    if name in SIMPLE and not colon:
        return [SIMPLE[name]]
    if name == "triplet" and not colon:
        return [TripletLabels(min(n * k, possible_triplets(n)))]
    if name in SIMPLE:
        raise bad_setting("kind", text, f"{name} without a number")
    if name not in COUNTED:
        raise unknown("kind of label", text, NAMES)
    low, dots, high = number.partition("..")
    limits = [low, high] if dots and name != "triplet" else [number]
    if not all(each.isdecimal() and int(each) for each in limits):
        example = f"{name}:3" if name == "triplet" else f"{name}:3 or {name}:2..10"
        raise bad_setting("kind", text, f"{name} and a number, 1 or more, as in {example}")
    first, last = int(limits[0]), int(limits[-1])
    if first > last:
        raise bad_setting("kind", text, f"the smaller number first: {name}:{last}..{first}")
    if name != "triplet" and last > k:
        fix = f"write {name}:{min(first, k)}..{k}" if dots else f"write {name}:{k}, or give more classes"
        raise bad_setting("kind", text, f"at most {k}, the number of classes", fix)
    return [COUNTED[name](number) for number in range(first, last + 1)]
