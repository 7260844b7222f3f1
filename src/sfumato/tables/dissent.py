"""Pairwise dissent: the probability that two people give different answers about an item.

The mean over pairs of different people of `1 - q_a . q_b`, the probability that one draw from each of two beliefs
differs; for votes, the share of pairs that name different classes. It estimates `1 - sum_k p_k^2` (the Gini-Simpson
index) without bias from two people on, which no estimator of an entropy does.

    within  = mean over people of 1 - |q_a|^2         two draws from the same belief differ: people are unsure
    between = dissent - within = mean of |q_a - q_b|^2 / 2        people believe different things

Several answers of a person about an item count as one belief, their mean, so that nobody is compared with himself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class PersonBeliefs:
    """One belief per item and person. Votes have the chosen class in `hard`; other beliefs are in `soft`."""

    item: Int[np.ndarray, "rows"]
    person: Int[np.ndarray, "rows"]
    hard: Int[np.ndarray, "rows"] | None
    soft: Float[np.ndarray, "rows classes"] | None
    own: Float[np.ndarray, "rows"] | None
    """The probability that two draws from one answer of a person differ; None for votes, which do not say it."""
    n_items: int
    n_classes: int

    @classmethod
    def of(
        cls,
        item: Int[np.ndarray, "rows"],
        person: Int[np.ndarray, "rows"],
        hard: Int[np.ndarray, "rows"] | None,
        soft: Float[np.ndarray, "rows classes"] | None,
        n_items: int,
        n_classes: int,
    ) -> PersonBeliefs:
        """From one row per answer; several answers of a person about an item become their mean."""
        own = None if soft is None else 1 - np.einsum("ik,ik->i", soft, soft)
        n_people = int(person.max(initial=0)) + 1
        cell = item.astype(np.int64) * n_people + person
        ordered = np.sort(cell)
        if not (ordered[1:] == ordered[:-1]).any():
            return cls(item, person, hard, soft, own, n_items, n_classes)
        cells, row, times = np.unique(cell, return_inverse=True, return_counts=True)
        probs = np.eye(n_classes)[hard] if soft is None else soft
        mean = np.stack([np.bincount(row, weights=each) for each in probs.T], axis=1) / times[:, None]
        own = None if own is None else np.bincount(row, weights=own) / times
        return cls(cells // n_people, cells % n_people, None, mean, own, n_items, n_classes)

    @cached_property
    def n_people(self) -> Int[np.ndarray, "items"]:
        return np.bincount(self.item, minlength=self.n_items)

    @property
    def several(self) -> Bool[np.ndarray, "items"]:
        """The items with at least two people: only these can show dissent."""
        return np.asarray(self.n_people > 1)

    @cached_property
    def sums(self) -> Float[np.ndarray, "items classes"]:
        """The sum of the beliefs about each item; for votes, the votes per class."""
        if self.hard is not None:
            return vote_counts(self.item, self.hard, self.n_items, self.n_classes).astype(np.float64)
        assert self.soft is not None
        return np.stack([np.bincount(self.item, weights=each, minlength=self.n_items) for each in self.soft.T], axis=1)

    @cached_property
    def _squares(self) -> Float[np.ndarray, "rows"]:
        """|q|^2 of each row."""
        return np.ones(len(self.item)) if self.soft is None else np.einsum("ik,ik->i", self.soft, self.soft)

    @cached_property
    def _same(self) -> Float[np.ndarray, "items"]:
        """The sum of q_a . q_b over ordered pairs of different people."""
        whole = np.einsum("ik,ik->i", self.sums, self.sums)
        return np.asarray(whole - np.bincount(self.item, weights=self._squares, minlength=self.n_items))

    @cached_property
    def dissent(self) -> Float[np.ndarray, "items"]:
        """Per item; NaN with fewer than two people."""
        return _dissent(self._same, self.n_people)

    @cached_property
    def within(self) -> Float[np.ndarray, "items"]:
        """The part within people; NaN for votes."""
        if self.own is None:
            return np.full(self.n_items, np.nan)
        return _ratio(np.bincount(self.item, weights=self.own, minlength=self.n_items), self.n_people)

    def dissent_without(self) -> Float[np.ndarray, "rows"]:
        """The dissent about each row's item without that row; NaN if fewer than two people are left."""
        if self.hard is not None:
            with_others = self.sums[self.item, self.hard] - 1
        else:
            assert self.soft is not None
            with_others = np.einsum("ik,ik->i", self.sums[self.item], self.soft) - self._squares
        return _dissent(self._same[self.item] - 2 * with_others, self.n_people[self.item] - 1)

    def within_without(self) -> Float[np.ndarray, "rows"]:
        """The part within people about each row's item without that row."""
        assert self.own is not None
        whole = np.bincount(self.item, weights=self.own, minlength=self.n_items)
        return _ratio(whole[self.item] - self.own, self.n_people[self.item] - 1)


def vote_counts(
    item: Int[np.ndarray, "rows"], chosen: Int[np.ndarray, "rows"], n_items: int, n_classes: int
) -> Int[np.ndarray, "items classes"]:
    """The votes per item and class."""
    counts = np.bincount(item.astype(np.int64) * n_classes + chosen, minlength=n_items * n_classes)
    return np.asarray(counts.reshape(n_items, n_classes))


def dissent_of_counts(counts: Int[np.ndarray, "items classes"]) -> Float[np.ndarray, "items"]:
    """The share of pairs of votes that differ, per item; NaN with fewer than two votes."""
    votes = np.asarray(counts, np.float64)
    return _dissent(np.einsum("ik,ik->i", votes, votes - 1), votes.sum(axis=1))


def squared_dissent_of_counts(counts: Int[np.ndarray, "items classes"]) -> Float[np.ndarray, "items"]:
    """An unbiased estimate of the square of each item's dissent; NaN with fewer than four votes.

    The share of pairs of disjoint pairs of votes in which both pairs differ: the product of the dissents of two halves
    of the votes, averaged over all ways to split them. With falling powers `x^(r) = x (x - 1) ... (x - r + 1)`,
    `(sum p_k^2)^2` is estimated by `(sum n_k^(4) + sum_{k != l} n_k^(2) n_l^(2)) / n^(4)`.
    """
    x = np.asarray(counts, np.float64)
    n = x.sum(axis=1)
    pairs = x * (x - 1)
    same = pairs.sum(axis=1)
    both = same**2 - (pairs**2).sum(axis=1) + (pairs * (x - 2) * (x - 3)).sum(axis=1)
    quadruples = n * (n - 1) * (n - 2) * (n - 3)
    of_pairs = _ratio(same, n * (n - 1))
    return np.where(n > 3, 1 - 2 * of_pairs + _ratio(both, np.where(n > 3, quadruples, 0.0)), np.nan)


def _dissent(same: Float[np.ndarray, "rows"], n: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    # Rounding errors of equal beliefs are cut.
    return np.asarray(np.clip(1 - _ratio(same, np.where(n > 1, n * (n - 1.0), 0.0)), 0.0, 1.0))


def _ratio(above: Float[np.ndarray, "rows"], below: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    """`above / below`, NaN where nothing is below."""
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=np.asarray(below) > 0))
