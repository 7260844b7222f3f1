"""Accuracy against the original labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import NO_ORIGINAL, Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class AccuracyOriginal:
    """The share of items whose first choice is the class the item came with; ties in the prediction count by their
    share.

    The figure of hard-label benchmarks. Prefer `accuracy` to know how often people's first choice is met.
    """

    name: ClassVar[str] = "accuracy_original"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:
        return NO_ORIGINAL if compared.original is None else ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.right_originally, resampling)
