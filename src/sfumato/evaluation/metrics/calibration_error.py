"""Binned calibration errors: expected (ECE) and root mean square."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, sqrt

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import SHARE, Better, Estimate, LinearPart, linear_part, undefined
from sfumato.evaluation.metrics.confidence_bins import (
    EqualCount,
    Gaps,
    equal_width,
    inverted_test,
    likely_gaps,
    noise_of,
)
from sfumato.evaluation.score_floor import bound, chance_floor
from sfumato.tables.bootstrap import Bootstrap, Interval
from sfumato.tables.setting_checks import at_least, one_of

ONE_BIN = "all items are in one bin, so that this is only the mean confidence minus accuracy"
POINTS = 2**10 + 1
"""Number of grid points on which gaps are smoothed for the interval."""


@dataclass(frozen=True)
class ECE:
    """`sum_b n_b / n |conf_b - acc_b|` over `bins` equally wide bins (lo, hi] of confidence (Guo et al. 2017, after
    Naeini et al. 2015); right: the most probable class is people's.

    Chance makes it larger, most with few items: its floor is the expected value of a perfectly calibrated model with
    the same confidences. The interval is about the error of these bins with infinitely many items; where it would end
    below the value, scores extend it to the value. Near perfect calibration no interval for a sum of absolute values is
    exact, and its coverage is not guaranteed. Prefer `smooth_ece`, which does not depend on the bin edges, or
    `rms_calibration` with `form="debiased"`.
    """

    bins: int = 15

    name, better, bounds = "ece", Better.LOW, SHARE

    def __post_init__(self) -> None:
        at_least("bins", self.bins, 1)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        n = len(matched)
        place = equal_width(matched.confidence, self.bins)
        sums = np.bincount(place, matched.gaps, minlength=self.bins)
        squares = np.bincount(place, matched.gaps**2, minlength=self.bins)
        points = equal_width(np.linspace(0, 1, POINTS), self.bins)
        likely = np.bincount(points, likely_gaps(matched, POINTS), minlength=self.bins)
        gaps = Gaps(sums / n, likely, noise_of(sums, squares, n, bootstrap), np.ones(self.bins))
        value = float(np.abs(sums).sum() / n)
        floor = chance_floor(matched, _ece_floor(matched.confidence, place, self.bins))
        between = inverted_test(lambda _: gaps, value, bootstrap)
        linear = linear_part(value, np.sign(sums)[place] * matched.gaps - value, bootstrap)
        untested = ONE_BIN if np.ptp(place) == 0 else ""
        return Estimate(value, between, n, floor.value, floor.note, linear, untested)


def _ece_floor(confidence: Float[np.ndarray, "items"], place: Int[np.ndarray, "items"], n_bins: int) -> float:
    """The expected value if every item is right with the probability of its confidence.

    In a bin the number of right items is nearly binomial, with mean absolute deviation `2 v (1 - c) Pr(v)`,
    v = floor(n c) + 1 (de Moivre 1730), scaled to the variance of unequal confidences.
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


FORMS = ("all", "debiased", "published")


@dataclass(frozen=True)
class RMSCalibration:
    """`sqrt(sum_b n_b / n (conf_b - acc_b)^2)` over bins of `size` items in order of confidence, the last bin with the
    rest (Hendrycks et al. 2019).

    Chance makes it larger: a perfectly calibrated model has the value of its floor, 0.04 with 3,000 items in bins of
    100 and 0.12 with 100 items in bins of 10. `form` sets the correction:

    - `all`: every bin counts, as defined above. The default; do not compare it between different sizes.
    - `debiased`: subtracts `acc_b (1 - acc_b) / (n_b - 1)` from every square (Kumar et al. 2019), total at least 0.
    - `published`: the value of the published code, which omits the last bin (the most confident items) and breaks
      ties by the order of items. Only to compare with published values.

    The interval, in every form, is about the error without the effect of chance: normal on the scale of the debiased
    square, as in Sun et al. (2024); where it would end below the value, scores extend it. Items of equal confidence are
    assigned to bins at random, and the value is the root of the expected square.
    """

    size: int = 100
    form: str = "all"

    name, better, bounds = "rms_calibration", Better.LOW, SHARE

    def __post_init__(self) -> None:
        at_least("size", self.size, 2)
        one_of("form", self.form, FORMS)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        published = self.form == "published"
        bins = (EqualCount.as_sorted if published else EqualCount.of)(matched, self.size)
        counted = np.ones(len(bins.n_items), bool)
        if published:
            counted[-1] = False
        n = len(matched)
        if not counted.any():
            return undefined("the published form omits the last bin, and there is no other", n)
        if (bins.n_items < 2).any():
            return undefined("a bin with one item", n)
        share = np.where(counted, bins.n_items / n, 0.0)
        debiased = bins.squared_gaps - bins.spread / (bins.n_items - 1)
        square = float(share @ (debiased if self.form == "debiased" else bins.squared_gaps))
        between = _interval(bins, share, bootstrap)
        debiased_form = self.form == "debiased"
        floor = bound(0.0) if debiased_form else chance_floor(matched, _rms_floor(matched, bins, counted))
        n_counted = int(bins.n_items[counted].sum())
        value = sqrt(max(square, 0.0))
        linear = None if published else _rms_linear(matched, bins, value, bootstrap)
        untested = ONE_BIN if counted.sum() == 1 else "" if value > 0 else "an error of 0 has no standard error"
        return Estimate(value, between, n_counted, floor.value, floor.note, linear, untested)


def _rms_linear(matched: MatchedLabels, bins: EqualCount, value: float, bootstrap: Bootstrap) -> LinearPart | None:
    """An item adds `2 d_b (conf - acc) - d_b^2` to the sum of squares, d_b being the gap of its bin."""
    if value == 0:
        return None
    gap = np.repeat(bins.confidence - bins.accuracy, bins.n_items)
    squares = np.empty(len(matched))
    squares[matched.by_confidence] = 2 * gap * matched.gaps[matched.by_confidence] - gap**2
    return linear_part(value, (squares - squares.mean()) / (2 * value), bootstrap)


def _interval(bins: EqualCount, share: np.ndarray, bootstrap: Bootstrap) -> Interval:
    """Normal on the squared scale: with d a bin's true gap and s^2 the variance of an item, the debiased square of the
    bin has variance 4 d^2 s^2 / n_b + 2 s^4 / (n_b (n_b - 1)); sampling other confidences adds the variance of d^2
    between bins, divided by the number of items."""
    n = bins.n_items
    squares = bins.squared_gaps - bins.spread / (n - 1)
    s2 = bins.spread * n / (n - 1)
    of_noise = 2 * s2**2 / (n * (n - 1))
    within = np.maximum(4 * squares * s2 / n + of_noise, 0.0)
    mean = float(share @ squares)
    spread = float(share @ squares**2) - mean**2 - float(share @ within)
    variance = max(float(share**2 @ (4 * squares * s2 / n + of_noise)), float(share**2 @ of_noise))
    variance += max(spread, 0.0) / bootstrap.n_items
    reach = bootstrap.normal_quantile * sqrt(variance)
    if variance == 0:
        return Interval(np.nan, np.nan, "none: nothing varies within bins")
    kind = f"{100 * bootstrap.level:g}% normal on the debiased square over items"
    low, high = (sqrt(max(each, 0.0)) for each in (mean - reach, mean + reach))
    return Interval(low, high, kind + ": about the error itself, free of what chance adds to the value")


def _rms_floor(matched: MatchedLabels, bins: EqualCount, counted: Bool[np.ndarray, "bins"]) -> float:
    """The expected value if every item is right with the probability of its confidence.

    The sum of squares is approximated by a multiple of chi-squared with the same mean and variance (Satterthwaite
    1946); the mean of its root is `sqrt(mean 2 / v) Gamma((v + 1) / 2) / Gamma(v / 2)`, v = 2 mean^2 / variance.
    """
    confidence = np.clip(matched.confidence[matched.by_confidence], 0, 1)
    starts = np.cumsum(bins.n_items) - bins.n_items
    of_item = confidence * (1 - confidence)
    of_bin = np.add.reduceat(of_item, starts) / bins.n_items**2
    fourth = np.add.reduceat(of_item * (1 - 6 * of_item), starts) / bins.n_items**4
    share = np.where(counted, bins.n_items / len(matched), 0.0)
    mean, variance = float(share @ of_bin), float(share**2 @ (2 * of_bin**2 + fourth))
    if mean == 0 or variance <= 0:
        return sqrt(mean)
    v = 2 * mean**2 / variance
    return sqrt(mean * 2 / v) * exp(lgamma((v + 1) / 2) - lgamma(v / 2))
