"""The prior of `bayes`: candidate priors fitted to bags of items, weighted by how well they predict other items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.aggregation.candidate_priors import (
    fit_weights,
    free_mixture,
    log_predictive,
    structured_prior,
    symmetric_prior,
)
from sfumato.aggregation.dirichlet_mixture import DirichletMixture, DistinctRows, VoteRows, has_second_votes
from sfumato.aggregation.pass_engine import Progress, quiet

ASSUMED_AGREEMENT = 0.77
"""The probability that two votes on an item agree, if no item has two: the one with the least worst loss."""
SEED = 20_211
ITEMS_PER_COMPONENT = 20
FEWEST_COMPONENTS = 3
LEAST_WEIGHT = 1e-4
"""Components with a smaller weight are left out."""
PSEUDO_ITEMS = 1.0
"""Items assumed to be predicted best by each candidate beforehand."""


@dataclass(frozen=True, eq=False)
class BaggedPrior:
    """A prior over items' distributions and how uncertain it is.

    `pooled` is the prior to use for labels and intervals. `bags` are the priors of single bags of items (bootstrap
    samples): what follows from each of them shows how much it depends on the items at hand. `shares` are the weights of
    the candidates: symmetric, structured, free. `is_assumed` says that no item had two votes, so that agreement was
    assumed.
    """

    pooled: DirichletMixture
    bags: tuple[DirichletMixture, ...]
    shares: Float[np.ndarray, "candidates"]
    is_assumed: bool = False


def fit_bagged_prior(
    counts: Float[np.ndarray, "items classes"],
    n_bags: int = 5,
    rng: np.random.Generator | None = None,
    *,
    n_components: int = 60,
    progress: Progress = quiet,
) -> BaggedPrior:
    """The prior of items with these votes; fractions of votes count as such, items without votes do not.

    In each of `n_bags` bootstrap samples of the items three candidates are fitted. Their shares are those that best
    predict the items outside the samples (stacking, Wolpert 1992), and all samples are pooled (bagging, Breiman 1996):
    so the prior includes what the items leave open. `n_components` limits the free mixture. Without `rng` the samples
    are the same on every call, and do not depend on the order of items or classes.
    """
    rng = np.random.default_rng(SEED) if rng is None else rng
    order = _class_order(counts)
    distinct = DistinctRows.of(counts[counts.sum(axis=1) > 0][:, order])
    rows = distinct.rows
    if not len(rows) or not has_second_votes(rows):
        alone = assumed_prior(counts)
        return BaggedPrior(alone, (alone,) * n_bags, np.array([0.0, 1.0, 0.0]), is_assumed=True)
    votes, item = VoteRows(rows), np.repeat(np.arange(len(rows)), distinct.times)
    most = int(np.clip(len(item) // ITEMS_PER_COMPONENT, FEWEST_COMPONENTS, max(n_components, 2)))
    candidates, evidence, unseen = [], [], []
    for bag in range(n_bags):
        drawn = rng.integers(0, len(item), len(item))
        times = np.bincount(item[drawn], minlength=len(rows)).astype(np.float64)
        structured = structured_prior(votes, times)
        fitted = (
            symmetric_prior(votes, times),
            structured,
            free_mixture(votes, times, structured, most, rng),
        )
        candidates.append(fitted)
        evidence.append(np.stack([log_predictive(each, votes) for each in fitted], axis=1))
        is_out = np.ones(len(item), dtype=bool)
        is_out[drawn] = False
        unseen.append(np.bincount(item[is_out], minlength=len(rows)) / n_bags)
        progress(bag + 1, n_bags, float(times @ evidence[-1].max(axis=1)))
    shares = fit_weights(np.concatenate(evidence), np.concatenate(unseen), np.full(3, PSEUDO_ITEMS))
    bags = tuple(_mixed(fitted, shares).without_small(LEAST_WEIGHT) for fitted in candidates)
    # The symmetric and structured candidates have the same components in all bags: one component each.
    pooled = [_mean_of(same) for same in zip(*(fitted[:2] for fitted in candidates), strict=True)]
    pooled.append(_mixed([fitted[2] for fitted in candidates], np.full(n_bags, 1 / n_bags)))
    in_order = [_in_order(each, order) for each in (_mixed(pooled, shares).without_small(LEAST_WEIGHT), *bags)]
    return BaggedPrior(in_order[0], tuple(in_order[1:]), shares)


def _class_order(counts: Float[np.ndarray, "items classes"]) -> Int[np.ndarray, "classes"]:
    """An order of the classes by their votes alone, so that the fit does not depend on how they are listed."""
    return np.lexsort([np.round((counts**power).sum(axis=0), 6) for power in (3, 2, 1)])


def _in_order(prior: DirichletMixture, order: Int[np.ndarray, "classes"]) -> DirichletMixture:
    alpha = np.empty_like(prior.alpha)
    alpha[:, order] = prior.alpha
    return DirichletMixture(prior.weights, alpha)


def _mixed(priors: Sequence[DirichletMixture], shares: Float[np.ndarray, "priors"]) -> DirichletMixture:
    return DirichletMixture(
        np.concatenate([share * each.weights for each, share in zip(priors, shares, strict=True)]),
        np.concatenate([each.alpha for each in priors]),
    )


def _mean_of(priors: Sequence[DirichletMixture]) -> DirichletMixture:
    """The mean weights and parameters of priors with corresponding components."""
    weights = np.stack([each.weights for each in priors])
    alpha = np.stack([each.alpha for each in priors])
    shares = np.maximum(weights, 1e-300) / np.maximum(weights, 1e-300).sum(axis=0)
    return DirichletMixture(weights.mean(axis=0), (shares[:, :, None] * alpha).sum(axis=0))


def assumed_prior(counts: Float[np.ndarray, "items classes"]) -> DirichletMixture:
    """A Dirichlet around the shares of votes under which two votes on an item agree with probability
    `ASSUMED_AGREEMENT`, or more if votes on different items agree about as often."""
    shares = counts.sum(axis=0) + 0.5
    shares /= shares.sum()
    by_chance = float(shares @ shares)
    mass = (1 - ASSUMED_AGREEMENT) / (ASSUMED_AGREEMENT - by_chance) if by_chance < ASSUMED_AGREEMENT - 0.1 else 2.0
    return DirichletMixture(np.ones(1), mass * shares[None])
