"""Pools of beliefs: the mean and the geometric mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, Fitted, PreviousAggregation, distances, refuse_gold
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.passes import mean_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import bad_setting, not_negative


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
