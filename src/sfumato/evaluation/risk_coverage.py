"""Risk and coverage: how often what is kept is wrong, when only what the model is sure of is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metrics.selection import SelectivePrediction
from sfumato.tables.growable_array import freeze
from sfumato.tables.settings import at_least
from sfumato.tables.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(Table):
    """One row a threshold, from the strictest: items at least as sure as `confidence` are kept, a share `coverage` of
    all, and of these a share `risk` is wrong. What is not kept would go to people."""

    confidence: Float[np.ndarray, "thresholds"]
    coverage: Float[np.ndarray, "thresholds"]
    risk: Float[np.ndarray, "thresholds"]
    n_items: Int[np.ndarray, "thresholds"]

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "confidence", "coverage", "risk", "n_items")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns: dict[str, Any] = {
            name: pa.array(getattr(self, name)[start:stop]) for name in ("confidence", "coverage", "risk", "n_items")
        }
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.confidence)


def risk_coverage(compared: MatchedLabels, *, points: int = 1000) -> RiskCoverage:
    """The curve at every confidence that occurs, or at about `points` of them, evenly spaced in coverage, always with
    the last, where everything is kept. Items of equal confidence are kept together or not at all."""
    at_least("points", points, 1)
    kept = SelectivePrediction.of(compared)
    last = np.flatnonzero(np.diff(kept.group, append=kept.group[-1] + 1))
    if len(last) > points:
        wanted = np.searchsorted(kept.n_kept[last], np.linspace(0, len(kept), points + 1)[1:])
        last = last[np.unique(np.minimum(wanted, len(last) - 1))]
    n_kept = kept.n_kept[last]
    return RiskCoverage(kept.confidence[last], n_kept / len(kept), kept.risk[last], n_kept)
