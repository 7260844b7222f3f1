"""Priors over items: a mixture of Dirichlets fitted quickly to counts of answers, and populations of items drawn from
such a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int, Num

from sfumato.aggregation.bagged_prior import fit_bagged_prior
from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.tables.errors import BadTable, wrong_shape

if TYPE_CHECKING:
    from sfumato.planning.pilot_answers import Pilot


QUICK_BAGS = 2
"""Fewer bags than for `bayes`, so that the prior can be fitted again as answers arrive."""
MOST_FITTED = 5_000
"""The prior is fitted to at most this many items, evenly spread over those with answers."""
FINENESS = 20
"""Fractions of votes are rounded to this part of a vote for the fit, so that fewer distinct rows remain."""


def fit_prior(counts: Num[np.ndarray, "items classes"]) -> DirichletMixture:
    """The prior of `bayes` from fewer bags of items, deterministic.

    If no item has two answers, agreement is assumed.
    """
    answered = counts[counts.sum(axis=1) > 0]
    kept = np.linspace(0, len(answered) - 1, min(MOST_FITTED, len(answered))).astype(np.int64)
    return fit_bagged_prior(np.round(answered[kept] * FINENESS) / FINENESS, QUICK_BAGS).pooled


def check_counts(counts: np.ndarray) -> Float[np.ndarray, "items classes"]:
    """The counts as numbers of votes, or an error."""
    found = np.asarray(counts, np.float64)
    if found.ndim != 2 or not len(found):
        raise wrong_shape(f"counts of shape {found.shape}", "items x classes, with at least one item")
    if found.shape[1] < 2:
        raise BadTable(
            f"{found.shape[1]} class",
            "at least two classes",
            "name every class that could be chosen, also those without answers",
            "one-class",
        )
    if not (np.isfinite(found) & (found >= 0)).all():
        raise BadTable(
            "counts below 0 or not finite",
            "how often each class was chosen, 0 or more",
            "count the answers again",
            "bad-count",
        )
    return found


@dataclass(frozen=True, eq=False)
class Population:
    """Possible distributions of items, and the prior with which answers about them are read.

    `item` is the item of the pilot for which each was drawn; all items have equally many draws.
    """

    prior: DirichletMixture
    probs: Float[np.ndarray, "draws classes"]
    item: Int[np.ndarray, "draws"]

    @classmethod
    def of(cls, source: Pilot | DirichletMixture, n_draws: int, rng: np.random.Generator) -> Population:
        """At least `n_draws` items like those of a pilot, or from an assumed prior."""
        if isinstance(source, DirichletMixture):
            return cls.of_prior(source, n_draws, rng)
        return cls.of_counts(source.subsample(n_draws).counts, source.prior, n_draws, rng)

    @classmethod
    def of_counts(
        cls,
        counts: Float[np.ndarray, "items classes"],
        prior: DirichletMixture,
        n_draws: int,
        rng: np.random.Generator,
    ) -> Population:
        """At least `n_draws` distributions, equally many per item of a pilot with these counts, from its posterior.

        Together they are closer to the truth than draws from the prior (one more step of EM over all distributions): on
        CIFAR-10H the probability that two people differ is 3% too high instead of 6%.
        """
        n_times = -(-n_draws // len(counts))
        item = np.repeat(np.arange(len(counts)), n_times)
        counts, place = np.unique(counts, axis=0, return_inverse=True)
        row = place.ravel()[item]
        edges = np.cumsum(prior.given(counts).weights, axis=1)
        edges[:, -1] = np.inf
        component = np.empty(len(row), np.int64)
        for first in range(0, len(row), 2**14):
            part = slice(first, first + 2**14)
            component[part] = (rng.random(len(row[part]))[:, None] >= edges[row[part]]).sum(axis=1)
        return cls(prior, _dirichlet_rows(prior.alpha[component] + counts[row], rng), item)

    @classmethod
    def of_prior(cls, prior: DirichletMixture, n_draws: int, rng: np.random.Generator) -> Population:
        """`n_draws` distributions, spread evenly over the components by their weights."""
        edges = np.cumsum(prior.weights) / prior.weights.sum()
        component = np.searchsorted(edges, (np.arange(n_draws) + rng.random()) / n_draws)
        alpha = prior.alpha[np.minimum(component, len(edges) - 1)]
        return cls(prior, _dirichlet_rows(alpha, rng), np.arange(n_draws))

    @property
    def n_items(self) -> int:
        return int(self.item[-1]) + 1

    def by_item(self, values: Float[np.ndarray, "draws answers"]) -> Float[np.ndarray, "items answers"]:
        """The mean of `values` per item."""
        return np.asarray(values.reshape(self.n_items, -1, values.shape[1]).mean(axis=1))


def _dirichlet_rows(alpha: Float[np.ndarray, "draws classes"], rng: np.random.Generator) -> np.ndarray:
    """A draw from the Dirichlet of every row.

    In logarithms, as `G(a) = G(a + 1) U^(1/a)`, because gamma variates of small parameters underflow.
    """
    logs = np.log(rng.standard_gamma(alpha + 1)) + np.log(1 - rng.random(alpha.shape)) / alpha
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
