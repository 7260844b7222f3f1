"""Accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class Accuracy:
    """The share of items whose first choice is people's first choice.

    Where either is tied, the share of times they would agree if ties were broken at random, so that no order of items
    or classes matters. Blind to doubt: where people disagree, prefer `expected_accuracy`, or a divergence.
    """

    name: ClassVar[str] = "accuracy"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.right, resampling)
