"""Estimates: a number with the interval it lies in, and how both are said."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import final

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

LEVEL = 0.95


@final
@dataclass(frozen=True)
class DisplayedEstimate:
    """A figure and its 95% interval, both NaN where there is nothing to go by; `n` is how many it rests on."""

    value: float
    low: float
    high: float
    n: int

    def percent(self, decimals: int | None = None) -> str:
        """`1.2% (0.9% to 1.6%)`."""
        places = _places(100 * (self.high - self.low)) if decimals is None else decimals
        return self._said(lambda value: f"{100 * value:.{places}f}%")

    def figure(self, decimals: int | None = None, unit: str = "") -> str:
        """`0.32 (0.29 to 0.35)`, with as many decimals as its interval calls for."""
        places = _places(self.high - self.low) if decimals is None else decimals
        return self._said(lambda value: f"{value:,.{places}f}", unit)

    def _said(self, shown, unit: str = "") -> str:  # type: ignore[no-untyped-def]
        after = f" {unit}" if unit else ""
        if self.value != self.value:
            return "unknown"
        if self.low != self.low:
            return f"{shown(self.value)}{after}"
        return f"{shown(self.value)}{after} ({shown(self.low)} to {shown(self.high)})"


def share_of(n: int, of: int) -> DisplayedEstimate:
    """The share `n / of`, with Wilson's score interval (1927): never below 0 nor above 1, sound for few."""
    if not of:
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share = n / of
    middle = (share + z**2 / (2 * of)) / (1 + z**2 / of)
    reach = z / (1 + z**2 / of) * np.sqrt(share * (1 - share) / of + z**2 / (4 * of**2))
    low, high = max(middle - reach, 0.0), min(middle + reach, 1.0)
    return DisplayedEstimate(share, 0.0 if n == 0 else float(low), 1.0 if n == of else float(high), of)


def mean_of(values: Float[np.ndarray, "values"]) -> DisplayedEstimate:
    """The mean, with the normal interval of its standard error; of fewer than two values without one.

    For means over many; of a few the interval is too narrow.
    """
    if not len(values):
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    mean = float(values.mean())
    if len(values) < 2:
        return DisplayedEstimate(mean, np.nan, np.nan, len(values))
    reach = NormalDist().inv_cdf((1 + LEVEL) / 2) * float(values.std(ddof=1)) / np.sqrt(len(values))
    return DisplayedEstimate(mean, mean - reach, mean + reach, len(values))


def median_of(values: Float[np.ndarray, "values"]) -> DisplayedEstimate:
    """The median, between the two order statistics that hold it with 95% at least, whatever the distribution.

    Without an interval where there are too few values for one (Conover 1999, section 3.2).
    """
    n = len(values)
    if not n:
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    ordered = np.sort(values)
    below = int(binom.ppf((1 - LEVEL) / 2, n, 0.5))
    if below < 1:
        return DisplayedEstimate(float(np.median(ordered)), np.nan, np.nan, n)
    return DisplayedEstimate(float(np.median(ordered)), float(ordered[below - 1]), float(ordered[n - below]), n)


def _places(width: float) -> int:
    """So many decimals that an interval of this width is shown in two digits or so."""
    if width != width or width <= 0:
        return 2
    return int(min(max(1 - np.floor(np.log10(width)), 0), 4))
