"""Pools of beliefs: the mean, the geometric mean, and the mean weighted by distance from the other annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import (
    Aggregation,
    Fitted,
    PreviousAggregation,
    distances,
    refuse_anonymous,
    refuse_gold,
)
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.passes import mean_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import at_least, bad_setting, not_negative

MOST_POWER = 20


@dataclass(frozen=True)
class Mean:
    """Mean of the beliefs; for votes, the shares of votes.

    The weighted linear pool (Stone 1961), as in CIFAR-10H. It has no model, so few answers give noisy labels: prefer
    `bayes` with fewer than about 25 votes per item, `reliability-pool` if some annotators may answer carelessly.
    """

    name: ClassVar[str] = "mean"
    estimand: ClassVar[Estimand] = Estimand.JUDGMENT

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_gold(answers, self.name)
        probs = mean_of(answers) if previous is None else previous.refreshed(answers, mean_of)
        return Aggregation.of(self, answers, Fitted(probs), distance=distances(answers, probs))


@dataclass(frozen=True)
class LogPool:
    """Geometric mean of the beliefs.

    The geometric mean to the power `extremise` (Genest & Zidek 1986). A class that one annotator rules out would lose
    all mass, so beliefs are first mixed with `floor` of the uniform distribution. `extremise` above 1 sharpens the
    pool, which helps if annotators have different evidence and are each too cautious (Satopaa et al. 2014). Sharper
    than `mean` if beliefs agree; for hard votes it depends only on the floor: prefer `mean` or `bayes`.
    """

    extremise: float = 1.0
    floor: float = 0.03

    name: ClassVar[str] = "log-pool"
    estimand: ClassVar[Estimand] = Estimand.JUDGMENT

    def __post_init__(self) -> None:
        not_negative("extremise", self.extremise)
        if not 0 < self.floor <= 1:
            fix = "choose another floor; with 0 a single answer would rule out a class"
            raise bad_setting("floor", self.floor, "a share above 0, at most 1", fix)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_gold(answers, self.name)
        probs = self._pooled(answers) if previous is None else previous.refreshed(answers, self._pooled)
        return Aggregation.of(self, answers, Fitted(probs), distance=distances(answers, probs))

    def _pooled(self, answers: AnswerMatrix) -> Float[np.ndarray, "items classes"]:
        pooled = np.empty((answers.n_items, answers.n_classes))
        for first, last in answers.blocks():
            block = answers.part(first, last)
            weight = block.weights()
            belief = (1 - self.floor) * block.probs() + self.floor / block.n_classes
            log_p = np.zeros((block.n_items, block.n_classes))
            np.add.at(log_p, block.item, weight[:, None] * np.log(belief))
            log_p *= self.extremise / np.bincount(block.item, weight)[:, None]
            p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
            pooled[first:last] = p / p.sum(axis=1, keepdims=True)
        return pooled


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
    estimand: ClassVar[Estimand] = Estimand.JUDGMENT

    def __post_init__(self) -> None:
        not_negative("shrink", self.shrink)
        not_negative("power", self.power)
        if self.power > MOST_POWER:
            raise bad_setting("power", self.power, f"at most {MOST_POWER}: beyond it only one annotator would count")
        at_least("rounds", self.rounds, 1)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:  # noqa: ARG002
        refuse_anonymous(answers, self.name)
        refuse_gold(answers, self.name)
        weight = self.weights(answers)
        return Aggregation.of(self, answers, Fitted(mean_of(answers.weighted(weight))), weight=weight)

    def weights(self, answers: AnswerMatrix) -> Float[np.ndarray, "annotators"]:
        """The weight of each annotator, 1 on average over the answers."""
        weight = np.ones(answers.n_annotators)
        for _ in range(self.rounds):
            total, n_compared = _distances(answers.weighted(weight))
            if n_compared.sum() == 0:
                return np.ones(answers.n_annotators)
            ordinary = total.sum() / n_compared.sum()
            apart = (total + self.shrink * ordinary) / np.maximum(n_compared + self.shrink, 1e-12)
            # Annotators without anyone to compare with have the average distance; the minimum is a hundredth of it.
            apart = np.where(n_compared + self.shrink > 0, apart, ordinary)
            weight = np.maximum(apart, max(ordinary / 100, 1e-12)) ** -self.power
            weight *= answers.answers_of.sum() / float(answers.answers_of @ weight)
        return weight


def _distances(answers: AnswerMatrix) -> tuple[np.ndarray, np.ndarray]:
    """Per annotator, the sum of the distances of the answers from the others, and the number of answers compared."""
    total, n_compared = np.zeros(answers.n_annotators), np.zeros(answers.n_annotators)
    for first, last in answers.blocks():
        block = answers.part(first, last)
        belief, item = block.probs(), block.item
        others = others_of(block, belief)
        compared = block.n_annotators_of[item] > 1
        length = np.sqrt((belief**2).sum(axis=1) * (others**2).sum(axis=1))
        apart = np.where(compared, 1 - (belief * others).sum(axis=1) / np.maximum(length, 1e-300), 0.0)
        total += np.bincount(block.annotator, np.maximum(apart, 0.0), minlength=answers.n_annotators)
        n_compared += np.bincount(block.annotator, compared, minlength=answers.n_annotators)
    return total, n_compared


def others_of(block: AnswerMatrix, belief: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    """For every answer, the weighted mean of the other annotators' answers to its item; uniform without others."""
    weighed = block.weights()[:, None] * belief
    sums = np.zeros((block.n_items, block.n_classes))
    np.add.at(sums, block.item, weighed)
    rest = np.maximum(sums[block.item] - block.of_author(weighed), 0.0)
    mass = rest.sum(axis=1, keepdims=True)
    alone = (block.n_annotators_of[block.item] == 1)[:, None] | (mass <= 0)
    return np.where(alone, 1 / block.n_classes, rest / np.where(mass > 0, mass, 1.0))
