"""Triplets "a is nearer to b than to c": judgments as ranked lists, the share of all triplets that they answer, and
what remains if some answers are wrong.

A triplet is one question, worth at most one bit. `n` points with labels of `k` classes are `N = n + k` objects, because
every class has a centroid, with `3 C(N, 3)` questions (Sucholutsky et al. 2023). `label_types` has the formulas of each
type, `RankedLists.n_triplets` counts real labels, and `embedding.recovery` measures how much of the truth is recovered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.tables.errors import BadTable, ErrorLocation
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import at_least, share


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Ranked lists of pairs of objects, nearest pair first; all pairs of one list share an object, its anchor.

    A list of length `m` without ties represents `m (m - 1) / 2` triplets "the anchor is nearer to a than to b" without
    listing them. A row of soft labels is such a list (the item is the anchor), and so is a column (the class is), a row
    of similarities, and a single triplet: a list of two. Objects are the points, then the classes.
    """

    n_points: int
    n_classes: int
    first: Int[np.ndarray, "pairs"]
    second: Int[np.ndarray, "pairs"]
    starts: Int[np.ndarray, "lists_and_1"]
    """Where each list begins in `pair` and `tie`; the last entry is the end of the last list."""
    pair: Int[np.ndarray, "entries"]
    tie: Int[np.ndarray, "entries"]
    """Equal for neighbors in a list that are equally near."""

    def __post_init__(self) -> None:
        freeze(self, "first", "second", "starts", "pair", "tie")

    @classmethod
    def of_labels(cls, labels: np.ndarray, *, empty_rows: bool = False) -> RankedLists:
        """The orders in labels, points x classes: the more of a class, the nearer. NaN means missing.

        With `empty_rows` some points, but not all, may have no label.
        """
        check_labels(labels[~np.isnan(labels).all(axis=1)] if empty_rows else labels)
        n, k = labels.shape
        known = ~np.isnan(labels)
        number = np.full(labels.shape, -1)
        number[known] = np.arange(known.sum())
        first, column = np.nonzero(known)
        rows, columns = _ranked(labels, number), _ranked(labels.T, number.T)
        return cls(n, k, first, n + column, *_joined(rows, columns))

    @classmethod
    def of_similarities(cls, similarities: np.ndarray, *, empty_rows: bool = False) -> RankedLists:
        """The orders in similarities, points x points: each row is a list, without its diagonal. NaN means missing.

        The row is the anchor, so the matrix need not be symmetric. With `empty_rows` some points may not be judged.
        """
        if similarities.ndim != 2 or len(similarities) != similarities.shape[1] or len(similarities) < 3:
            raise _bad("similarities", f"an array of shape {similarities.shape}", "points x points, three or more")
        n = len(similarities)
        off_diagonal = np.where(np.eye(n, dtype=bool), np.nan, similarities)
        _check_rows(off_diagonal[~np.isnan(off_diagonal).all(axis=1)] if empty_rows else off_diagonal, "similarities")
        known = ~np.isnan(off_diagonal)
        first, second = np.nonzero(np.triu(known | known.T))
        number = np.full((n, n), -1)
        number[first, second] = number[second, first] = np.arange(len(first))
        return cls(n, 0, first, second, *_joined(_ranked(off_diagonal, number)))

    @classmethod
    def of_triplets(cls, triplets: np.ndarray, n_points: int) -> RankedLists:
        """The orders in judgments "anchor, near, far": each question counts once, by the majority of its answers.

        A question with equally many answers for both says nothing.
        """
        if triplets.ndim != 2 or triplets.shape[1] != 3 or not len(triplets):
            raise _bad("triplets", f"an array of shape {triplets.shape}", "judgments x 3: anchor, near, far")
        anchor, near, far = triplets.T
        alike = (anchor == near) | (anchor == far) | (near == far)
        outside = ((triplets < 0) | (triplets >= n_points)).any(axis=1)
        for row in np.flatnonzero(alike | outside)[:1]:
            found, expected = f"the triplet {triplets[row].tolist()}", f"three different points of 0 to {n_points - 1}"
            raise _bad("triplets", found, expected, int(row))
        low, high = np.minimum(near, far), np.maximum(near, far)
        asked, question = np.unique((anchor * n_points + low) * n_points + high, return_inverse=True)
        votes = np.bincount(question, weights=np.where(near == low, 1.0, -1.0))
        asked, votes = asked[votes != 0], votes[votes != 0]
        rest, high = np.divmod(asked, n_points)
        anchor, low = np.divmod(rest, n_points)
        members = np.stack([np.where(votes > 0, low, high), np.where(votes > 0, high, low)], axis=1)
        ends = np.minimum(anchor[:, None], members) * n_points + np.maximum(anchor[:, None], members)
        pairs, pair = np.unique(ends, return_inverse=True)
        entries = np.arange(2 * len(asked))
        return cls(
            n_points, 0, *np.divmod(pairs, n_points), np.append(entries[::2], len(entries)), pair.ravel(), entries
        )

    @property
    def n_objects(self) -> int:
        return self.n_points + self.n_classes

    @property
    def n_triplets(self) -> int:
        """The number of triplets without ties."""
        lengths = np.diff(self.starts)
        alike = np.bincount(self.tie) if len(self.tie) else np.zeros(0, np.int64)
        return int((lengths**2).sum() - (alike**2).sum()) // 2

    def triplets(self) -> Int[np.ndarray, "triplets 3"]:
        """Every triplet "anchor, near, far" as a list. For small numbers, or for other tools."""
        found = []
        for start, stop in zip(self.starts[:-1], self.starts[1:], strict=True):
            near, far = np.nonzero(self.tie[start:stop, None] < self.tie[None, start:stop])
            a, b = self.pair[start:stop][near], self.pair[start:stop][far]
            shared = (self.first[a] == self.first[b]) | (self.first[a] == self.second[b])
            anchor = np.where(shared, self.first[a], self.second[a])
            other = [self.first[each] + self.second[each] - anchor for each in (a, b)]
            found.append(np.stack([anchor, *other], axis=1))
        return np.concatenate(found) if found else np.zeros((0, 3), np.int64)


def check_labels(labels: np.ndarray) -> Float[np.ndarray, "points classes"]:
    """`labels`, or an error unless they are items x classes, two classes or more, without empty rows."""
    if labels.ndim != 2 or not len(labels):
        raise _bad("labels", f"an array of shape {labels.shape}", "items x classes")
    if labels.shape[1] < 2:
        raise _bad("labels", f"{labels.shape[1]} class", "two classes or more")
    _check_rows(labels, "labels")
    return labels


def _check_rows(values: Float[np.ndarray, "rows columns"], what: str) -> None:
    for row in np.flatnonzero(np.isinf(values).any(axis=1))[:1]:
        raise _bad(what, "an infinite number", "finite numbers, or NaN for missing ones", int(row))
    for row in np.flatnonzero(np.isnan(values).all(axis=1))[:1]:
        raise _bad(what, "a row without known entries", "at least one known entry per row", int(row))


def _bad(what: str, found: str, expected: str, row: int | None = None) -> BadTable:
    fix = f"correct the {what}, or remove that row" if row is not None else f"give other {what}"
    return BadTable(f"{found}", expected, fix, f"bad-{what}", ErrorLocation(row=row))


def _ranked(
    values: Float[np.ndarray, "lists members"], number: Int[np.ndarray, "lists members"]
) -> tuple[Int[np.ndarray, "lists"], Int[np.ndarray, "entries"], Bool[np.ndarray, "entries"]]:
    """The length of every list, its known pairs, nearest first, and whether each is farther than the one before."""
    order = np.argsort(-values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    begins = np.ones(values.shape, bool)
    begins[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    known = ~np.isnan(ranked)
    return known.sum(axis=1), np.take_along_axis(number, order, axis=1)[known], begins[known]


def _joined(
    *parts: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> tuple[Int[np.ndarray, "lists_and_1"], Int[np.ndarray, "entries"], Int[np.ndarray, "entries"]]:
    """Starts, pairs and ties of all lists in sequence."""
    lengths, pair, begins = (np.concatenate(each) for each in zip(*parts, strict=True))
    return np.append(0, np.cumsum(lengths)), pair, np.cumsum(begins) - 1


def possible_triplets(n_objects: int) -> int:
    """`3 C(N, 3) = N (N - 1) (N - 2) / 2`."""
    return at_least("n_objects", n_objects, 3) * (n_objects - 1) * (n_objects - 2) // 2


def information_ratio(n_triplets: float, n_objects: int) -> float:
    """`T / (3 C(N, 3))`, the share of all questions that is answered.

    For soft labels `nk / ((n + k)(n + k - 1))`: about `k/n` with many points per class, 1/4 with one, `n/k` with fewer.
    For hard labels `2n(k - 1) / (k (n + k - 1)(n + k - 2))`: about `1/n` and `n/k^2`.
    """
    return n_triplets / possible_triplets(n_objects)


NoiseModel = Callable[[float], float]
"""The share of a triplet's information that remains if it is wrong with a given probability."""


def channel_capacity(flip_rate: float) -> float:
    """`1 - H2(e)`, the capacity of a channel that flips bits with probability `e` (Shannon 1948).

    Nothing remains at 1/2; everything remains at 1, because answers that are always wrong can be inverted. Assumes that
    the rate is known and flips are independent.
    """
    return 1 - sum(-p * log2(p) for p in (share("flip_rate", flip_rate), 1 - flip_rate) if p > 0)


def true_triplets(flip_rate: float) -> float:
    """`1 - e`, the triplets that are correct (Sucholutsky et al. 2023).

    As published; it keeps half at 1/2, as if the correct half were known. Prefer `channel_capacity`.
    """
    return 1 - share("flip_rate", flip_rate)


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
