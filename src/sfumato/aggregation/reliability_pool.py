"""The reliability pool: annotators weighted by their distance from the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, AnnotatorQuality, PreviousAggregation, labels_of, refuse_gold
from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix
from sfumato.aggregation.mean import mean_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import at_least, not_negative
from sfumato.tables.soft_labels import Estimand

MOST_POWER = 20


@dataclass(frozen=True)
class ReliabilityPool:
    """Mean of the beliefs, annotators weighted by distance from the others.

    The distance of an answer is the squared distance between its direction and the direction of the mean of the other
    answers to the item, `|q/|q| - c/|c||^2 / 2`, from 0 to 1. Directions are used because a nearly uniform belief has a
    smaller plain distance to any consensus than a confident belief that disagrees. The distance of an annotator is the
    mean over the answers, with `shrink` answers of average distance added; the weight is its inverse to the power
    `power`. Each of the `rounds` uses the weights of the previous round.

    Prefer it to `mean` if some annotators may answer carelessly; otherwise the result is nearly the same.
    """

    shrink: float = 10.0
    power: float = 1.0
    rounds: int = 3

    name: ClassVar[str] = "reliability-pool"
    estimand: ClassVar[Estimand] = Estimand.PEOPLE

    def __post_init__(self) -> None:
        not_negative("shrink", self.shrink)
        not_negative("power", self.power)
        if self.power > MOST_POWER:
            raise BadSetting(
                f"power = {self.power}",
                f"at most {MOST_POWER}: beyond it only one annotator would count",
                "choose another power",
            )
        at_least("rounds", self.rounds, 1)

    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        refuse_gold(answers, self.name)
        weight = self.weights(answers)
        probs = mean_of(answers.weighted(weight))
        quality = AnnotatorQuality.of(answers, weight=weight)
        return Aggregation(self, labels_of(answers, probs, self.estimand), quality, answers)

    def weights(self, answers: AnswerMatrix) -> Float[np.ndarray, "annotators"]:
        """The weight of each annotator, 1 on average over the answers."""
        weight = np.ones(answers.n_annotators)
        for _ in range(self.rounds):
            found = _distances(answers.weighted(weight))
            if found.n_compared.sum() == 0:
                return np.ones(answers.n_annotators)
            ordinary = found.total.sum() / found.n_compared.sum()
            apart = (found.total + self.shrink * ordinary) / np.maximum(found.n_compared + self.shrink, 1e-12)
            # Annotators without anyone to compare with have the average distance; the minimum is a hundredth of it.
            apart = np.where(found.n_compared + self.shrink > 0, apart, ordinary)
            weight = np.maximum(apart, max(ordinary / 100, 1e-12)) ** -self.power
            weight *= answers.answers_of.sum() / float(answers.answers_of @ weight)
        return weight


@dataclass(frozen=True, eq=False)
class _Distances:
    """Per annotator, the sum of the distances of the answers from the others, and the number of answers."""

    total: Float[np.ndarray, "annotators"]
    n_compared: Float[np.ndarray, "annotators"]


def _distances(answers: AnswerMatrix) -> _Distances:
    total, n_compared = np.zeros(answers.n_annotators), np.zeros(answers.n_annotators)
    for first, last in answers.blocks():
        block = answers.part(first, last)
        belief, item = block.probs(0, block.n_items), block.item
        others = others_of(block, belief)
        compared = block.n_annotators_of[item] > 1
        length = np.sqrt((belief**2).sum(axis=1) * (others**2).sum(axis=1))
        apart = np.where(compared, 1 - (belief * others).sum(axis=1) / np.maximum(length, 1e-300), 0.0)
        total += np.bincount(block.annotator, np.maximum(apart, 0.0), minlength=answers.n_annotators)
        n_compared += np.bincount(block.annotator, compared, minlength=answers.n_annotators)
    return _Distances(total, n_compared)


def others_of(block: AnswerMatrix, belief: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    """For every answer, the weighted mean of the other annotators' answers to its item; uniform without others."""
    weighed = block.weights(0, block.n_items)[:, None] * belief
    sums = np.zeros((block.n_items, block.n_classes))
    np.add.at(sums, block.item, weighed)
    rest = np.maximum(sums[block.item] - block.of_author(weighed), 0.0)
    mass = rest.sum(axis=1, keepdims=True)
    alone = (block.n_annotators_of[block.item] == 1)[:, None] | (mass <= 0)
    return np.where(alone, 1 / block.n_classes, rest / np.where(mass > 0, mass, 1.0))
