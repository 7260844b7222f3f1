"""Simulated answers: people answer about items one after the other; posterior means after each answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import digamma

from sfumato.aggregation.dirichlet_mixture import DirichletMixture, DistinctRows

LEAST_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class SimulatedPosterior:
    """What is known of drawn items after `n_answers` answers about each.

    `mean` is the posterior mean, and `expected_kl` its expected divergence given the answers (closed form for a mixture
    of Dirichlets, from `simulate_answers` only); both are None without a prior.
    """

    n_answers: int
    probs: Float[np.ndarray, "draws classes"]
    counts: Float[np.ndarray, "draws classes"]
    mean: Float[np.ndarray, "draws classes"] | None = None
    expected_kl: Float[np.ndarray, "draws"] | None = None


def drawn_classes(probs: Float[np.ndarray, "rows classes"], rng: np.random.Generator) -> Int[np.ndarray, "rows"]:
    """A class for every row, drawn from its distribution."""
    edges = np.cumsum(probs, axis=1)
    edges[:, -1] = np.inf
    return np.asarray((rng.random(len(probs))[:, None] >= edges).sum(axis=1))


def simulate_answers(
    probs: Float[np.ndarray, "draws classes"],
    most: int,
    rng: np.random.Generator,
    prior: DirichletMixture | None = None,
) -> Iterator[SimulatedPosterior]:
    """The items after 1, 2, ... `most` answers, each answer drawn from the item's distribution.

    With a `prior`, also its posterior mean and expected divergence, updated from answer to answer: an answer multiplies
    a component's weight by `(alpha_k + x_k) / (A + M)` and changes one term of its entropy, so no gamma function is
    computed twice.
    """
    rows = np.arange(len(probs))
    edges = np.cumsum(probs, axis=1)
    edges[:, -1] = np.inf
    counts = np.zeros(probs.shape)
    posterior = _Posterior(prior, len(probs), most) if prior is not None else None
    for m in range(1, most + 1):
        chosen = (rng.random(len(probs))[:, None] >= edges).sum(axis=1)
        if posterior is not None:
            posterior.update(chosen, counts[rows, chosen].astype(np.int64), m)
        counts[rows, chosen] += 1
        if posterior is None:
            yield SimulatedPosterior(m, probs, counts)
        else:
            mean = posterior.mean(counts, m)
            yield SimulatedPosterior(m, probs, counts, mean, posterior.expected_kl(mean, m))


def answered(
    probs: Float[np.ndarray, "draws classes"],
    n_answers: int,
    rng: np.random.Generator,
    prior: DirichletMixture | None = None,
) -> SimulatedPosterior:
    """The items after `n_answers` answers each; with a `prior`, also its posterior means."""
    counts = rng.multinomial(n_answers, probs / probs.sum(axis=1, keepdims=True)).astype(np.float64)
    return SimulatedPosterior(n_answers, probs, counts, None if prior is None else _means(counts, prior))


def _means(counts: Float[np.ndarray, "draws classes"], prior: DirichletMixture) -> Float[np.ndarray, "draws classes"]:
    """The posterior mean of each item, computed once per distinct row of counts."""
    distinct = DistinctRows.of(counts)
    return np.asarray(prior.given(distinct.rows).mean()[distinct.place])


class _Posterior:
    """The posterior mixture of each item, updated with every answer."""

    def __init__(self, prior: DirichletMixture, n_draws: int, most: int) -> None:
        kept = prior.weights > LEAST_WEIGHT
        self.alpha, self.mass = prior.alpha[kept], prior.alpha[kept].sum(axis=1)
        self.weights = np.tile(prior.weights[kept] / prior.weights[kept].sum(), (n_draws, 1))
        # class x count x component: one term of E sum_k p_k log p_k is `of_count / (A + M)`.
        a = self.alpha.T[:, None, :] + np.arange(most + 1)[:, None]
        self.of_count = a * digamma(a + 1)
        self.terms = np.tile(self.of_count[:, 0].sum(axis=0), (n_draws, 1))

    def update(self, chosen: Int[np.ndarray, "draws"], before: Int[np.ndarray, "draws"], m: int) -> None:
        """Add the `m`-th answer: the class chosen, and how often it was chosen before."""
        self.weights *= self.alpha.T[chosen] + before[:, None]
        self.weights /= self.mass + (m - 1)
        self.weights /= self.weights.sum(axis=1, keepdims=True)
        self.terms += self.of_count[chosen, before + 1] - self.of_count[chosen, before]

    def mean(self, counts: Float[np.ndarray, "draws classes"], m: int) -> Float[np.ndarray, "draws classes"]:
        share = self.weights / (self.mass + m)
        return np.asarray(share @ self.alpha + share.sum(axis=1, keepdims=True) * counts)

    def expected_kl(self, mean: Float[np.ndarray, "draws classes"], m: int) -> Float[np.ndarray, "draws"]:
        mass = self.mass + m
        entropy = -(self.weights * (self.terms / mass - digamma(mass + 1))).sum(axis=1)
        of_mean = -(mean * np.log(np.maximum(mean, 1e-300))).sum(axis=1)
        return np.asarray(np.maximum(of_mean - entropy, 0.0))
