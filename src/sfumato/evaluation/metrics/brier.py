"""The Brier score.

The Brier score taken apart: what a shift of predictions would mend, and what it would not.

The part of the Brier score that is miscalibration.

The part of the Brier score that is not miscalibration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, floor_of_votes, from_influence, mean_over_items
from sfumato.evaluation.metrics.calibration_bins import equal_width
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import at_least


@dataclass(frozen=True)
class Brier:
    """The mean over items of `sum_k (p_k - q_k)^2`, from 0 to 2: Brier's own form (1950), not divided by the number of
    classes.

    A proper score that stays finite whatever is predicted. Prefer `cross_entropy` where confident mistakes should cost
    more. It is the sum of `brier_calibration` and `brier_refinement`. The floor is what the crowd's own distribution
    would get against as many votes, where `people` are votes (see `votes`).
    """

    name: ClassVar[str] = "brier"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.squared_distances, resampling, floor=floor_of_votes(compared, _terms))


def _terms(q: Float[np.ndarray, "n"], p: float) -> Float[np.ndarray, "n"]:
    return np.asarray((q - p) ** 2)


BINS = 15


@dataclass(frozen=True, eq=False)
class BrierParts:
    """For each class apart, items are put in bins of its predicted probability; in bin b of class k the predictions
    miss people by d_kb on average.

    `calibration = sum_k sum_b n_kb / n d_kb^2` is what would go, were every prediction shifted by its bin's miss; the
    rest of the Brier score is the spread of misses within bins, which no such shift can mend.
    """

    calibration: float
    bias: float
    """By how much chance makes it too large: the squared standard error of every d_kb, summed up."""
    influence: Float[np.ndarray, "items"]
    """What each item adds to calibration, to first order."""

    @classmethod
    def of(cls, compared: MatchedLabels, n_bins: int) -> BrierParts:
        n = len(compared)
        found, bias, influence = 0.0, 0.0, np.zeros(n)
        for predicted, people in zip(compared.predicted.T, compared.people.T, strict=True):
            place = equal_width(predicted, n_bins)
            miss = predicted - people
            n_in = np.bincount(place, minlength=n_bins)
            mean = np.bincount(place, miss, minlength=n_bins) / np.maximum(n_in, 1)
            spread = np.bincount(place, miss**2, minlength=n_bins) - n_in * mean**2
            found += float(n_in @ mean**2) / n
            # One item alone says nothing about spread: its square is all chance.
            alone = np.where(n_in == 1, mean**2, spread / np.maximum(n_in - 1, 1))
            bias += float(np.maximum(alone, 0.0).sum()) / n
            influence += 2 * mean[place] * miss - (mean**2)[place]
        return cls(found, min(bias, found), influence - found)


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
