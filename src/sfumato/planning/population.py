"""The items a plan is for, drawn: like those of a pilot, or from a prior that is assumed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.pilot import Pilot


@dataclass(frozen=True, eq=False)
class Population:
    """Distributions as items may have them, and the prior that a reader of answers about them holds.

    `item` says for which item of the pilot each was drawn; all items were drawn for equally often.
    """

    prior: DirichletMixture
    probs: Float[np.ndarray, "draws classes"]
    item: Int[np.ndarray, "draws"]

    @classmethod
    def of_pilot(cls, pilot: Pilot, prior: DirichletMixture, n_draws: int, rng: np.random.Generator) -> Population:
        """At least `n_draws` distributions, equally many for every item of a pilot: what it may be, given its answers.

        Together they lie nearer to the truth than draws from the prior do (it is one more step of EM, over all
        distributions): on CIFAR-10H the chance that two people differ comes out 3% too high instead of 6%.
        """
        n_times = -(-n_draws // pilot.n_items)
        counts, place = np.unique(pilot.counts, axis=0, return_inverse=True)
        item = np.repeat(np.arange(pilot.n_items), n_times)
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
        """The mean of `values` for every item."""
        return np.asarray(values.reshape(self.n_items, -1, values.shape[1]).mean(axis=1))


def _dirichlet_rows(alpha: Float[np.ndarray, "draws classes"], rng: np.random.Generator) -> np.ndarray:
    """A draw from the Dirichlet of every row.

    In logarithms, as `G(a) = G(a + 1) U^(1/a)`, because gamma numbers of small parameters are too small for floats.
    """
    logs = np.log(rng.standard_gamma(alpha + 1)) + np.log(1 - rng.random(alpha.shape)) / alpha
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
