"""The part of the Brier score that is not miscalibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, from_influence
from sfumato.evaluation.metrics.brier_parts import BINS, BrierParts
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import at_least


@dataclass(frozen=True)
class BrierRefinement:
    """What is left of the Brier score after `brier_calibration` is taken off: how far, within bins of equal
    predictions, people's labels lie apart from one another (Murphy 1973; DeGroot & Fienberg 1983).

    Recalibrating cannot mend it; only predictions that tell items apart can. It is Murphy's uncertainty less
    resolution, with what predictions vary within a bin counted in, so that both parts add up to `brier` exactly.
    """

    name: ClassVar[str] = "brier_refinement"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)

    bins: int = BINS

    def __post_init__(self) -> None:
        at_least("bins", self.bins, 1)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        parts = BrierParts.of(compared, self.bins)
        brier = float(compared.squared_distances.mean())
        influence = compared.squared_distances - brier - parts.influence
        value = max(brier - parts.calibration, 0.0)
        return from_influence(value, influence, resampling, bounds=self.bounds, debt=-parts.bias)
