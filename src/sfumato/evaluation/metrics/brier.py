"""The Brier score, and its decomposition into calibration and refinement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, from_influence, mean_over_items
from sfumato.evaluation.metrics.confidence_bins import equal_width
from sfumato.evaluation.score_floor import brier_of_constant, chance_floor, floor_of_votes
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.setting_checks import at_least

BOUNDS = (0.0, 2.0)


@dataclass(frozen=True)
class Brier:
    """The mean over items of `sum_k (p_k - q_k)^2`, from 0 to 2: Brier's own form (1950), not divided by the number of
    classes.

    A proper score that is always finite. Prefer `cross_entropy` where confident mistakes should cost more. It is the
    sum of `brier_calibration` and `brier_refinement`. The floor is the value of the crowd's own distribution against
    the same number of votes, if `people` are votes.
    """

    name, better, bounds = "brier", Better.LOW, BOUNDS

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        floor = floor_of_votes(matched, _terms, brier_of_constant)
        return mean_over_items(matched.squared_distances, bootstrap, floor=floor)


def _terms(q: Float[np.ndarray, "nodes n"], p: Float[np.ndarray, "nodes n"]) -> Float[np.ndarray, "nodes n"]:
    return np.asarray((q - p) ** 2)


BINS = 15


@dataclass(frozen=True, eq=False)
class BrierParts:
    """For each class, items are binned by its predicted probability; in bin b of class k the mean difference between
    predictions and people is d_kb.

    `calibration = sum_k sum_b n_kb / n d_kb^2` disappears if every prediction is shifted by the difference of its bin.
    The rest of the Brier score is the variance of differences within bins.
    """

    calibration: float
    bias: float
    """The sum of the squared standard errors of all d_kb: how much chance increases the calibration part."""
    influence: Float[np.ndarray, "items"]
    """The contribution of each item to the calibration part, to first order."""

    @classmethod
    def of(cls, matched: MatchedLabels, n_bins: int) -> BrierParts:
        n = len(matched)
        calibration, bias, influence = 0.0, 0.0, np.zeros(n)
        for predicted, people in zip(matched.predicted.T, matched.people.T, strict=True):
            place = equal_width(predicted, n_bins)
            difference = predicted - people
            n_in = np.bincount(place, minlength=n_bins)
            mean = np.bincount(place, difference, minlength=n_bins) / np.maximum(n_in, 1)
            spread = np.bincount(place, difference**2, minlength=n_bins) - n_in * mean**2
            calibration += float(n_in @ mean**2) / n
            # A bin with one item has no variance: its whole square counts as chance.
            alone = np.where(n_in == 1, mean**2, spread / np.maximum(n_in - 1, 1))
            bias += float(np.maximum(alone, 0.0).sum()) / n
            influence += 2 * mean[place] * difference - (mean**2)[place]
        return cls(calibration, min(bias, calibration), influence - calibration)


@dataclass(frozen=True)
class BrierCalibration:
    """The part of the Brier score that disappears if, per class, the predictions in each of `bins` equally wide bins
    are shifted to people's mean: `sum_k sum_b n_kb / n (mean p - mean q)^2` (Murphy 1973; DeGroot & Fienberg 1983).

    Unlike `ece` it uses every class and the share of people who chose it. `brier_calibration` and `brier_refinement`
    add up to `brier` exactly. Chance makes it larger: the floor is about the value of a calibrated model, and the
    interval is corrected for it (and extended to the value, where it would end below).
    """

    bins: int = BINS

    name, better, bounds = "brier_calibration", Better.LOW, BOUNDS

    def __post_init__(self) -> None:
        at_least("bins", self.bins, 1)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        parts = BrierParts.of(matched, self.bins)
        floor = chance_floor(matched, parts.bias)
        return from_influence(
            parts.calibration, parts.influence, bootstrap, bounds=self.bounds, bias=parts.bias, floor=floor
        )


@dataclass(frozen=True)
class BrierRefinement:
    """The Brier score minus `brier_calibration`: how much people's labels vary within bins of equal predictions
    (Murphy 1973; DeGroot & Fienberg 1983).

    Recalibration does not change it; only predictions that separate items better do. It is Murphy's uncertainty minus
    resolution, including the variation of predictions within a bin, so that both parts add up to `brier` exactly.
    """

    bins: int = BINS

    name, better, bounds = "brier_refinement", Better.LOW, BOUNDS

    def __post_init__(self) -> None:
        at_least("bins", self.bins, 1)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        parts = BrierParts.of(matched, self.bins)
        brier = float(matched.squared_distances.mean())
        influence = matched.squared_distances - brier - parts.influence
        value = max(brier - parts.calibration, 0.0)
        return from_influence(value, influence, bootstrap, bounds=self.bounds, bias=-parts.bias)
