"""The reliability pool: people count by how near they are to what the others say."""

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
    """How people judge: the mean of their beliefs, each person by how near they are to what the others say.

    The distance of an answer is the squared distance between its direction and that of the mean of the others'
    answers to the item, `|q/|q| - c/|c||^2 / 2` from 0 to 1. Directions, because a belief spread over everything is
    near to nothing in particular, yet nearer in plain distance to any consensus than an honest one that disagrees. A
    person's distance is the mean over their answers, with `shrink` answers of ordinary distance added; their weight is
    one over it to the power `power`. Each of the `rounds` weighs the others by what the round before found.

    Prefer it to `mean` where some people may not have looked; with everybody honest it costs nothing.
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
                f"at most {MOST_POWER}, beyond which one person alone would count",
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
        """How much each annotator counts, 1 on average over the answers."""
        weight = np.ones(answers.n_annotators)
        for _ in range(self.rounds):
            found = _distances(answers.weighted(weight))
            if found.n_compared.sum() == 0:
                return np.ones(answers.n_annotators)
            ordinary = found.total.sum() / found.n_compared.sum()
            apart = (found.total + self.shrink * ordinary) / np.maximum(found.n_compared + self.shrink, 1e-12)
            # Nobody to compare with: ordinary. Nobody is nearer than a hundredth of it, however often they agree.
            apart = np.where(found.n_compared + self.shrink > 0, apart, ordinary)
            weight = np.maximum(apart, max(ordinary / 100, 1e-12)) ** -self.power
            weight *= answers.answers_of.sum() / float(answers.answers_of @ weight)
        return weight


@dataclass(frozen=True, eq=False)
class _Distances:
    """Per annotator, the sum of the distances of their answers from the others', and of how many answers."""

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
    """For every answer, the weighted mean of the other people's answers to its item; uniform where there is none."""
    weighed = block.weights(0, block.n_items)[:, None] * belief
    sums = np.zeros((block.n_items, block.n_classes))
    np.add.at(sums, block.item, weighed)
    rest = np.maximum(sums[block.item] - block.of_author(weighed), 0.0)
    mass = rest.sum(axis=1, keepdims=True)
    alone = (block.n_annotators_of[block.item] == 1)[:, None] | (mass <= 0)
    return np.where(alone, 1 / block.n_classes, rest / np.where(mass > 0, mass, 1.0))
