"""Area under the risk-coverage curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, from_influence
from sfumato.evaluation.metrics.selection import SelectivePrediction
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class AURC:
    """The mean over k of the share wrong among the k surest items: how well confidence says when to hand over to people
    (Geifman et al. 2019).

    Wrong means that the first choice is not people's. Among items of equal confidence it is the expectation over their
    order. The floor is the area were all mistakes the least sure items; `excess_aurc` is what lies above it, and is the
    one to compare between models of different accuracy.
    """

    name: ClassVar[str] = "aurc"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        kept = SelectivePrediction.of(compared)
        return from_influence(kept.aurc, kept.influence, resampling, bounds=self.bounds, floor=kept.best_aurc)
