"""Overconfidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


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
