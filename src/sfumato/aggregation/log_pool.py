"""The logarithmic pool: the geometric mean of beliefs."""

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
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import not_negative
from sfumato.tables.soft_labels import Estimand


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
    estimand: ClassVar[Estimand] = Estimand.PEOPLE

    def __post_init__(self) -> None:
        not_negative("extremise", self.extremise)
        if not 0 < self.floor <= 1:
            raise BadSetting(
                f"floor = {self.floor}",
                "a share above 0, at most 1",
                "choose another floor; with 0 a single answer would rule out a class",
            )

    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_gold(answers, self.name)
        probs = self._pooled(answers) if previous is None else previous.refreshed(answers, self._pooled)
        quality = AnnotatorQuality.of(answers, distance=distances(answers, probs))
        return Aggregation(self, labels_of(answers, probs, self.estimand), quality, answers)

    def _pooled(self, answers: AnswerMatrix) -> Float[np.ndarray, "items classes"]:
        pooled = np.empty((answers.n_items, answers.n_classes))
        for first, last in answers.blocks():
            block = answers.part(first, last)
            weight = block.weights(0, block.n_items)
            belief = (1 - self.floor) * block.probs(0, block.n_items) + self.floor / block.n_classes
            log_p = np.zeros((block.n_items, block.n_classes))
            np.add.at(log_p, block.item, weight[:, None] * np.log(belief))
            log_p *= self.extremise / np.bincount(block.item, weight)[:, None]
            p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
            pooled[first:last] = p / p.sum(axis=1, keepdims=True)
        return pooled
