"""Separation of right from wrong by confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, from_influence, undefined
from sfumato.evaluation.metrics.entropy_spearman import Ranked
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class FailureAUROC:
    """The chance that of two items, one right and one wrong, the right one has the higher confidence, equals by half:
    the area under the ROC curve of confidence as a sign of being right (Hendrycks & Gimpel 2017).

    .5 is chance, and accuracy does not enter: prefer `aurc` to weigh both. NaN where nothing is right or nothing wrong.
    The interval bootstraps what each item adds (DeLong et al. 1988).
    """

    name: ClassVar[str] = "failure_auroc"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        right, wrong = compared.right, 1 - compared.right
        share = float(right.mean())
        if not 0 < share < 1:
            return undefined("all right or all wrong", len(right))
        ranked = Ranked.of(compared.confidence)
        wrong_below = float(wrong.mean()) - ranked.above(wrong)
        pairs = float((right * wrong_below).mean())
        of_pairs = right * wrong_below + wrong * ranked.above(right) - 2 * pairs
        value = pairs / (share * (1 - share))
        influence = (of_pairs - value * (1 - 2 * share) * (right - share)) / (share * (1 - share))
        return from_influence(value, np.asarray(influence), resampling, bounds=self.bounds)
