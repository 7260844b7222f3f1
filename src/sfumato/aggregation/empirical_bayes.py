"""Empirical Bayes: each item's votes combined with a prior fitted on all items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, Fitted, PreviousAggregation, distances, refuse_gold
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.dirichlet_mixture import (
    agreement_of,
    first_guess,
    fit_mixture,
    has_second_votes,
    one_component,
)
from sfumato.aggregation.em import check_iterations, warn_unless_converged
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import warn
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import at_least

MOST_FITTED = 20_000
"""The prior is fitted on an even sample of at most this many items; more do not change it."""
MOST_FITTED_SOFT = 5_000
BLOCK = 20_000


@dataclass(frozen=True)
class Bayes:
    """Posterior mean under a prior fitted on all items; the best choice for votes.

    The votes of an item are drawn from its distribution; the distributions of all items come from a mixture of
    `components` Dirichlets, fitted on the same votes (empirical Bayes). The label is the posterior mean: with few votes
    it is close to typical items, with many votes close to the shares of votes. A belief counts as fractional votes.
    Intervals are exact under the model, and the expected error shows where more votes would help.

    For hard votes on CIFAR-10H it needs less than half as many as smoothing by a constant (docs/aggregate.md). All
    annotators have the same weight: prefer `mixture-pool` if some may have answered carelessly.
    """

    components: int = 60
    iterations: int = 1000
    tolerance: float = 1e-6

    name: ClassVar[str] = "bayes"
    estimand: ClassVar[Estimand] = Estimand.JUDGMENT

    def __post_init__(self) -> None:
        at_least("components", self.components, 1)
        check_iterations(self.iterations, self.tolerance)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_gold(answers, self.name)
        sample = np.zeros(answers.n_items, dtype=bool)
        n_fitted = min(MOST_FITTED if answers.soft is None else MOST_FITTED_SOFT, answers.n_items)
        sample[np.linspace(0, answers.n_items - 1, n_fitted).astype(np.int64)] = True
        counts = _coarse(answers.only(sample).vote_counts())
        start = first_guess(counts, self.components)
        # A prior fitted on few items, or on one vote each, has fewer components, and EM adds none.
        if previous is not None and len(previous.model.weights) >= len(start.weights):
            start = previous.model
        _warn_of_single_votes(counts)
        found = fit_mixture(
            counts, start, iterations=self.iterations, tolerance=self.tolerance, progress=answers.progress
        )
        warn_unless_converged(self, found.converged)
        probs = np.empty((answers.n_items, answers.n_classes))
        for first in range(0, answers.n_items, BLOCK):
            last = min(first + BLOCK, answers.n_items)
            probs[first:last] = found.prior.given(answers.part(first, last).vote_counts()).mean()
        probs /= probs.sum(axis=1, keepdims=True)
        fitted = Fitted(probs, found.prior, found.objective, found.converged)
        return Aggregation.of(self, answers, fitted, distance=distances(answers, probs))


def _warn_of_single_votes(counts: Float[np.ndarray, "items classes"]) -> None:
    """Warn if no item has a second vote: the prior is then assumed, not fitted."""
    if has_second_votes(counts):
        return
    assumed = agreement_of(one_component(counts))
    warn(
        "no item has more than one vote, which does not show how often people agree about an item: bayes "
        f"assumes that two votes agree with probability {assumed:.2f}, and its labels and intervals depend on this. "
        "Collect second votes on 50 to 100 items, or use mean with sfumato transform --by smooth"
    )


def _coarse(counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items classes"]:
    """Fractional votes rounded to within 5%: precise enough for a prior, and few distinct values."""
    whole = np.round(counts)
    with np.errstate(divide="ignore"):
        near = np.exp(np.round(np.log(counts) * 10) / 10)
    return np.where(np.abs(counts - whole) < 1e-6, whole, near)
