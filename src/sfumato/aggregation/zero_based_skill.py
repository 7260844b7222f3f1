"""Zero-based skill: annotators weighted by agreement with the weighted vote, iterated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.aggregation.aggregation import Aggregation, AnnotatorQuality, PreviousAggregation, labels_of
from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix
from sfumato.aggregation.em import check_iterations, warn_unless_converged
from sfumato.aggregation.majority import winners
from sfumato.aggregation.mean import mean_of
from sfumato.aggregation.wawa import agreement_with
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.settings import share
from sfumato.tables.soft_labels import Estimand

HALVE_EVERY = 20


@dataclass(frozen=True)
class ZeroBasedSkill:
    """As wawa, with weights updated over several rounds.

    Skills start just above chance; each round moves them by `rate` towards the agreement with the weighted vote, and
    the rate halves every twenty rounds. Unlike `wawa` it separates annotators who agree with the majority equally
    often. Soft beliefs count as fractional votes.
    """

    rate: float = 1.0
    iterations: int = 100
    tolerance: float = 1e-6

    name: ClassVar[str] = "zero-based-skill"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def __post_init__(self) -> None:
        share("rate", self.rate)
        check_iterations(self.iterations, self.tolerance)

    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        votes = answers.as_votes()
        skill = np.full(votes.n_annotators, 1 / votes.n_classes + 1e-5)
        rate, converged, moved = self.rate, False, []
        for iteration in range(1, self.iterations + 1):
            if iteration % HALVE_EVERY == 0:
                rate /= 2
            step = rate * (agreement_with(votes, winners(mean_of(votes.weighted(skill)))) - skill)
            skill = skill + step
            moved.append(-float(np.abs(step).max()))
            votes.progress(iteration, self.iterations, moved[-1])
            if self.tolerance > 0 and -moved[-1] < self.tolerance:
                converged = True
                break
        warn_unless_converged(self.name, converged, len(moved), self.tolerance)
        probs = mean_of(votes.weighted(skill))
        quality = AnnotatorQuality.of(answers, skill=skill)
        return Aggregation(
            self, labels_of(answers, probs, self.estimand), quality, answers, None, converged, tuple(moved)
        )
