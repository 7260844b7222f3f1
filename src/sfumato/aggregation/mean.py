"""The mean of what people believe."""

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
    """How people judge: the mean of their beliefs, each by its weight (the linear pool, Stone 1961).

    Of hard votes it is the share of votes, as in CIFAR-10H. Nothing is estimated, so nothing can go wrong with few
    answers but noise: prefer `bayes` where an item has fewer than some 25 votes, `reliability-pool` where some people
    may not have looked.
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
