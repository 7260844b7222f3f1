"""Root mean square calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, sqrt
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, undefined
from sfumato.evaluation.metrics.bins import EqualCount
from sfumato.tables.bootstrap import Bootstrap, Interval
from sfumato.tables.settings import at_least, one_of

FORMS = ("all", "debiased", "published")


@dataclass(frozen=True)
class RMSCalibration:
    """`sqrt(sum_b n_b / n (conf_b - acc_b)^2)` over bins of `size` items in order of confidence, the last bin with what
    remains (Hendrycks et al. 2019).

    Chance makes it larger: a perfectly calibrated model gets its floor, .04 with 3,000 items in bins of 100 and .12
    with 100 in bins of 10. `form` says what to do:

    - `all`: every bin counts, as defined above. The default; never compare it between different sizes.
    - `debiased`: `acc_b (1 - acc_b) / (n_b - 1)` is taken off every square (Kumar et al. 2019), at least 0 in all.
    - `published`: the published code's figure, which leaves out the last bin, that of the most confident, and breaks
      ties by the order of items. Only to compare with published figures.

    The interval, in every form, is about the error itself, without the chance in its bins: normal on the scale of the
    debiased square, as in Sun et al. (2024), so that it may lie below the value. Items of equal confidence are put in
    bins at random, and the value is the root of the expected square.
    """

    name: ClassVar[str] = "rms_calibration"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    size: int = 100
    form: str = "all"

    def __post_init__(self) -> None:
        at_least("size", self.size, 2)
        one_of("form", self.form, FORMS)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        published = self.form == "published"
        bins = (EqualCount.as_sorted if published else EqualCount.of)(compared, self.size)
        counted = np.ones(len(bins.n_items), bool)
        if published:
            counted[-1] = False
        n = len(compared)
        if not counted.any():
            return undefined("the published form leaves out the last bin, and there is no other", n)
        if (bins.n_items < 2).any():
            return undefined("one item alone", n)
        share = np.where(counted, bins.n_items / n, 0.0)
        debiased = bins.squared_gaps - bins.spread / (bins.n_items - 1)
        square = float(share @ (debiased if self.form == "debiased" else bins.squared_gaps))
        between = _interval(bins, share, resampling)
        floor = 0.0 if self.form == "debiased" else _rms_floor(compared, bins, counted)
        return Estimate(sqrt(max(square, 0.0)), between, int(bins.n_items[counted].sum()), floor)


def _interval(bins: EqualCount, share: np.ndarray, resampling: Bootstrap) -> Interval:
    """Normal on the squared scale: with d a bin's true gap and s^2 the variance of an item, the debiased square of the
    bin has variance 4 d^2 s^2 / n_b + 2 s^4 / (n_b (n_b - 1)); that items could have had other confidences adds the
    variance of d^2 between bins, over the number of items."""
    n = bins.n_items
    squares = bins.squared_gaps - bins.spread / (n - 1)
    s2 = bins.spread * n / (n - 1)
    of_noise = 2 * s2**2 / (n * (n - 1))
    within = np.maximum(4 * squares * s2 / n + of_noise, 0.0)
    mean = float(share @ squares)
    spread = float(share @ squares**2) - mean**2 - float(share @ within)
    variance = max(float(share**2 @ (4 * squares * s2 / n + of_noise)), float(share**2 @ of_noise))
    variance += max(spread, 0.0) / resampling.n_items
    reach = resampling.normal_quantile * sqrt(variance)
    if variance == 0:
        return Interval(np.nan, np.nan, "none: nothing varies within bins")
    kind = f"{100 * resampling.level:g}% normal on the debiased square over items"
    low, high = (sqrt(max(each, 0.0)) for each in (mean - reach, mean + reach))
    return Interval(low, high, kind + ": about the error itself, free of what chance adds to the value")


def _rms_floor(compared: MatchedLabels, bins: EqualCount, counted: Bool[np.ndarray, "bins"]) -> float:
    """The expected value were every item right with the probability of its confidence.

    The sum of squares is taken for a multiple of chi-squared with its own mean and variance (Satterthwaite 1946),
    of which the root has the mean `sqrt(mean 2 / v) Gamma((v + 1) / 2) / Gamma(v / 2)`, v = 2 mean^2 / variance.
    """
    confidence = np.clip(compared.confidence[compared.by_confidence], 0, 1)
    starts = np.cumsum(bins.n_items) - bins.n_items
    of_item = confidence * (1 - confidence)
    of_bin = np.add.reduceat(of_item, starts) / bins.n_items**2
    fourth = np.add.reduceat(of_item * (1 - 6 * of_item), starts) / bins.n_items**4
    share = np.where(counted, bins.n_items / len(compared), 0.0)
    mean, variance = float(share @ of_bin), float(share**2 @ (2 * of_bin**2 + fourth))
    if mean == 0 or variance <= 0:
        return sqrt(mean)
    v = 2 * mean**2 / variance
    return sqrt(mean * 2 / v) * exp(lgamma((v + 1) / 2) - lgamma(v / 2))
