"""The part of the Brier score that is miscalibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, from_influence
from sfumato.evaluation.metrics.brier_parts import BINS, BrierParts
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import at_least


@dataclass(frozen=True)
class BrierCalibration:
    """What would go from the Brier score if, class by class, predictions in each of `bins` equally wide bins were
    shifted to people's mean there: `sum_k sum_b n_kb / n (mean p - mean q)^2` (Murphy 1973; DeGroot & Fienberg 1983).

    Unlike `ece` it looks at every class, and at how many people chose it. With `brier_refinement` it adds up to `brier`
    exactly. Chance makes it larger: the floor is about what a calibrated model would get, and the interval has it
    taken off.
    """

    name: ClassVar[str] = "brier_calibration"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)

    bins: int = BINS

    def __post_init__(self) -> None:
        at_least("bins", self.bins, 1)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        parts = BrierParts.of(compared, self.bins)
        return from_influence(
            parts.calibration, parts.influence, resampling, bounds=self.bounds, debt=parts.bias, floor=parts.bias
        )
