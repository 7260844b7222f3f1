"""Majority vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, AnnotatorQuality, PreviousAggregation, distances, labels_of
from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix
from sfumato.aggregation.mean import mean_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.soft_labels import Estimand


@dataclass(frozen=True)
class Majority:
    """The class most people chose.

    All probability on the class with the most votes, ties shared: a strong baseline, without uncertainty. For the
    shares of votes use `mean`: they estimate how people judge, not what is true. Beliefs count as fractional votes.
    """

    name: ClassVar[str] = "majority"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        probs = _winners(answers) if previous is None else previous.refreshed(answers, _winners)
        quality = AnnotatorQuality.of(answers, agreement=1 - distances(answers, probs))
        return Aggregation(self, labels_of(answers, probs, self.estimand), quality, answers)


def winners(shares: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items classes"]:
    """All probability on the largest share, ties shared evenly."""
    # Sums of the same weights in another order differ in the last bits; they count as ties.
    wins = (shares >= shares.max(axis=1, keepdims=True) * (1 - 1e-9)).astype(np.float64)
    return np.asarray(wins / wins.sum(axis=1, keepdims=True))


def _winners(answers: AnswerMatrix) -> Float[np.ndarray, "items classes"]:
    return winners(mean_of(answers))
