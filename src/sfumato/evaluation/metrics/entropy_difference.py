"""Difference of entropies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class EntropyDifference:
    """The mean over items of H(p) - H(q), in nats: above 0 the model doubts more than people do, below 0 less.

    EntCE of Baan et al. (2022), kept signed. Whether it doubts the same *items* say `entropy_pearson` and
    `entropy_spearman`.
    """

    name: ClassVar[str] = "entropy_difference"
    better: ClassVar[Better] = Better.NEITHER
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.predicted_entropy - compared.people_entropy, resampling)
