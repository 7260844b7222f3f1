"""Empirical Bayes: each item's votes combined with a prior fitted on all items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, Fitted, PreviousAggregation, distances, refuse_gold
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.bagged_prior import BaggedPrior, fit_bagged_prior
from sfumato.aggregation.dirichlet_mixture import DistinctRows, agreement_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import warn
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import at_least

MOST_FITTED = 20_000
"""The prior is fitted on an even sample of at most this many items; more do not change it."""
MOST_FITTED_SOFT = 5_000
BLOCK = 20_000
AVERAGE_ITEMS = 5
"""Items on which a belief is worth one vote, added to the others, so that a few items do not determine its worth."""


@dataclass(frozen=True)
class Bayes:
    """Posterior mean under a prior fitted on all items; the best choice for votes.

    The votes of an item are drawn from its distribution; the distributions of all items come from a mixture of
    Dirichlets, fitted on the same votes (empirical Bayes). The label is the posterior mean: with few votes it is close
    to typical items, with many votes close to the shares of votes. A belief counts as fractional votes, together more
    than one vote (`votes_per_belief`), because the beliefs of different people vary less than their votes would. The
    prior is fitted to `bags` samples of the items, by candidates of different flexibility, of which the largest has
    `components` Dirichlets; the weights of the candidates are those that best predict items outside the sample
    (`bagged_prior`). Intervals and the expected error therefore include the uncertainty of the prior.

    For hard votes on CIFAR-10H it needs less than half as many as smoothing by a constant (docs/aggregate.md). All
    annotators have the same weight: prefer `mixture-pool` if some may have answered carelessly.
    """

    bags: int = 5
    components: int = 60

    name: ClassVar[str] = "bayes"
    estimand: ClassVar[Estimand] = Estimand.JUDGMENT

    def __post_init__(self) -> None:
        at_least("bags", self.bags, 1)
        at_least("components", self.components, 1)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        refuse_gold(answers, self.name)
        given, answers = answers, as_fractional_votes(answers)
        sample = np.zeros(answers.n_items, dtype=bool)
        n_fitted = min(MOST_FITTED if answers.soft is None else MOST_FITTED_SOFT, answers.n_items)
        sample[np.linspace(0, answers.n_items - 1, n_fitted).astype(np.int64)] = True
        counts = _coarse(answers.only(sample).vote_counts())
        found = fit_bagged_prior(counts, self.bags, n_components=self.components, progress=answers.progress)
        _warn_of_single_votes(found)
        probs = np.empty((answers.n_items, answers.n_classes))
        for first in range(0, answers.n_items, BLOCK):
            last = min(first + BLOCK, answers.n_items)
            distinct = DistinctRows.of(answers.part(first, last).vote_counts())
            probs[first:last] = found.pooled.given(distinct.rows).mean()[distinct.place]
        probs /= probs.sum(axis=1, keepdims=True)
        return Aggregation.of(self, given, Fitted(probs, found), distance=distances(given, probs))


def as_fractional_votes(answers: AnswerMatrix) -> AnswerMatrix:
    """The answers, with the weight of soft ones multiplied by the number of votes that a belief is worth."""
    if answers.soft is None:
        return answers
    return answers.weighted(np.full(answers.n_annotators, votes_per_belief(answers)))


def votes_per_belief(answers: AnswerMatrix) -> float:
    """How many votes one belief is worth for the mean belief of all people: the variance of a vote, `1 - sum p^2`,
    relative to the variance of a belief between people. 1 for one-hot beliefs and if no item has two beliefs."""
    of_vote = of_belief = 0.0
    n_items = 0
    for first, last in answers.blocks():
        block = answers.part(first, last)
        weight, belief, item = block.weights(), block.probs(), block.item
        share = weight / np.bincount(item, weight)[item]
        mean = np.zeros((block.n_items, block.n_classes))
        np.add.at(mean, item, share[:, None] * belief)
        lost = np.bincount(item, share**2)
        compared = lost < 1 - 1e-9
        apart = np.bincount(item, share * ((belief - mean[item]) ** 2).sum(axis=1))[compared]
        spread = apart / (1 - lost[compared])
        # The mean belief varies too: its squares are larger than those of all people by a part of the spread.
        of_vote += float((1 - (mean[compared] ** 2).sum(axis=1) + lost[compared] * spread).sum())
        of_belief += float(spread.sum())
        n_items += int(compared.sum())
    usual = AVERAGE_ITEMS * of_vote / max(n_items, 1)
    return max((of_vote + usual) / (of_belief + usual), 1.0) if of_belief + usual > 0 else 1.0


def _warn_of_single_votes(found: BaggedPrior) -> None:
    """Warn if no item has a second vote: the prior is then assumed, not fitted."""
    if not found.is_assumed:
        return
    assumed = agreement_of(found.pooled)
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
