"""The mean of the beliefs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import (
    Aggregation,
    AnnotatorQuality,
    PreviousAggregation,
    distances,
    labels_of,
    refuse_gold,
)
from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix
from sfumato.aggregation.passes import BeliefPass, VotePass
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.soft_labels import Estimand


@dataclass(frozen=True)
class Mean:
    """Mean of the beliefs; for votes, the shares of votes.

    The weighted linear pool (Stone 1961), as in CIFAR-10H. It has no model, so few answers give noisy labels: prefer
    `bayes` with fewer than about 25 votes per item, `reliability-pool` if some annotators may answer carelessly.
    """

    name: ClassVar[str] = "mean"
    estimand: ClassVar[Estimand] = Estimand.PEOPLE

    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_gold(answers, self.name)
        probs = mean_of(answers) if previous is None else previous.refreshed(answers, mean_of)
        quality = AnnotatorQuality.of(answers, distance=distances(answers, probs))
        return Aggregation(self, labels_of(answers, probs, self.estimand), quality, answers)


def mean_of(answers: AnswerMatrix) -> Float[np.ndarray, "items classes"]:
    """Every item's mean belief."""
    parts = answers.engine.open(answers)
    try:
        work = VotePass(by_class=False) if answers.soft is None else BeliefPass()
        posterior = parts.run(work, kept=True, counted=False).posterior
    finally:
        parts.close()
    assert posterior is not None
    return posterior
