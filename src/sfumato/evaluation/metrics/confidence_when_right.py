"""Confidence when right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class ConfidenceWhenRight:
    """The mean confidence over items whose first choice is people's first choice. `n_items` counts these.

    Read it beside `confidence_when_wrong`: their distance says whether doubt separates right from wrong. Items where
    first choices are tied count by the share of times they agree.
    """

    name: ClassVar[str] = "confidence_when_right"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.confidence, resampling, weights=compared.right)
