"""The distribution of the probability of the class that a person chooses, estimated from votes about many items.

A person chooses class k of an item with probability p_k. Over random votes, `x = p_k` of the chosen class has a
distribution nu, and sums over classes, averaged over items, are integrals over it:

    mean of sum_k g(p_k) = integral of g(x) / x d nu(x)         mean entropy = integral of -ln x d nu(x)

Given x, the number of the other M - 1 votes for the same class is binomial. So nu is estimated by maximum likelihood
from how often `v` of `n` votes agree, as a mixture of Beta distributions on a grid (EM). M votes identify only M - 1
moments of nu; the Beta distributions add that it is smooth. All items are used together, which is what few votes per
item allow: on CIFAR-10H, Fashion-MNIST-H and ChaosNLI the mean entropy from 3 or 5 votes has less bias than with
estimators for each item by itself (`docs/coverage.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betainc, betaln, digamma

FIRST = np.array([1.0, 1.3, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
SECOND = np.geomspace(0.02, 20.0, 12)
"""The parameters of the Beta distributions. The first is at least 1: nu weighs every class by its probability."""
ITERATIONS = 100
NODES = 120
MOST_VOTES = 1000
MOST_PAIRS = 2000
"""Of more different pairs of (votes, votes for a class) every second, third ... is used."""


@dataclass(frozen=True, eq=False)
class VoteAgreement:
    """How often, over items and classes, `n_votes` of `n` people chose a class, for `n_votes` of at least 1."""

    n: Int[np.ndarray, "pairs"]
    n_votes: Int[np.ndarray, "pairs"]
    times: Int[np.ndarray, "pairs"]

    @classmethod
    def of(cls, counts: Int[np.ndarray, "items classes"]) -> VoteAgreement:
        counts = _limited(counts)
        n = counts.sum(axis=1, dtype=np.int64)
        return cls.of_histogram(_histogram(counts, n, _limit(n)), _limit(n))

    @classmethod
    def of_histogram(cls, times: Int[np.ndarray, "cells"], limit: int) -> VoteAgreement:
        """From how often each `n * limit + n_votes` occurs."""
        found = np.flatnonzero(times)
        return cls(found // limit, found % limit, times[found])

    @property
    def is_identifying(self) -> bool:
        """Whether some item has two votes."""
        return bool((self.n > 1).any())


@dataclass(frozen=True, eq=False)
class ChosenProbability:
    """The estimate of nu: the weight of each Beta distribution."""

    weights: Float[np.ndarray, "components"]

    @classmethod
    def fit(cls, votes: VoteAgreement) -> ChosenProbability:
        """By maximum likelihood. Every item has the same weight."""
        step = 1 + len(votes.n) // MOST_PAIRS
        chosen = [each[::step] for each in (votes.n, votes.n_votes, votes.times)]
        return cls(_fitted(*(tuple(each.tolist()) for each in chosen)))

    @property
    def mean_entropy(self) -> float:
        """The mean over items of `-sum_k p_k ln p_k`, in nats."""
        a, b = _components()
        return float(self.weights @ (digamma(a + b) - digamma(a)))

    def entropies(self, n: Int[np.ndarray, "rows"], n_votes: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
        """The expected `-ln x` of a class that `n_votes` of `n` people chose, 0 if nobody did."""
        a, b = _components()
        some = n_votes > 0
        pairs, row = np.unique(np.stack([n[some], n_votes[some]]), axis=1, return_inverse=True)
        v, rest = pairs[1][:, None], (pairs[0] - pairs[1])[:, None]
        posterior = _likelihood(pairs[0], pairs[1]) * self.weights
        posterior /= posterior.sum(axis=1, keepdims=True)
        expected = (posterior * (digamma(a + b + v - 1 + rest) - digamma(a + v - 1))).sum(axis=1)
        found = np.zeros(len(n))
        found[some] = expected[np.ravel(row)]
        return found

    def of_items(self, counts: Int[np.ndarray, "items classes"]) -> Float[np.ndarray, "items"]:
        """The expected `-ln x` of a vote about each item. Their mean is `mean_entropy`, to which they are shrunk."""
        counts = _limited(counts)
        n = counts.sum(axis=1, dtype=np.int64)
        limit = _limit(n)
        pairs = VoteAgreement.of(counts)
        expected = np.zeros(limit * limit)
        expected[pairs.n * limit + pairs.n_votes] = self.entropies(pairs.n, pairs.n_votes)
        return sum(expected[n * limit + votes] * votes for votes in counts.T) / n  # type: ignore[no-any-return]

    def nodes(self) -> tuple[Float[np.ndarray, "nodes"], Float[np.ndarray, "nodes"]]:
        """Probabilities below 1, and the mass of nu near each: points of quadrature."""
        a, b = _components()
        edges = 1 / (1 + np.exp(-np.linspace(-14.0, 18.0, NODES + 1)))
        mass = np.diff(betainc(a, b, edges[:, None]) @ self.weights)
        return np.sqrt(edges[1:] * edges[:-1]), mass


GROUPS = 20


def entropy_error(counts: Int[np.ndarray, "items classes"]) -> float:
    """The standard error of `mean_entropy`, by the jackknife without each of twenty groups of items."""
    counts = _limited(counts)
    n = counts.sum(axis=1, dtype=np.int64)
    limit = _limit(n)
    of_groups = [_histogram(counts[k::GROUPS], n[k::GROUPS], limit) for k in range(min(GROUPS, len(counts)))]
    whole = sum(of_groups, np.zeros(limit * limit, np.int64))
    rest = [VoteAgreement.of_histogram(whole - each, limit) for each in of_groups]
    found = [ChosenProbability.fit(each).mean_entropy for each in rest if len(each.n)]
    return float(np.sqrt(max(len(found) - 1, 0) * np.var(found))) if found else np.nan


def _limited(counts: Int[np.ndarray, "items classes"]) -> Int[np.ndarray, "items classes"]:
    """The counts, in proportion for items with more than `MOST_VOTES`, whose shares are precise in any case."""
    n = counts.sum(axis=1, keepdims=True, dtype=np.int64)
    if not len(n) or n.max() <= MOST_VOTES:
        return counts
    return np.where(n > MOST_VOTES, np.rint(counts * (MOST_VOTES / np.maximum(n, 1))).astype(np.int64), counts)


def _limit(n: Int[np.ndarray, "items"]) -> int:
    """One more than the most votes about an item."""
    return int(n.max(initial=0)) + 1


def _histogram(
    counts: Int[np.ndarray, "items classes"], n: Int[np.ndarray, "items"], limit: int
) -> Int[np.ndarray, "cells"]:
    """How often, over items and classes with votes, each `n * limit + votes` occurs."""
    found = np.zeros(limit * limit, np.int64)
    for votes in counts.T:
        found += np.bincount((n * limit + votes)[votes > 0], minlength=limit * limit)
    return found


def _components() -> tuple[Float[np.ndarray, "components"], Float[np.ndarray, "components"]]:
    a, b = np.meshgrid(FIRST, SECOND, indexing="ij")
    return a.ravel(), b.ravel()


def _likelihood(n: Int[np.ndarray, "pairs"], v: Int[np.ndarray, "pairs"]) -> Float[np.ndarray, "pairs components"]:
    """The probability that v - 1 of n - 1 votes name the same class, up to a factor of each pair."""
    a, b = _components()
    logs = betaln(v[:, None] - 1 + a, (n - v)[:, None] + b) - betaln(a, b)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


@lru_cache(maxsize=256)
def _fitted(n: tuple[int, ...], v: tuple[int, ...], times: tuple[int, ...]) -> Float[np.ndarray, "components"]:
    """Kept, because runs are scored against the same votes."""
    of, votes, often = (np.array(each, np.int64) for each in (n, v, times))
    likelihood = _likelihood(of, votes)
    share = often * votes / of
    share /= share.sum()
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(ITERATIONS):
        weights = weights * ((share / (likelihood @ weights)) @ likelihood)
    weights.setflags(write=False)
    return np.asarray(weights)
