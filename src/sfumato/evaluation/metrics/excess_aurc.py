"""Excess area under the risk-coverage curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, from_influence
from sfumato.evaluation.metrics.selection import SelectivePrediction
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class ExcessAURC:
    """`aurc` less the area of the best order of the same mistakes, all of them last: E-AURC (Geifman et al. 2019).

    How well confidence orders items, whatever the accuracy; 0 is a perfect order. With mistakes a share r of very many
    items, the best area is r + (1 - r) ln(1 - r).
    """

    name: ClassVar[str] = "excess_aurc"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        kept = SelectivePrediction.of(compared)
        wrong = 1 - compared.right
        r = float(wrong.mean())
        of_best = -np.log1p(-r) * (wrong - r) if r < 1 else np.zeros(len(wrong))
        excess = max(kept.aurc - kept.best_aurc, 0.0)
        return from_influence(excess, kept.influence - of_best, resampling, bounds=self.bounds, floor=0.0)
