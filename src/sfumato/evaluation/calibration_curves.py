"""Reliability diagrams (accuracy by confidence) and risk-coverage curves, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metrics.confidence_bins import equal_width
from sfumato.evaluation.metrics.selective import SelectivePrediction
from sfumato.tables.base_table import ColumnTable
from sfumato.tables.setting_checks import at_least


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(ColumnTable):
    """One row per range of confidence: mean confidence, accuracy, and its interval from `low` to `high`.

    The interval is Wilson's (1927), over the items of the row. NaN without items.
    """

    start: Float[np.ndarray, "rows"]
    end: Float[np.ndarray, "rows"]
    n_items: Float[np.ndarray, "rows"]
    confidence: Float[np.ndarray, "rows"]
    accuracy: Float[np.ndarray, "rows"]
    low: Float[np.ndarray, "rows"]
    high: Float[np.ndarray, "rows"]

    renamed: ClassVar[Mapping[str, str]] = {"start": "from", "end": "to"}

    @classmethod
    def from_sums(
        cls,
        start: Float[np.ndarray, "rows"],
        end: Float[np.ndarray, "rows"],
        n_items: Float[np.ndarray, "rows"],
        sure: Float[np.ndarray, "rows"],
        right: Float[np.ndarray, "rows"],
        level: float,
    ) -> Reliability:
        """From the sums of confidence and of right predictions over each row's items."""
        n = np.where(n_items > 0, n_items, np.nan)
        accuracy = np.clip(right / n, 0, 1)
        z = NormalDist().inv_cdf((1 + level) / 2)
        middle = (accuracy + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * np.sqrt(accuracy * (1 - accuracy) / n + z**2 / (4 * n**2))
        return cls(start, end, n_items, sure / n, accuracy, middle - reach, middle + reach)


def reliability(matched: MatchedLabels, *, bins: int = 15, level: float = 0.95) -> Reliability:
    """Accuracy by confidence in equally wide bins (lo, hi], as in `ece`."""
    at_least("bins", bins, 1)
    edges = np.linspace(0, 1, bins + 1)
    place = equal_width(matched.confidence, bins)
    n_items, sure, right = (
        np.bincount(place, each, minlength=bins) for each in (np.ones(len(matched)), matched.confidence, matched.right)
    )
    return Reliability.from_sums(edges[:-1], edges[1:], n_items, sure, right, level)


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(ColumnTable):
    """One row per threshold, strictest first: a share `coverage` of items has at least this `confidence`, and a share
    `risk` of these is wrong. The other items would be labeled by people."""

    confidence: Float[np.ndarray, "thresholds"]
    coverage: Float[np.ndarray, "thresholds"]
    risk: Float[np.ndarray, "thresholds"]
    n_items: Int[np.ndarray, "thresholds"]


def risk_coverage(matched: MatchedLabels, *, points: int = 1000) -> RiskCoverage:
    """The curve at every confidence that occurs, or at about `points` of them, evenly spaced in coverage, including
    full coverage. Items of equal confidence stay together."""
    at_least("points", points, 1)
    kept = SelectivePrediction.of(matched)
    last = np.flatnonzero(np.diff(kept.group, append=kept.group[-1] + 1))
    if len(last) > points:
        wanted = np.searchsorted(kept.n_kept[last], np.linspace(0, len(kept), points + 1)[1:])
        last = last[np.unique(np.minimum(wanted, len(last) - 1))]
    n_kept = kept.n_kept[last]
    return RiskCoverage(kept.confidence[last], n_kept / len(kept), kept.risk[last], n_kept)
