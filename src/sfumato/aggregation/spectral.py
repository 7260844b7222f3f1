"""A spectral method: skills from pairwise agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.aggregation.aggregation import Aggregation, Fitted, PreviousAggregation, refuse_anonymous
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.em import Iterations, check_iterations
from sfumato.aggregation.one_coin import coin_evidence
from sfumato.aggregation.passes import OwnClassPass, posterior_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import not_negative


@dataclass(frozen=True)
class Spectral:
    """Skills from pairwise agreement beyond chance.

    If annotators err independently, the agreement of two beyond chance is the product of their skills:
    `(K agree - 1) / (K - 1) = skill_w skill_v`. The skills are the rank-one factor of that matrix, fitted by weighted
    least squares over the pairs that share items (Dalvi et al. 2013; Ma et al. 2018), without storing the matrix.
    `prior` adds this many answers to items shared with an average annotator. Labels follow by Bayes' rule as in
    `one-coin`. No local optima, and no start from the majority; but pairs must share many items. Soft beliefs count as
    fractional votes.
    """

    prior: float = 5.0
    iterations: int = 100
    tolerance: float = 1e-6

    name: ClassVar[str] = "spectral"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def __post_init__(self) -> None:
        not_negative("prior", self.prior)
        check_iterations(self.iterations, self.tolerance)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        refuse_anonymous(answers, self.name)
        votes = answers.as_votes()
        pairs = _Pairs(votes)
        ordinary = pairs.ordinary_skill()
        skill = np.full(votes.n_annotators, ordinary)
        iterations = Iterations(self, votes.progress)
        for _ in iterations:
            above, below = pairs.fit_of(skill)
            proposed = (above + self.prior * ordinary**3) / (below + self.prior * ordinary**2 + 1e-12)
            # Half a step, because full steps oscillate between the two annotators of a pair.
            step = (np.clip(proposed, -0.99, 0.99) - skill) / 2
            skill = skill + step
            moved = float(np.abs(step).max())
            iterations.report(-moved, moved=moved)
        accuracy = (skill * (votes.n_classes - 1) + 1) / votes.n_classes
        gain, base = coin_evidence(accuracy, votes.n_classes)
        uniform = np.full(votes.n_classes, -np.log(votes.n_classes))
        posterior = posterior_of(OwnClassPass(gain, base, uniform), votes)
        fitted = Fitted(posterior, None, tuple(iterations.objective), iterations.converged)
        return Aggregation.of(self, answers, fitted, accuracy=accuracy)


class _Pairs:
    """Sums over all pairs of annotators of an item, computed from sums over the item."""

    def __init__(self, votes: AnswerMatrix) -> None:
        self.votes = votes
        self.item, self.who = votes.item, votes.annotator
        self.cell = self.item.astype(np.int64) * votes.n_classes + votes.key % votes.n_classes
        self.weight = votes.weights()
        self.by_item, self.by_cell = votes.authors(), votes.authors(self.cell)
        self.others = _of_others(self.item, self.by_item, self.weight)

    def fit_of(self, skill: Float[np.ndarray, "annotators"]) -> tuple[np.ndarray, np.ndarray]:
        """Per annotator, over all others on the same items: sum of excess agreement x skill, and of squared skill."""
        n_classes = self.votes.n_classes
        s = skill[self.who] * self.weight
        same, met = _of_others(self.cell, self.by_cell, s), _of_others(self.item, self.by_item, s)
        excess = (n_classes * same - met) / max(n_classes - 1, 1)
        squares = _of_others(self.item, self.by_item, skill[self.who] * s)
        # An answer is compared with the mean of the others, so it counts once for any number of annotators.
        met_anybody = (self.votes.n_annotators_of[self.item] > 1) & (self.others > 0)
        once = np.where(met_anybody, self.weight / np.where(met_anybody, self.others, 1.0), 0.0)
        n = self.votes.n_annotators
        return np.bincount(self.who, once * excess, minlength=n), np.bincount(self.who, once * squares, minlength=n)

    def ordinary_skill(self) -> float:
        """The common skill that explains the mean agreement of pairs."""
        above, below = self.fit_of(np.ones(self.votes.n_annotators))
        met = float(below.sum())
        return float(np.sqrt(np.clip(above.sum() / met, 0.01, 0.98))) if met > 0 else 0.5


def _of_others(
    group: Int[np.ndarray, "rows"], author: Int[np.ndarray, "rows"] | None, values: Float[np.ndarray, "rows"]
) -> Float[np.ndarray, "rows"]:
    """For every row, the sum of `values` over the other annotators' rows in its group."""
    own = values if author is None else np.bincount(author, values)[author]
    return np.asarray(np.bincount(group, values)[group] - own)
