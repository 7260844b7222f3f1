"""Cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class CrossEntropy:
    """The mean over items of `-sum_k q_k ln p_k`, in nats.

    Never clipped: one impossible thing that happened makes it infinite. It holds the label's own entropy (its floor),
    so it must not be compared between groups of items; `kl_divergence` can be.
    """

    name: ClassVar[str] = "cross_entropy"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        floor = float(compared.people_entropy.mean())
        return mean_over_items(compared.cross_entropies, resampling, floor=floor)
