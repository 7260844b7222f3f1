"""Wasserstein distance between ordered classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class Wasserstein:
    """The mean over items of `sum_j |P_j - Q_j|`, P and Q the cumulated distributions: how many steps the mass has to
    move.

    Only for classes with an order (ratings, grades), which must be said: `ordered=True` takes them from first to last
    as the table has them, one step apart. For classes without, prefer `total_variation`. Also known as earth mover's
    distance, and as the ranked probability score's absolute form (Vallender 1974).
    """

    name: ClassVar[str] = "wasserstein"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    ordered: bool = False

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return "" if self.ordered else "needs classes that have an order: say so with the setting ordered"

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        apart = np.cumsum(compared.predicted - compared.people, axis=1)[:, :-1]
        return mean_over_items(np.asarray(np.abs(apart).sum(axis=1)), resampling)
