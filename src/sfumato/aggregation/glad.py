"""GLAD: annotator ability and item difficulty, estimated together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from sfumato.aggregation.aggregation import Aggregation, Fitted, PreviousAggregation, refuse_anonymous
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.em import Iterations, check_iterations, keep_known
from sfumato.aggregation.passes import normalize
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand

SWEEPS = 2
"""The number of updates of all abilities and all items per M-step."""


@dataclass(frozen=True, eq=False)
class Abilities:
    """The ability of each annotator (1 is average, 0 guesses, below 0 misleads) and the log ease of each item."""

    annotators: Any
    items: Any
    ability: Float[np.ndarray, "annotators"]
    log_ease: Float[np.ndarray, "items"]


@dataclass(frozen=True)
class Glad:
    """Annotator ability and item difficulty.

    An answer is right with probability `sigmoid(ability_w * ease_i)`, else any other class with equal probability
    (Whitehill et al. 2009). Abilities and log-eases have Normal(1, 1) priors; all classes have the same prior. Prefer
    it if some items are clearly harder than others and each has many answers; with few it cannot separate difficulty
    from chance. Soft beliefs count as fractional votes.
    """

    iterations: int = 100
    tolerance: float = 1e-6

    name: ClassVar[str] = "glad"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def __post_init__(self) -> None:
        check_iterations(self.iterations, self.tolerance)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_anonymous(answers, self.name)
        votes = answers.as_votes()
        em = _GladEm(votes)
        ability, log_ease = np.ones(votes.n_annotators), np.ones(votes.n_items)
        if previous is not None:
            model = previous.model
            ability = keep_known(ability, votes.annotators, model.ability, model.annotators)
            log_ease = keep_known(log_ease, votes.items, model.log_ease, model.items)
        iterations = Iterations(self, votes.progress)
        for _ in iterations:
            posterior, log_likelihood = em.posterior(ability, log_ease)
            penalty = float(((ability - 1) ** 2).sum() + ((log_ease - 1) ** 2).sum()) / 2
            iterations.report(log_likelihood - penalty, n_answers=votes.n_answers)
            right = posterior[em.item, em.said]
            for _ in range(SWEEPS):
                ability = em.better_ability(ability, log_ease, right)
                log_ease = em.better_ease(ability, log_ease, right)
        model = Abilities(votes.annotators, votes.items, ability, log_ease)
        fitted = Fitted(posterior, model, tuple(iterations.objective), iterations.converged)
        return Aggregation.of(self, answers, fitted, ability=ability)


class _GladEm:
    """The EM steps; the M-step updates one parameter at a time and keeps an update only if it helps."""

    def __init__(self, votes: AnswerMatrix) -> None:
        self.votes = votes
        self.item = votes.item
        self.who = votes.annotator
        self.said = votes.key % votes.n_classes
        self.weight = votes.weights()
        self.log_others = np.log(max(votes.n_classes - 1, 1))

    def posterior(self, ability: np.ndarray, log_ease: np.ndarray) -> tuple[np.ndarray, float]:
        """Every item's distribution, and the log-likelihood."""
        x = ability[self.who] * np.exp(log_ease)[self.item]
        log_wrong = -np.logaddexp(0, x) - self.log_others
        n_classes = self.votes.n_classes
        cell = self.item.astype(np.int64) * n_classes + self.said
        gains = np.bincount(cell, self.weight * (x + self.log_others), minlength=self.votes.n_items * n_classes)
        p = gains.reshape(-1, n_classes) - np.log(n_classes)
        return p, normalize(p, self.votes) + float(self.weight @ log_wrong)

    def better_ability(self, ability: np.ndarray, log_ease: np.ndarray, right: np.ndarray) -> np.ndarray:
        ease = np.exp(log_ease)[self.item]
        return self._better(ability, self.who, lambda a: (a[self.who] * ease, ease), right)

    def better_ease(self, ability: np.ndarray, log_ease: np.ndarray, right: np.ndarray) -> np.ndarray:
        able = ability[self.who]

        def predicted(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            x = able * np.exp(b)[self.item]
            return x, x

        return self._better(log_ease, self.item, predicted, right)

    def _better(self, value: np.ndarray, owner: np.ndarray, predicted: Any, right: np.ndarray) -> np.ndarray:
        """`value` after a Newton step, where it raises the expected likelihood."""
        n = len(value)
        x, slope = predicted(value)
        share = expit(x)
        weighted = self.weight * slope
        gradient = np.bincount(owner, weighted * (right - share), minlength=n) - (value - 1)
        curvature = np.bincount(owner, weighted * slope * share * (1 - share), minlength=n) + 1
        moved = value + np.clip(gradient / curvature, -1, 1)

        def expected(x: np.ndarray, at: np.ndarray) -> np.ndarray:
            gain = np.bincount(owner, self.weight * (right * x - np.logaddexp(0, x)), minlength=n)
            return np.asarray(gain - (at - 1) ** 2 / 2)

        return np.where(expected(predicted(moved)[0], moved) >= expected(x, value), moved, value)
