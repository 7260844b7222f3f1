"""What every metric is: a figure about predictions beside people's labels, with an interval and a floor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from sfumato.evaluate.compared import Compared
from sfumato.resampling import Interval, Resampling

NO_ORIGINAL = "needs the original labels"


class Better(StrEnum):
    """Which way a metric gets better."""

    LOW = "lower is better"
    HIGH = "higher is better"
    NEITHER = "neither way is better"


@dataclass(frozen=True)
class Estimate:
    """What a metric says: its value over `n_items`, an interval, and the floor that no predictions get under (for
    metrics where high is better: above), NaN where there is none to speak of."""

    value: float
    interval: Interval
    n_items: int
    floor: float = np.nan


@runtime_checkable
class Metric(Protocol):
    """A figure about predictions. A frozen dataclass whose fields are its settings."""

    @property
    def name(self) -> str:
        """As it stands in Scores: lower case, words joined by `_`."""

    @property
    def better(self) -> Better: ...

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what its values lie."""

    def missing(self, compared: Compared) -> str:
        """What there would have to be, in words that say it is not there; empty where the figure can be had."""

    def estimate(self, compared: Compared, resampling: Resampling) -> Estimate:
        """The figure, with an interval from `resampling`, which draws the same items."""


def mean_over_items(
    values: Float[np.ndarray, "items"],
    resampling: Resampling,
    *,
    weights: Float[np.ndarray, "items"] | None = None,
    floor: float = np.nan,
) -> Estimate:
    """The mean of one value an item; items whose weight is 0 do not count."""
    counted = np.ones(len(values)) if weights is None else weights
    if not np.isfinite(values[counted > 0]).all():
        return Estimate(
            float(np.average(values, weights=counted)),
            Interval(np.nan, np.nan, "none: infinite for some items"),
            int((counted > 0).sum()),
            floor,
        )
    sums = resampling.sums(np.where(counted > 0, values, 0.0) * counted, counted)
    return from_sums(sums, ratio, resampling, n_items=int((counted > 0).sum()), floor=floor)


def from_sums(
    sums: Float[np.ndarray, "blocks sums"],
    value: Callable[[Float[np.ndarray, "draws sums"]], Float[np.ndarray, "draws"]],
    resampling: Resampling,
    *,
    n_items: int,
    floor: float = np.nan,
) -> Estimate:
    """The figure that `value` takes from sums over items, with the percentile interval of its draws."""
    figure = float(value(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(figure):
        return Estimate(figure, Interval(np.nan, np.nan, "none: undefined"), n_items, floor)
    return Estimate(figure, resampling.interval(sums, value), n_items, floor)


def ratio(totals: Float[np.ndarray, "draws 2"]) -> Float[np.ndarray, "draws"]:
    """The first sum over the second, NaN where nothing stands below."""
    above, below = totals[:, 0], totals[:, 1]
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))
