"""Smooth calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import SHARE, Better, Estimate, linear_part
from sfumato.evaluation.metrics.confidence_bins import (
    Gaps,
    cosines,
    from_cosines,
    inverted_test,
    likely_gaps,
    noise_of,
    on_grid,
    trapezoid,
)
from sfumato.evaluation.score_floor import chance_floor
from sfumato.tables.bootstrap import Bootstrap

FINE, COARSE = 2**14 + 1, 2**8 + 1
"""Number of grid points for the value, and for its interval and floor."""
NARROWEST = 4e-3
TOLERANCE = 1e-13


@dataclass(frozen=True)
class SmoothECE:
    """The integral of the absolute gap between confidence and accuracy, smoothed along confidence by a reflected
    Gaussian as wide as the error itself: `smECE_s = s` (Blasiok & Nakkiran 2023).

    No bins to choose, continuous in the predictions, and within a constant factor of the distance to the nearest
    calibrated predictions. Prefer it to `ece`. Chance makes it larger: its floor is the expected value of a perfectly
    calibrated model with the same confidences, and the interval is about the error with infinitely many items, in
    scores extended to the value where it would end below. Near perfect calibration the coverage of the interval is not
    guaranteed.
    """

    name, better, bounds = "smooth_ece", Better.LOW, SHARE

    def value(self, matched: MatchedLabels) -> float:
        """The error without its interval and floor."""
        return _fixed_point(on_grid(matched.confidence, matched.gaps, FINE) / len(matched))

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        n, value = len(matched), self.value(matched)
        sums = on_grid(matched.confidence, matched.gaps, COARSE)
        found, likely = cosines(sums / n), cosines(likely_gaps(matched, COARSE))
        squares = on_grid(matched.confidence, matched.gaps**2, COARSE)
        noise = cosines(noise_of(sums, squares, n, bootstrap))

        def gaps_at(error: float) -> Gaps:
            width = max(error, NARROWEST)
            at_width = [from_cosines(each, width) for each in (found, likely, noise)]
            return Gaps(at_width[0], at_width[1], at_width[2], trapezoid(COARSE))

        floor = chance_floor(matched, _floor(matched))
        linear = linear_part(value, _influence(matched, found, value), bootstrap)
        return Estimate(value, inverted_test(gaps_at, value, bootstrap), n, floor.value, floor.note, linear)


def _influence(matched: MatchedLabels, found: Float[np.ndarray, "points"], value: float) -> Float[np.ndarray, "items"]:
    """The contribution of each item: its gap, smoothed, with the sign of the smoothed gap; a larger error also widens
    the smoothing, which reduces it."""
    width = max(value, NARROWEST)
    weights, step = trapezoid(COARSE), width / 16
    at = from_cosines(found, width)
    direction = from_cosines(cosines(np.sign(at) * weights), width)
    around = [float(np.abs(from_cosines(found, each)) @ weights) for each in (width - step, width + step)]
    slope = (around[1] - around[0]) / (2 * step) if value > NARROWEST else 0.0
    parts = np.interp(np.clip(matched.confidence, 0, 1), np.linspace(0, 1, COARSE), direction) * matched.gaps
    return np.asarray((parts - parts.mean()) / (1 - min(slope, 0.0)))


def _fixed_point(gaps: Float[np.ndarray, "points"]) -> float:
    """The width that equals the error of mean gaps on a grid; the error decreases with the width."""
    heights, weights = cosines(gaps), trapezoid(len(gaps))

    def above(width: float) -> float:
        return float(np.abs(from_cosines(heights, width)) @ weights) - width

    # False position that halves the value at an end that stays (the Illinois method): about five steps.
    low, high, at_low, at_high = 0.0, 1.0, above(0.0), above(1.0)
    if at_low <= 0:
        return low
    moved = 0
    while high - low > TOLERANCE:
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            return middle
        at_middle = above(middle)
        if abs(at_middle) < TOLERANCE:
            return middle
        if at_middle > 0:
            low, at_low, at_high, moved = middle, at_middle, at_high / 2 if moved > 0 else at_high, 1
        else:
            high, at_high, at_low, moved = middle, at_middle, at_low / 2 if moved < 0 else at_low, -1
    return low


def _floor(matched: MatchedLabels) -> float:
    """The fixed point if every item is right with the probability of its confidence: the gaps are then nearly normal,
    and the mean absolute value of a normal variable is sqrt(2 / pi) standard deviations."""
    n = len(matched)
    confidence = np.clip(matched.confidence, 0, 1)
    variances = on_grid(confidence, confidence * (1 - confidence), COARSE) / n**2
    weights, each = trapezoid(COARSE) * np.sqrt(2 / np.pi), cosines(np.eye(COARSE))

    def expected(width: float) -> float:
        kernel = from_cosines(each, max(width, NARROWEST))
        return float(weights @ np.sqrt(variances @ kernel**2))

    # Noise is proportional to the inverse root of the width, so this converges quickly.
    width = 0.05
    for _ in range(5):
        width = float(np.cbrt(expected(width) ** 2 * width))
    return width
