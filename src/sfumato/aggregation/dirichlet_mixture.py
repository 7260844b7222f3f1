"""Mixtures of Dirichlets: a prior over the distributions that votes are drawn from, its EM steps and its posteriors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float, Int
from scipy.special import betainc, digamma, gammaln


@dataclass(frozen=True, eq=False)
class DirichletMixture:
    """`sum_j weights_j Dirichlet(alpha_j)` over distributions on K classes."""

    weights: Float[np.ndarray, "components"]
    alpha: Float[np.ndarray, "components classes"]

    def log_evidence(self, counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items components"]:
        """The log-probability of each item's votes under each component, plus its log weight."""
        return VoteRows(counts).log_evidence(self)

    def given(self, counts: Float[np.ndarray, "items classes"]) -> Posteriors:
        """The posterior of each item's distribution given its votes."""
        log_evidence = self.log_evidence(counts)
        log_evidence -= log_sum(log_evidence)[:, None]
        return Posteriors(np.exp(log_evidence), self.alpha, counts)

    def without_small(self, least: float) -> DirichletMixture:
        """Without the components whose weight is below the share `least`."""
        kept = self.weights >= min(least * self.weights.sum(), self.weights.max())
        return DirichletMixture(self.weights[kept] / self.weights[kept].sum(), self.alpha[kept])


@dataclass(frozen=True, eq=False)
class Posteriors:
    """One mixture per item: component j has weight `weights[i, j]` and parameters `alpha[j] + counts[i]`."""

    weights: Float[np.ndarray, "items components"]
    alpha: Float[np.ndarray, "components classes"]
    counts: Float[np.ndarray, "items classes"]

    def mean(self) -> Float[np.ndarray, "items classes"]:
        """The expected distribution: the best estimate under log score and squared error."""
        share = self.weights / self._mass()
        return np.asarray(share @ self.alpha + share.sum(axis=1, keepdims=True) * self.counts)

    def quantiles(self, level: float) -> Float[np.ndarray, "items classes"]:
        """The quantile `level` of each probability, by bisection."""
        return self._marginals().quantiles(level, 30).reshape(self.counts.shape)

    def limits(self, level: float) -> CredibleLimits:
        """The interval of each probability that has `level` of the posterior, with equal shares below and above.

        Limits within `EDGE` of 0 or 1 are 0 or 1: few votes cannot show that anybody would choose a class.
        """
        all_of = self._marginals()
        low, high = np.zeros(self.counts.size), np.ones(self.counts.size)
        above = all_of.below(np.full(low.shape, EDGE)) < (1 - level) / 2
        low[above] = all_of.only(above).quantiles((1 - level) / 2, 20)
        under = all_of.below(np.full(high.shape, 1 - EDGE)) >= (1 + level) / 2
        high[under] = all_of.only(under).quantiles((1 + level) / 2, 20)
        return CredibleLimits(low.reshape(self.counts.shape), high.reshape(self.counts.shape))

    def _marginals(self) -> _Marginals:
        """The posterior of each probability. Of each item, components with the largest weights count, at most
        `MOST_IN_QUANTILES`."""
        n_kept = min(MOST_IN_QUANTILES, self.weights.shape[1])
        kept = np.argpartition(-self.weights, n_kept - 1, axis=1)[:, :n_kept]
        weights = np.take_along_axis(self.weights, kept, axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        mass = np.take_along_axis(self._mass(), kept, axis=1)
        a = self.alpha[kept].transpose(0, 2, 1) + self.counts[:, :, None]
        item = np.repeat(np.arange(len(self.counts)), self.counts.shape[1])
        return _Marginals(weights, mass, a.reshape(-1, n_kept), item)

    def expected_kl(self) -> Float[np.ndarray, "items"]:
        """The expected KL divergence of the true distribution from `mean`, in nats."""
        mean = self.mean()
        mass = self._mass()
        entropy = np.zeros(len(mean))
        for k in range(mean.shape[1]):
            a = self.alpha[:, k] + self.counts[:, k : k + 1]
            entropy -= (self.weights * a / mass * (digamma(a + 1) - digamma(mass + 1))).sum(axis=1)
        of_mean = -(mean * np.log(np.maximum(mean, 1e-300))).sum(axis=1)
        return np.asarray(np.maximum(of_mean - entropy, 0.0))

    def _mass(self) -> Float[np.ndarray, "items components"]:
        return np.asarray(self.alpha.sum(axis=1) + self.counts.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class CredibleLimits:
    """The lower and upper limits of intervals."""

    low: Float[np.ndarray, "items classes"]
    high: Float[np.ndarray, "items classes"]


EDGE = 0.001
MOST_IN_QUANTILES = 50


@dataclass(frozen=True, eq=False)
class _Marginals:
    """Mixtures of Beta distributions, one per item and class: parameters `a` and `mass - a`."""

    weights: Float[np.ndarray, "items kept"]
    mass: Float[np.ndarray, "items kept"]
    a: Float[np.ndarray, "probabilities kept"]
    item: Int[np.ndarray, "probabilities"]

    def only(self, chosen: Bool[np.ndarray, "probabilities"]) -> _Marginals:
        return _Marginals(self.weights, self.mass, self.a[chosen], self.item[chosen])

    def below(self, value: Float[np.ndarray, "probabilities"]) -> Float[np.ndarray, "probabilities"]:
        """The probability of being below `value`."""
        result = np.empty(len(value))
        for first in range(0, len(value), 2**13):
            part = slice(first, first + 2**13)
            mass, a = self.mass[self.item[part]], self.a[part]
            result[part] = (self.weights[self.item[part]] * betainc(a, mass - a, value[part, None])).sum(axis=1)
        return result

    def quantiles(self, level: float, steps: int) -> Float[np.ndarray, "probabilities"]:
        low, high = np.zeros(len(self.item)), np.ones(len(self.item))
        for _ in range(steps):
            middle = (low + high) / 2
            is_low = self.below(middle) < level
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        return np.asarray((low + high) / 2)


MOST_ALPHA = 1e4


def log_sum(logs: Float[np.ndarray, "items components"]) -> Float[np.ndarray, "items"]:
    """The logarithm of the sum of exponentials, per item; faster than SciPy's for small arrays."""
    largest = logs.max(axis=1)
    return np.asarray(largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1)))


class VoteRows:
    """Rows of votes, arranged so that gamma functions are computed once per distinct (class, count), not per row."""

    def __init__(self, counts: Float[np.ndarray, "rows classes"]) -> None:
        self.counts = counts
        row, k = np.nonzero(counts)
        pairs, place = np.unique(np.stack([k.astype(np.float64), counts[row, k]]), axis=1, return_inverse=True)
        self._k, self._count = pairs[0].astype(np.int64), pairs[1]
        # Pairs are in the order of their classes.
        self._named, self._first_pair = np.unique(self._k, return_index=True)
        n, place = len(counts), place.ravel()
        self._has = scipy.sparse.csr_array((np.ones(len(row)), (row, place)), shape=(n, len(self._k)))
        self._had_by = self._has.T.tocsr()
        self.totals, self.total_of = np.unique(counts.sum(axis=1), return_inverse=True)
        of_total = (np.ones(n), (self.total_of, np.arange(n)))
        self._with_total = scipy.sparse.csr_array(of_total, shape=(len(self.totals), n))

    def log_evidence(self, prior: DirichletMixture) -> Float[np.ndarray, "rows components"]:
        """The log-probability of each row under each component, plus its log weight."""
        alpha = prior.alpha.T
        mass = alpha.sum(axis=0)
        of_pair = gammaln(alpha[self._k] + self._count[:, None]) - gammaln(alpha)[self._k]
        of_total = gammaln(mass) - gammaln(mass + self.totals[:, None])
        with np.errstate(divide="ignore"):
            of_total += np.log(prior.weights)
        found = self._has @ of_pair
        found += of_total if len(of_total) == 1 else of_total[self.total_of]
        return np.asarray(found)

    def em_step(
        self, prior: DirichletMixture, times: Float[np.ndarray, "rows"], least_alpha: float
    ) -> tuple[DirichletMixture, float]:
        """One step of EM (Minka 2000 for each component), and the log-likelihood before it; each row counts for `times`
        items."""
        log_evidence = self.log_evidence(prior)
        log_total = log_sum(log_evidence)
        share = np.exp(log_evidence - log_total[:, None]) * times[:, None]
        alpha = prior.alpha.T
        mass = alpha.sum(axis=0)
        slope = (self._had_by @ share) * (digamma(alpha[self._k] + self._count[:, None]) - digamma(alpha)[self._k])
        above = np.zeros(alpha.shape)
        above[self._named] = np.add.reduceat(slope, self._first_pair, axis=0)
        of_total = self._with_total @ share
        below = (of_total * (digamma(mass + self.totals[:, None]) - digamma(mass))).sum(axis=0)
        new_alpha = prior.alpha * (above / np.maximum(below, 1e-300)).T
        in_all = of_total.sum(axis=0)
        kept = np.where(in_all[:, None] > 1e-6, new_alpha, prior.alpha)
        return DirichletMixture(in_all / times.sum(), np.clip(kept, least_alpha, MOST_ALPHA)), float(times @ log_total)


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a table of counts, how often each occurs, and the place of every original row among them."""

    rows: Float[np.ndarray, "rows classes"]
    times: Int[np.ndarray, "rows"]
    place: Int[np.ndarray, "items"]

    @classmethod
    def of(cls, counts: Float[np.ndarray, "items classes"]) -> DistinctRows:
        """In a fixed order; compared as bytes, which is much faster than `np.unique(axis=0)` for many classes."""
        counts = np.ascontiguousarray(counts) + 0.0
        if not len(counts):
            return cls(counts, np.zeros(0, np.int64), np.zeros(0, np.int64))
        keys = counts.view(np.dtype((np.void, counts.itemsize * counts.shape[1]))).ravel()
        _, first, place, times = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        return cls(counts[first], times, place.ravel())


def has_second_votes(counts: Float[np.ndarray, "items classes"]) -> bool:
    """Whether an item has more than one vote, without which agreement cannot be estimated."""
    return bool(counts.sum(axis=1).max() > 1 + 1e-9)


def agreement_of(prior: DirichletMixture) -> float:
    """The probability that two votes on an item agree."""
    mass = prior.alpha.sum(axis=1)
    same = ((prior.alpha / mass[:, None]) ** 2).sum(axis=1)
    return float(prior.weights @ ((1 + mass * same) / (1 + mass)))
