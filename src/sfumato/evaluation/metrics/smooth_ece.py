"""Smooth calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate
from sfumato.evaluation.metrics.calibration_bins import (
    Gaps,
    cosines,
    from_cosines,
    inverted,
    likely_gaps,
    noise_of,
    on_grid,
    trapezoid,
)
from sfumato.tables.bootstrap import Bootstrap

FINE, COARSE = 2**14 + 1, 2**8 + 1
"""Points of the grid for the value, and for its interval and floor."""
NARROWEST = 4e-3
HALVINGS = 44


@dataclass(frozen=True)
class SmoothECE:
    """The integral of the absolute gap between confidence and accuracy, smoothed along confidence by a reflected
    Gaussian as wide as the error itself: `smECE_s = s` (Blasiok & Nakkiran 2023).

    No bins to choose, continuous in the predictions, and within a constant factor of the distance to the nearest
    calibrated predictions. Prefer it to `ece`. Chance makes it larger: its floor is what a perfectly calibrated model
    of the same confidences would get on average, and the interval is about the error with infinitely many items, so
    that the value may lie above it. Near perfect calibration its coverage is not promised.
    """

    name: ClassVar[str] = "smooth_ece"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        n = len(compared)
        value = _fixed_point(on_grid(compared.confidence, compared.gaps, FINE) / n)
        sums = on_grid(compared.confidence, compared.gaps, COARSE)
        found, likely = cosines(sums / n), cosines(likely_gaps(compared, COARSE))
        squares = on_grid(compared.confidence, compared.gaps**2, COARSE)
        noise = cosines(noise_of(sums, squares, n, resampling))

        def gaps_at(error: float) -> Gaps:
            width = max(error, NARROWEST)
            at_width = [from_cosines(each, width) for each in (found, likely, noise)]
            return Gaps(at_width[0], at_width[1], at_width[2], trapezoid(COARSE))

        return Estimate(value, inverted(gaps_at, value, resampling), n, _floor(compared))


def _fixed_point(gaps: Float[np.ndarray, "points"]) -> float:
    """The width that equals the error of mean gaps on a grid; the wider, the smaller the error is."""
    heights, weights = cosines(gaps), trapezoid(len(gaps))
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        error = float(np.abs(from_cosines(heights, middle)) @ weights)
        low, high = (middle, high) if error > middle else (low, middle)
    return low


def _floor(compared: MatchedLabels) -> float:
    """The fixed point were every item right with the probability of its confidence: the gaps are then all but normal,
    and the mean of a normal number's absolute value is sqrt(2 / pi) standard deviations."""
    n = len(compared)
    confidence = np.clip(compared.confidence, 0, 1)
    variances = on_grid(confidence, confidence * (1 - confidence), COARSE) / n**2
    weights, each = trapezoid(COARSE) * np.sqrt(2 / np.pi), cosines(np.eye(COARSE))

    def expected(width: float) -> float:
        kernel = from_cosines(each, max(width, NARROWEST))
        return float(weights @ np.sqrt(variances @ kernel**2))

    # As noise goes with the inverse root of the width, this comes near the fixed point at once.
    width = 0.05
    for _ in range(5):
        width = float(np.cbrt(expected(width) ** 2 * width))
    return width
