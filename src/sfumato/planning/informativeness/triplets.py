"""Informativeness: how many triplets a label type answers, what share that is of all triplets, and what remains if some
answers are wrong.

A triplet is one question, "is a nearer to b than to c?", worth at most one bit. `n` points with labels of `k` classes
are `N = n + k` objects, because every class has a centroid, with `3 C(N, 3)` questions (Sucholutsky et al. 2023). The
formulas assume equally large classes and labels without ties; `informativeness_of` counts real labels.
`embedding.recovery` measures how much of the truth is recovered.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Protocol, final, runtime_checkable

import numpy as np

from sfumato.planning.informativeness.rank_orders import RankedLists
from sfumato.tables.settings import at_least, bad_setting, share


@dataclass(frozen=True)
class Informativeness:
    """The triplets that labels answer, out of all possible ones."""

    n_triplets: int
    n_possible: int

    @property
    def ratio(self) -> float:
        """The information ratio."""
        return self.n_triplets / self.n_possible


def informativeness_of(labels: np.ndarray) -> Informativeness:
    """The triplets in labels, points x classes, counted: ties and missing entries (NaN) say nothing.

    Row `i` says that item `i` is nearer to a class it has more of; column `c` that class `c` is nearer to an item that
    has more of it. Hard labels are one-hot. A class that was not asked about is NaN, not 0.
    """
    orders = RankedLists.of_labels(labels)
    return Informativeness(orders.n_triplets, possible_triplets(orders.n_objects))


def possible_triplets(n_objects: int) -> int:
    """`3 C(N, 3) = N (N - 1) (N - 2) / 2`."""
    return at_least("n_objects", n_objects, 3) * (n_objects - 1) * (n_objects - 2) // 2


def information_ratio(n_triplets: float, n_objects: int) -> float:
    """`T / (3 C(N, 3))`, the share of all questions that is answered.

    For soft labels `nk / ((n + k)(n + k - 1))`: about `k/n` with many points per class, 1/4 with one, `n/k` with fewer.
    For hard labels `2n(k - 1) / (k (n + k - 1)(n + k - 2))`: about `1/n` and `n/k^2`.
    """
    return n_triplets / possible_triplets(n_objects)


def hard_triplets(n: int, k: int) -> float:
    """`n (k - 1) + n^2 (1 - 1/k)`: the class of each item against the others, and in each class its items against all
    others. With unequal classes exactly `n (k - 1) + n^2 - sum n_c^2`, which is less."""
    _check(n, k)
    return n * (k - 1) + n**2 * (1 - 1 / k)


def soft_triplets(n: int, k: int) -> float:
    """`k n (k + n - 2) / 2`: all pairs of classes for each item, all pairs of items for each class."""
    _check(n, k)
    return k * n * (k + n - 2) / 2


def sparse_triplets(n: int, k: int, kept: int) -> float:
    """`n [h (h - 1)/2 + h (k - h)] + k [m (m - 1)/2 + m (n - m)]`, `m = n h / k`: each item names its `h` classes.

    Classes that are not named are farther than those named, and tied.
    """
    _check(n, k, kept)
    m = n * kept / k
    return n * (kept * (kept - 1) / 2 + kept * (k - kept)) + k * (m * (m - 1) / 2 + m * (n - m))


def top_class_triplets(n: int, k: int, kept: int) -> float:
    """`h n (h + n - 2) / 2`: soft labels of `h` classes, the same for all items; the others are unknown."""
    _check(n, k, kept)
    return kept * n * (kept + n - 2) / 2


def similarity_triplets(n: int) -> int:
    """`3 C(n, 3)`: every question about items is answered, none about classes."""
    return possible_triplets(n)


def judged_triplets(n: int, n_judgments: int) -> int:
    """One each, if no question is asked twice."""
    return min(at_least("n_judgments", n_judgments, 1), possible_triplets(n))


def _check(n: int, k: int, kept: int | None = None) -> None:
    at_least("n", n, 1)
    at_least("k", k, 2)
    if kept is not None and not 1 <= kept <= k:
        raise bad_setting("kept", kept, f"a number of classes from 1 to {k}")


@runtime_checkable
class NoiseModel(Protocol):
    """How much of a triplet's information remains if it is wrong with probability `flip_rate`."""

    def kept(self, flip_rate: float) -> float:
        """The remaining share of a triplet's information."""


@final
@dataclass(frozen=True)
class ChannelCapacity:
    """`1 - H2(e)`, the capacity of a channel that flips bits with probability `e` (Shannon 1948). The default.

    Nothing remains at 1/2; everything remains at 1, because answers that are always wrong can be inverted. Assumes that
    the rate is known and flips are independent.
    """

    def kept(self, flip_rate: float) -> float:
        return 1 - sum(-p * log2(p) for p in (share("flip_rate", flip_rate), 1 - flip_rate) if p > 0)


@final
@dataclass(frozen=True)
class TrueTriplets:
    """`1 - e`, the triplets that are correct (Sucholutsky et al. 2023).

    As published; it keeps half at 1/2, as if the correct half were known. Prefer `ChannelCapacity`.
    """

    def kept(self, flip_rate: float) -> float:
        return 1 - share("flip_rate", flip_rate)


def noisy_triplets(n_triplets: float, flip_rate: float, model: NoiseModel | None = None) -> float:
    """The equivalent number of triplets without noise."""
    return n_triplets * (model or ChannelCapacity()).kept(flip_rate)


def flip_rate(*, judged: RankedLists, true: RankedLists) -> float:
    """The share of judged triplets that are false; ties in the truth count half. NaN if none was judged.

    Both must be about the same objects, and the truth must know every pair. Lists the triplets: for simulations.
    """
    n = true.n_objects
    wins = {tuple(each) for each in true.triplets().tolist()}
    triplets = judged.triplets().tolist()
    assert judged.n_objects == n
    wrong = sum(((a, c, b) in wins) + 0.5 * ((a, c, b) not in wins and (a, b, c) not in wins) for a, b, c in triplets)
    return wrong / len(triplets) if triplets else float("nan")
