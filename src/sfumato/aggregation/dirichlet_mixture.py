"""Mixtures of Dirichlets: a prior over the distributions that votes are drawn from, its fit and its posteriors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from jaxtyping import Float
from scipy.special import betainc, digamma, gammaln

from sfumato.aggregation.pass_engine import Progress, quiet


@dataclass(frozen=True, eq=False)
class DirichletMixture:
    """`sum_j weights_j Dirichlet(alpha_j)` over distributions on K classes."""

    weights: Float[np.ndarray, "components"]
    alpha: Float[np.ndarray, "components classes"]

    def log_evidence(self, counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items components"]:
        """The log-probability of each item's votes under each component, plus its log weight."""
        return _Votes(counts).log_evidence(self)

    def given(self, counts: Float[np.ndarray, "items classes"]) -> Posteriors:
        """The posterior of each item's distribution given its votes."""
        log_evidence = self.log_evidence(counts)
        log_evidence -= _log_sum(log_evidence)[:, None]
        return Posteriors(np.exp(log_evidence), self.alpha, counts)


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
        """The quantile `level` of each probability: exact, by bisection."""
        mass = self._mass()
        result = np.empty(self.counts.shape)
        for k in range(self.counts.shape[1]):
            a = self.alpha[:, k] + self.counts[:, k : k + 1]
            low, high = np.zeros(len(a)), np.ones(len(a))
            for _ in range(30):
                middle = (low + high) / 2
                below = (self.weights * betainc(a, mass - a, middle[:, None])).sum(axis=1)
                low, high = np.where(below < level, middle, low), np.where(below < level, high, middle)
            result[:, k] = (low + high) / 2
        return result

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


def _log_sum(logs: Float[np.ndarray, "items components"]) -> Float[np.ndarray, "items"]:
    """The logarithm of the sum of exponentials, per item; faster than SciPy's for small arrays."""
    largest = logs.max(axis=1)
    return np.asarray(largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1)))


class _Votes:
    """Votes arranged so that gamma functions are computed once per distinct (class, count), not per item."""

    def __init__(self, counts: Float[np.ndarray, "items classes"]) -> None:
        row, k = np.nonzero(counts)
        pairs, place = np.unique(np.stack([k.astype(np.float64), counts[row, k]]), axis=1, return_inverse=True)
        self.k, self.count = pairs[0].astype(np.int64), pairs[1]
        shape = (len(counts), len(self.k))
        self.has = scipy.sparse.csr_array((np.ones(len(row)), (row, place.ravel())), shape=shape)
        self.had_by = self.has.T.tocsr()
        self.totals, self.total_of = np.unique(counts.sum(axis=1), return_inverse=True)

    def log_evidence(self, prior: DirichletMixture) -> Float[np.ndarray, "items components"]:
        alpha, mass = prior.alpha[:, self.k].T, prior.alpha.sum(axis=1)
        of_pair = gammaln(alpha + self.count[:, None]) - gammaln(alpha)
        of_total = gammaln(mass) - gammaln(mass + self.totals[:, None])
        with np.errstate(divide="ignore"):
            return np.asarray(self.has @ of_pair + of_total[self.total_of] + np.log(prior.weights))

    def em_step(self, prior: DirichletMixture, times: Float[np.ndarray, "items"]) -> tuple[DirichletMixture, float]:
        """One step of EM, and the log-likelihood before it; each row counts for `times` items."""
        log_evidence = self.log_evidence(prior)
        log_total = _log_sum(log_evidence)
        share = np.exp(log_evidence - log_total[:, None]) * times[:, None]
        alpha, mass = prior.alpha[:, self.k].T, prior.alpha.sum(axis=1)
        slope = (self.had_by @ share) * (digamma(alpha + self.count[:, None]) - digamma(alpha))
        above = np.zeros((prior.alpha.shape[1], len(mass)))
        np.add.at(above, self.k, slope)
        of_total = np.zeros((len(self.totals), len(mass)))
        np.add.at(of_total, self.total_of, share)
        below = (of_total * (digamma(mass + self.totals[:, None]) - digamma(mass))).sum(axis=0)
        new_alpha = prior.alpha * (above / np.maximum(below, 1e-300)).T
        kept = np.where(share.sum(axis=0)[:, None] > 1e-6, new_alpha, prior.alpha)
        weights = share.sum(axis=0) / times.sum()
        return DirichletMixture(weights, np.clip(kept, LEAST_ALPHA, MOST_ALPHA)), float(times @ log_total)


LEAST_ALPHA, MOST_ALPHA = 1e-4, 1e5
AGREEMENT = 0.8


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """A prior, the log-likelihood after each iteration, and whether it converged."""

    prior: DirichletMixture
    objective: tuple[float, ...]
    converged: bool


def fit_mixture(
    counts: Float[np.ndarray, "items classes"],
    start: DirichletMixture,
    *,
    iterations: int,
    tolerance: float,
    progress: Progress = quiet,
) -> FittedMixture:
    """The maximum-likelihood prior, by EM from `start` (Minka 2000 for each component).

    If no item has more than one vote, disagreement within items is unknown; two votes are then assumed to agree with
    probability `AGREEMENT`.
    """
    rows, times = np.unique(counts, axis=0, return_counts=True)
    votes = _Votes(rows)
    if not has_second_votes(rows):
        alone = one_component(counts)
        return FittedMixture(alone, (float(times @ _log_sum(votes.log_evidence(alone))),), True)
    prior, objective = start, list[float]()
    converged = False
    for iteration in range(1, iterations + 1):
        prior, log_likelihood = votes.em_step(prior, times.astype(np.float64))
        objective.append(log_likelihood)
        progress(iteration, iterations, log_likelihood)
        if tolerance > 0 and len(objective) > 1 and objective[-1] - objective[-2] < tolerance * counts.sum():
            converged = True
            break
    return FittedMixture(prior, tuple(objective), converged)


def has_second_votes(counts: Float[np.ndarray, "items classes"]) -> bool:
    """Whether an item has more than one vote, without which agreement cannot be estimated."""
    return bool(counts.sum(axis=1).max() > 1 + 1e-9)


def agreement_of(prior: DirichletMixture) -> float:
    """The probability that two votes on an item agree."""
    mass = prior.alpha.sum(axis=1)
    same = ((prior.alpha / mass[:, None]) ** 2).sum(axis=1)
    return float(prior.weights @ ((1 + mass * same) / (1 + mass)))


def one_component(counts: Float[np.ndarray, "items classes"]) -> DirichletMixture:
    """A Dirichlet around the shares of votes under which two votes on an item agree with probability `AGREEMENT`, or
    more if votes on different items agree about as often."""
    shares = counts.sum(axis=0) + 0.5
    shares /= shares.sum()
    by_chance = float(shares @ shares)
    mass = (1 - AGREEMENT) / (AGREEMENT - by_chance) if by_chance < AGREEMENT - 0.1 else 2.0
    return DirichletMixture(np.ones(1), mass * shares[None])


def first_guess(counts: Float[np.ndarray, "items classes"], n_components: int) -> DirichletMixture:
    """A mixture to start from: one component per group of items, and one for all items.

    Items are grouped by their most frequent class and, within it, by its share.
    """
    overall = counts.sum(axis=0) + 0.5
    overall /= overall.sum()
    smoothed = (counts + overall) / (counts.sum(axis=1, keepdims=True) + 1)
    leading = smoothed.argmax(axis=1)
    classes = np.argsort(-np.bincount(leading, minlength=len(overall)), kind="stable")[: n_components - 1]
    n_groups = max((n_components - 1) // max(len(classes), 1), 1)
    alpha, sizes = [overall * 2], [1.0]
    for k in classes:
        members = smoothed[leading == k]
        if not len(members):
            continue
        edges = np.quantile(members[:, k], np.linspace(0, 1, n_groups + 1)[1:-1])
        group = np.searchsorted(edges, members[:, k])
        for g in np.unique(group):
            alpha.append(members[group == g].mean(axis=0) * 10)
            sizes.append(float((group == g).sum()))
    return DirichletMixture(np.array(sizes) / sum(sizes), np.array(alpha))
