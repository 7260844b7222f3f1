"""Worker agreement with aggregate: annotators weighted by agreement with the majority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, AnnotatorQuality, PreviousAggregation, labels_of
from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix
from sfumato.aggregation.majority import winners
from sfumato.aggregation.mean import mean_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.soft_labels import Estimand


@dataclass(frozen=True)
class Wawa:
    """Annotators weighted by agreement with the majority.

    One step without iterations (the default of several annotation platforms). Its shares are not calibrated
    probabilities: prefer `one-coin` if that matters. Soft beliefs count as fractional votes.
    """

    name: ClassVar[str] = "wawa"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        votes = answers.as_votes()
        skill = agreement_with(votes, winners(mean_of(votes)))
        probs = mean_of(votes.weighted(skill))
        quality = AnnotatorQuality.of(answers, agreement=skill)
        return Aggregation(self, labels_of(answers, probs, self.estimand), quality, answers)


def agreement_with(votes: AnswerMatrix, chosen: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "annotators"]:
    """The share of each annotator's votes for the chosen class, ties by their share."""
    agreed = np.zeros(votes.n_annotators)
    total = np.zeros(votes.n_annotators)
    for first, last in votes.blocks():
        block = votes.part(first, last)
        weight, who = block.weights(0, block.n_items), block.annotator
        right = chosen[first:last][block.item, block.key % block.n_classes]
        agreed += np.bincount(who, weight * right, minlength=votes.n_annotators)
        total += np.bincount(who, weight, minlength=votes.n_annotators)
    return agreed / total
