"""What is known of items when the next one is chosen: their answers, and what the prior makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.dirichlet_mixture import DirichletMixture, Posteriors


@dataclass(frozen=True, eq=False)
class ItemPosteriors:
    """The answers about some items and the prior that all items share; the rest is worked out when first asked for.

    Under a Dirichlet mixture everything about the next two answers has a closed form. With posterior weights `w_j`,
    parameters `a_j = alpha_j + counts` and their sums `A_j`, the next answers are classes k and then l with probability

        pair[k, l] = sum_j w_j a_jk (a_jl + [k = l]) / (A_j (A_j + 1)).

    What an answer teaches is what it says about the one after it, so that this matrix is all an index needs.
    """

    counts: Float[np.ndarray, "items classes"]
    prior: DirichletMixture

    @cached_property
    def n_answers(self) -> Float[np.ndarray, "items"]:
        """Answers so far; a belief counts as one, its classes as fractions."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def lead(self) -> Float[np.ndarray, "items"]:
        """Answers by which the most frequent class is ahead of the second."""
        most = np.sort(self.counts, axis=1)
        return np.asarray(most[:, -1] - most[:, -2])

    @cached_property
    def posteriors(self) -> Posteriors:
        """What is known of each item's distribution."""
        return self.prior.given(self.counts)

    @cached_property
    def mean(self) -> Float[np.ndarray, "items classes"]:
        """How probable each class is to be the next answer."""
        # Item by item, not as one product of matrices: an item alone then gets the very number it gets among others.
        a = self.posteriors.alpha + self.counts[:, None]
        mean = (a * (self.posteriors.weights / a.sum(axis=2))[:, :, None]).sum(axis=1)
        return np.asarray(mean / mean.sum(axis=1, keepdims=True))

    @cached_property
    def pair(self) -> Float[np.ndarray, "items classes classes"]:
        """How probable each class is to be the next answer and each to be the one after it."""
        a = self.posteriors.alpha + self.counts[:, None]
        mass = a.sum(axis=2)
        weighted = a * (self.posteriors.weights / (mass * (mass + 1)))[:, :, None]
        pair = np.matmul(weighted.transpose(0, 2, 1), a)
        diagonal = np.arange(a.shape[2])
        pair[:, diagonal, diagonal] += weighted.sum(axis=1)
        return np.asarray(pair / pair.sum(axis=(1, 2), keepdims=True))

    @cached_property
    def l2_risk(self) -> Float[np.ndarray, "items"]:
        """The squared distance still expected between the mean and the true distribution."""
        second = np.trace(self.pair, axis1=1, axis2=2)
        return np.asarray(np.maximum(second - (self.mean**2).sum(axis=1), 0.0))

    @cached_property
    def kl_risk(self) -> Float[np.ndarray, "items"]:
        """The KL divergence still expected of the true distribution from the mean, in nats."""
        return self.posteriors.expected_kl()
