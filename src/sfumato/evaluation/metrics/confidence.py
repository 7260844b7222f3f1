"""Confidence when right.

Confidence when wrong.

Overconfidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.matched_labels import MatchedLabels
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


@dataclass(frozen=True)
class Overconfidence:
    """The mean confidence minus the accuracy: above 0 the model is surer than it is right, below 0 less sure.

    `mean of (max p - right)`. Too much here and too little there cancel out: `ece`, `rms_calibration` and `smooth_ece`
    do not let them.
    """

    name: ClassVar[str] = "overconfidence"
    better: ClassVar[Better] = Better.NEITHER
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.gaps, resampling)
