"""The prior of Dawid-Skene's confusion matrices: given, or estimated from the crowd.

The estimated prior is hierarchical. Annotator w is expected to be right about an item of class c with probability
`g_w o_c / (1 + g_w o_c)`, where o_c are the odds of the whole crowd and g_w is one skill; errors are distributed as
those of the crowd. The strength of the prior, how many such answers each annotator starts with, is the mean over its
posterior, given the Dirichlet-multinomial likelihood of everybody's answers. Annotators who all err alike get a strong
prior, annotators with errors of their own a weak one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

STRENGTHS = np.geomspace(2.0, 200.0, 9)
"""The strengths that are compared, in answers per class."""
FIRST_STRENGTH = 10.0
AVERAGE_ANSWERS = 10.0
"""Answers of average skill that every annotator's skill starts with."""
BY_SHARE = 0.5
"""The part of the strength that is proportional to the share of the class. Without it, a rare class has more of the
prior than of its own answers and can vanish; with nothing else, rare classes have hardly any prior."""
MOST_COUNTS, FEWEST_ANNOTATORS = 20_000, 50
"""The strength is estimated from as many counts, of at least so many annotators."""
NEWTON_STEPS = 6
MOST_LOG_SKILL = float(np.log(1000))
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ConfusionPrior:
    """Answers added to those of each annotator: `strength` per class, of which a share `right` per annotator and class
    (one row if it is the same for all) is right; the others are distributed as `errors` (class, answer). `usual` is the
    share of right answers of the whole crowd, per class."""

    strength: Float[np.ndarray, "classes"]
    right: Float[np.ndarray, "annotators_or_1 classes"]
    errors: Float[np.ndarray, "classes classes"]
    usual: Float[np.ndarray, "classes"]

    @classmethod
    def given(cls, strength: float, pooled: Float[np.ndarray, "classes classes"]) -> ConfusionPrior:
        """`strength` answers per class, distributed as in the confusion matrix `pooled` (class, answer)."""
        usual, errors = np.diag(pooled).copy(), pooled * (1 - np.eye(len(pooled)))
        errors /= np.maximum(errors.sum(axis=1, keepdims=True), 1e-300)
        return cls(np.full(len(pooled), strength), usual[None], errors, usual)

    def with_skills(
        self, counts: Float[np.ndarray, "annotators classes classes"], shares: Float[np.ndarray, "classes"]
    ) -> ConfusionPrior:
        """One answer per class on average, right as often as the annotators' skills say; from the expected `counts`
        (annotator, answer, class) and the shares of the classes."""
        strength = (1 - BY_SHARE) + BY_SHARE * len(shares) * shares
        return ConfusionPrior(strength, _right_by_skill(counts, shares, self.usual), self.errors, self.usual)

    def times(self, strength: float) -> ConfusionPrior:
        """The same with `strength` times the answers."""
        return ConfusionPrior(strength * self.strength, self.right, self.errors, self.usual)

    def answers(self, said: int) -> Float[np.ndarray, "annotators_or_1 classes"]:
        """The answers `said` that are added, per annotator and class."""
        added = (1 - self.right) * self.errors[:, said]
        added[:, said] = self.right[:, said]
        return np.asarray(added * self.strength)

    def add_to(self, counts: Float[np.ndarray, "annotators classes classes"]) -> None:
        """Add the answers to `counts` (annotator, answer, class)."""
        for said in range(counts.shape[1]):
            counts[:, said] += self.answers(said)

    def log_density(self, log_rows: Float[np.ndarray, "annotators classes classes"]) -> float:
        """The logarithm of the density of confusion matrices (annotator, answer, class), without the constant."""
        terms = (float((self.answers(said) * log_rows[:, said]).sum()) for said in range(log_rows.shape[1]))
        return sum(terms)

    def best_strength(self, counts: Float[np.ndarray, "annotators classes classes"]) -> float:
        """The factor of this prior, the geometric mean over its posterior: Dirichlet-multinomial likelihood of the
        counts, and `STRENGTHS` equally probable before."""
        n_classes = len(self.strength)
        n_used = max(MOST_COUNTS // n_classes**2, FEWEST_ANNOTATORS)
        used = np.unique(np.linspace(0, len(counts) - 1, min(n_used, len(counts))).astype(np.int64))
        counts, right = counts[used], self.right[used]
        some = ConfusionPrior(self.strength, right, self.errors, self.usual)
        added = np.stack([some.answers(said) for said in range(n_classes)], axis=1)
        totals = counts.sum(axis=1)
        said, seen = counts > TINY, totals > TINY
        count, total = counts[said], totals[seen]
        cell, row = np.maximum(added[said], TINY), np.broadcast_to(self.strength, totals.shape)[seen]
        score = np.array(
            [
                (gammaln(count + s * cell) - gammaln(s * cell)).sum()
                - (gammaln(total + s * row) - gammaln(s * row)).sum()
                for s in STRENGTHS
            ]
        )
        weight = np.exp(score - score.max())
        return float(np.exp(weight @ np.log(STRENGTHS) / weight.sum()))


def _right_by_skill(
    counts: Float[np.ndarray, "annotators classes classes"],
    shares: Float[np.ndarray, "classes"],
    usual: Float[np.ndarray, "classes"],
) -> Float[np.ndarray, "annotators classes"]:
    """The probability to be right per annotator and class: the skill is the one that gives the expected number of right
    answers, together with `AVERAGE_ANSWERS` of the whole crowd, whose probability is `usual`."""
    usual = np.clip(usual, 1e-6, 1 - 1e-6)
    log_odds = np.log(usual / (1 - usual))
    asked = counts.sum(axis=1) + AVERAGE_ANSWERS * shares
    right = np.einsum("wcc->w", counts) + AVERAGE_ANSWERS * float(shares @ usual)
    log_skill = np.zeros(len(counts))
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-(log_skill[:, None] + log_odds)))
        too_many = (asked * chance).sum(axis=1) - right
        slope = np.maximum((asked * chance * (1 - chance)).sum(axis=1), 1e-9)
        log_skill = np.clip(log_skill - np.clip(too_many / slope, -1, 1), -MOST_LOG_SKILL, MOST_LOG_SKILL)
    return np.asarray(1 / (1 + np.exp(-(log_skill[:, None] + log_odds))))
