"""Accuracy against one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class ExpectedAccuracy:
    """The share of people who chose the model's first choice, on average: how often it agrees with a person drawn at
    random.

    `mean over items of q[argmax p]`; ties in the prediction count by their share. Its floor (here: a ceiling) is that
    of always naming people's first choice, `mean of max q`, which is below 1 wherever people disagree.
    """

    name: ClassVar[str] = "expected_accuracy"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        first = compared.predicted_first
        chosen = np.einsum("ik,ik->i", compared.people, first) / first.sum(axis=1)
        return mean_over_items(np.asarray(chosen), resampling, floor=float(compared.people.max(axis=1).mean()))
