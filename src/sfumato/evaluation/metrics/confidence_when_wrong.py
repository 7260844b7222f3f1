"""Confidence when wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class ConfidenceWhenWrong:
    """The mean confidence over items whose first choice is not people's first choice. `n_items` counts these; NaN where
    there are none.

    Read it beside `confidence_when_right`. Items where first choices are tied count by the share of times they differ.
    """

    name: ClassVar[str] = "confidence_when_wrong"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.confidence, resampling, weights=1 - compared.right)
