"""Informativeness: how many triplets a kind of label answers, and what share that is of all there are.

A triplet is one question, "is a nearer to b than to c?", worth a bit at most. `n` points with labels of `k` classes are
`N = n + k` objects, for every class has a centroid; they have `3 C(N, 3)` questions (Sucholutsky et al. 2023).

The formulas take classes to be equally large and labels without ties. Where labels are at hand, `informativeness_of`
counts. Counts say what was asked, not what was understood: see `noise` for labels that err, and
`embedding.recovery` for what of the truth comes back.

Noise: what triplets are worth when some of the answers are wrong.
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
    """The triplets that labels answer, among all there are."""

    n_triplets: int
    n_possible: int

    @property
    def ratio(self) -> float:
        """The information ratio."""
        return self.n_triplets / self.n_possible


def informativeness_of(labels: np.ndarray) -> Informativeness:
    """What labels, points x classes, say, counted: ties say nothing, and neither does what is missing (NaN).

    Row `i` says that item `i` is nearer to a class it has more of; column `c` that class `c` is nearer to an item that
    has more of it. Hard labels are ones among zeros. A class nobody was asked about is NaN, not 0: zeros would claim
    that every item was found far from it.
    """
    orders = RankedLists.of_labels(labels)
    return Informativeness(orders.n_triplets, possible_triplets(orders.n_objects))


def possible_triplets(n_objects: int) -> int:
    """`3 C(N, 3) = N (N - 1) (N - 2) / 2`."""
    return at_least("n_objects", n_objects, 3) * (n_objects - 1) * (n_objects - 2) // 2


def information_ratio(n_triplets: float, n_objects: int) -> float:
    """`T / (3 C(N, 3))`, the share of all questions that is answered.

    Of soft labels `nk / ((n + k)(n + k - 1))`: about `k/n` with many points a class, 1/4 with one, `n/k` with fewer. Of
    hard labels `2n(k - 1) / (k (n + k - 1)(n + k - 2))`: about `1/n` and `n/k^2`.
    """
    return n_triplets / possible_triplets(n_objects)


def hard_triplets(n: int, k: int) -> float:
    """`n (k - 1) + n^2 (1 - 1/k)`: the class of each item against the others, and in each class its items against all
    others. With classes of different sizes, exactly `n (k - 1) + n^2 - sum n_c^2`, which is less."""
    _check(n, k)
    return n * (k - 1) + n**2 * (1 - 1 / k)


def soft_triplets(n: int, k: int) -> float:
    """`k n (k + n - 2) / 2`: all pairs of classes for each item, all pairs of items for each class."""
    _check(n, k)
    return k * n * (k + n - 2) / 2


def sparse_triplets(n: int, k: int, kept: int) -> float:
    """`n [h (h - 1)/2 + h (k - h)] + k [m (m - 1)/2 + m (n - m)]`, `m = n h / k`: each item names its `h` classes.

    Those not named lie below those named; among themselves they are tied.
    """
    _check(n, k, kept)
    m = n * kept / k
    return n * (kept * (kept - 1) / 2 + kept * (k - kept)) + k * (m * (m - 1) / 2 + m * (n - m))


def top_class_triplets(n: int, k: int, kept: int) -> float:
    """`h n (h + n - 2) / 2`: soft labels of `h` classes, the same for all items; of the others nothing is known."""
    _check(n, k, kept)
    return kept * n * (kept + n - 2) / 2


def similarity_triplets(n: int) -> int:
    """`3 C(n, 3)`: every pair of items judged, so every question about items is answered; none about classes is."""
    return possible_triplets(n)


def judged_triplets(n: int, n_judgments: int) -> int:
    """One each, as long as no question is asked twice."""
    return min(at_least("n_judgments", n_judgments, 1), possible_triplets(n))


def _check(n: int, k: int, kept: int | None = None) -> None:
    at_least("n", n, 1)
    at_least("k", k, 2)
    if kept is not None and not 1 <= kept <= k:
        raise bad_setting("kept", kept, f"a number of classes from 1 to {k}")


@runtime_checkable
class NoiseModel(Protocol):
    """How much of a triplet is left when it is wrong with probability `flip_rate`."""

    def kept(self, flip_rate: float) -> float:
        """The share of a triplet's information that is left."""


@final
@dataclass(frozen=True)
class ChannelCapacity:
    """`1 - H2(e)`, the capacity of a channel that flips bits with probability `e` (Shannon 1948). The default.

    Nothing is left at 1/2, where answers are coin flips; all is left at 1, for who always errs can be read backwards.
    It takes the rate to be known and the flips to be independent.
    """

    def kept(self, flip_rate: float) -> float:
        return 1 - sum(-p * log2(p) for p in (share("flip_rate", flip_rate), 1 - flip_rate) if p > 0)


@final
@dataclass(frozen=True)
class TrueTriplets:
    """`1 - e`, the triplets that are right (Sucholutsky et al. 2023).

    As published; it leaves half at 1/2, as though somebody knew which half. Prefer `ChannelCapacity`.
    """

    def kept(self, flip_rate: float) -> float:
        return 1 - share("flip_rate", flip_rate)


NOISE_MODELS = (ChannelCapacity, TrueTriplets)


def noisy_triplets(n_triplets: float, flip_rate: float, model: NoiseModel | None = None) -> float:
    """What `n_triplets` are worth, in triplets without noise."""
    return n_triplets * (model or ChannelCapacity()).kept(flip_rate)


def flip_rate(*, judged: RankedLists, true: RankedLists) -> float:
    """The share of judged triplets that are false; those the truth leaves tied count half. NaN where none was judged.

    Both must be about the same objects, and the truth must know every pair. Writes the triplets out: for simulations.
    """
    n = true.n_objects
    wins = {tuple(each) for each in true.triplets().tolist()}
    triplets = judged.triplets().tolist()
    assert judged.n_objects == n
    wrong = sum(((a, c, b) in wins) + 0.5 * ((a, c, b) not in wins and (a, b, c) not in wins) for a, b, c in triplets)
    return wrong / len(triplets) if triplets else float("nan")
