"""Expected calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate
from sfumato.evaluation.metrics.bins import equal_width
from sfumato.evaluation.metrics.norms import Gaps, inverted, likely_gaps, noise_of
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import at_least

POINTS = 2**10 + 1
"""Of the grid on which gaps are smoothed for the interval."""


@dataclass(frozen=True)
class ECE:
    """`sum_b n_b / n |conf_b - acc_b|` over `bins` equally wide bins (lo, hi] of confidence (Guo et al. 2017, after
    Naeini et al. 2015); right means that the first choice is people's.

    Chance makes it larger, the more so the fewer items there are: its floor is what a perfectly calibrated model of
    the same confidences would get on average. The interval is about the error of these bins with infinitely many
    items, so that the value may lie above it. Near perfect calibration no interval for a sum of absolute values can
    be exact, and its coverage there is not promised. Prefer `smooth_ece`, which does not depend on where bins
    end, or `rms_calibration` with `form="debiased"`.
    """

    name: ClassVar[str] = "ece"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    bins: int = 15

    def __post_init__(self) -> None:
        at_least("bins", self.bins, 1)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        n = len(compared)
        place = equal_width(compared.confidence, self.bins)
        sums = np.bincount(place, compared.gaps, minlength=self.bins)
        squares = np.bincount(place, compared.gaps**2, minlength=self.bins)
        points = equal_width(np.linspace(0, 1, POINTS), self.bins)
        likely = np.bincount(points, likely_gaps(compared, POINTS), minlength=self.bins)
        gaps = Gaps(sums / n, likely, noise_of(sums, squares, n, resampling), np.ones(self.bins))
        value = float(np.abs(sums).sum() / n)
        floor = _ece_floor(compared.confidence, place, self.bins)
        return Estimate(value, inverted(lambda _: gaps, value, resampling), n, floor)


def _ece_floor(confidence: Float[np.ndarray, "items"], place: Int[np.ndarray, "items"], n_bins: int) -> float:
    """The expected value were every item right with the probability of its confidence.

    In a bin the number right is all but binomial, whose mean absolute deviation is `2 v (1 - c) Pr(v)` with
    v = floor(n c) + 1 (de Moivre 1730), scaled to the variance that unequal confidences leave.
    """
    expected = 0.0
    for n, total, variance in zip(
        np.bincount(place, minlength=n_bins).tolist(),
        np.bincount(place, confidence, minlength=n_bins).tolist(),
        np.bincount(place, confidence * (1 - confidence), minlength=n_bins).tolist(),
        strict=True,
    ):
        c = total / n if n else 0.0
        if n and 0 < c < 1:
            v = int(total) + 1
            log_chance = lgamma(n + 1) - lgamma(v + 1) - lgamma(n - v + 1) + v * np.log(c) + (n - v) * np.log1p(-c)
            deviation = 2 * v * (1 - c) * np.exp(log_chance)
            expected += deviation * np.sqrt(max(variance, 0.0) / (n * c * (1 - c)))
    return float(expected / len(confidence))
