"""The protocol of a metric, its estimate with interval and floor, and the ways to compute the interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.score_floor import Floor
from sfumato.tables.bootstrap import Bootstrap, Interval
from sfumato.tables.errors import warn

SHARE = (0.0, 1.0)
NOT_NEGATIVE = (0.0, np.inf)
NO_FLOOR = Floor()


class Better(StrEnum):
    """Which values of a metric are better."""

    LOW = "lower is better"
    HIGH = "higher is better"
    NEITHER = "neither way is better"


@dataclass(frozen=True, eq=False)
class ItemValues:
    """The value and the weight of every item, for a mean over items."""

    values: Float[np.ndarray, "items"]
    weights: Float[np.ndarray, "items"]


@dataclass(frozen=True, eq=False)
class LinearPart:
    """How much a value depends on each item, to first order: what intervals and tests of differences use.

    `blocks` has the contribution of each block of the bootstrap (of each item, if there are few), 0 on average.
    """

    figure: float
    blocks: Float[np.ndarray, "blocks"]
    per_item: ItemValues | None = None


@dataclass(frozen=True)
class Estimate:
    """The value of a metric over `n_items`, its interval, and the floor: the value to compare it with (NaN if there is
    none); `floor_note` says what the floor is, or why there is none.

    `linear` is used to compare runs. A metric that transforms an estimate also transforms its linear part; a linear
    part whose `figure` is not `value` is ignored. Without one, items are left out in turn, which takes longer.
    `untested` says why values are not compared, such as a calibration error with one bin; empty if they are.
    """

    value: float
    interval: Interval
    n_items: int
    floor: float = np.nan
    floor_note: str = ""
    linear: LinearPart | None = field(default=None, compare=False, repr=False)
    untested: str = ""

    @property
    def own_linear(self) -> LinearPart | None:
        """The linear part of `value`; None if there is none, or only one of another value."""
        return self.linear if self.linear is not None and self.linear.figure == self.value else None


@runtime_checkable
class Metric(Protocol):
    """A number computed from predictions and labels. A frozen dataclass whose fields are its settings.

    A metric that needs more than predictions and people's labels says so in a class attribute `needs`, for example
    `needs = ("original",)` (see `metric_scores.NEEDS`). If its interval or floor takes long, a method `value(matched)`
    that returns the value alone makes comparisons of runs faster.
    """

    @property
    def name(self) -> str:
        """The name in Scores: lower case, words joined by `_`."""

    @property
    def better(self) -> Better: ...

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value."""

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        """The value, with an interval from `bootstrap`, which resamples the items of `matched`."""


def clipped_estimate(metric: Metric, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
    """The estimate of `metric`, its interval clipped to the metric's bounds and extended to its value.

    An interval may be about the value without what chance adds, and then end below the value.
    """
    found = metric.estimate(matched, bootstrap)
    between = found.interval.within(metric.bounds)
    if found.value < between.low or found.value > between.high:
        low, high = min(between.low, found.value), max(between.high, found.value)
        between = Interval(low, high, f"{between.kind}; extended to the value")
    return replace(found, interval=between)


def mean_over_items(
    values: Float[np.ndarray, "items"],
    bootstrap: Bootstrap,
    *,
    weights: Float[np.ndarray, "items"] | None = None,
    floor: Floor | float = NO_FLOOR,
) -> Estimate:
    """The mean of one value per item; items with weight 0 do not count."""
    counted = np.ones(len(values)) if weights is None else weights
    counts = counted > 0
    n_items = int(counts.sum())
    if not np.isfinite(values[counts]).all():
        with np.errstate(invalid="ignore"):
            value = float(np.average(values[counts], weights=counted[counts]))
        none = Interval(np.nan, np.nan, "none: infinite for some items")
        return Estimate(value, none, n_items, *_parts(floor))
    sums = bootstrap.sums(np.where(counts, values, 0.0) * counted, counted)
    figure = float(ratio(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(figure):
        return undefined("undefined", n_items, floor)
    found = bootstrap.resampled_ratio(sums)
    of_block = (sums[:, 0] - figure * sums[:, 1]) * (len(sums) / sums[:, 1].sum())
    linear = LinearPart(figure, of_block, ItemValues(values, counted))
    return Estimate(figure, found.interval, n_items, *_parts(floor), linear)


def from_sums(
    sums: Float[np.ndarray, "blocks sums"],
    value: Callable[[Float[np.ndarray, "draws sums"]], Float[np.ndarray, "draws"]],
    bootstrap: Bootstrap,
    *,
    n_items: int,
    floor: Floor | float = NO_FLOOR,
) -> Estimate:
    """The value that `value` computes from sums over items, with the percentile interval of its draws."""
    figure = float(value(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(figure):
        return undefined("undefined", n_items, floor)
    found = bootstrap.resampled(sums, value)
    left_out = value(sums.sum(axis=0) - sums)
    of_block = (len(sums) - 1) * (np.nanmean(left_out) - left_out) if np.isfinite(left_out).any() else left_out
    linear = LinearPart(figure, of_block) if np.isfinite(of_block).all() else None
    return Estimate(figure, found.interval, n_items, *_parts(floor), linear)


def from_influence(
    figure: float,
    influence: Float[np.ndarray, "items"],
    bootstrap: Bootstrap,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    bias: float = 0.0,
    floor: Floor | float = NO_FLOOR,
) -> Estimate:
    """A value that is not a function of a few sums, with the interval of its linear part.

    `influence` is the contribution of each item to the value, to first order (Hampel 1974), 0 on average; its mean is
    bootstrapped instead of the value. `bias` is the known bias of the value: the interval is around `figure - bias`,
    clipped to `bounds`.
    """
    sums = bootstrap.sums(influence, np.ones(len(influence)))
    between = bootstrap.resampled_ratio(sums).interval
    if not np.isnan(between.low):
        low, high = np.clip((figure - bias + between.low, figure - bias + between.high), *bounds)
        kind = between.kind.replace("bootstrap of t", "bootstrap of t, of influence values,")
        between = Interval(float(low), float(high), kind + (", bias removed" if bias else ""))
    return Estimate(figure, between, len(influence), *_parts(floor), linear_part(figure, influence, bootstrap))


def linear_part(figure: float, influence: Float[np.ndarray, "items"], bootstrap: Bootstrap) -> LinearPart:
    """The linear part of a value with these contributions of items, which are 0 on average."""
    of_block = np.bincount(bootstrap.block, weights=influence, minlength=bootstrap.n_blocks)
    return LinearPart(figure, of_block * (bootstrap.n_blocks / len(influence)))


def undefined(why: str, n_items: int, floor: Floor | float = NO_FLOOR) -> Estimate:
    """An estimate without a value, and the reason."""
    return Estimate(np.nan, Interval(np.nan, np.nan, f"none: {why}"), n_items, *_parts(floor))


def _parts(floor: Floor | float) -> tuple[float, str]:
    """Value and note of a floor."""
    return (floor.value, floor.note) if isinstance(floor, Floor) else (floor, "")


def ratio(totals: Float[np.ndarray, "draws 2"]) -> Float[np.ndarray, "draws"]:
    """The first sum over the second, NaN where the second is 0."""
    above, below = totals[:, 0], totals[:, 1]
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


MODEL_BASED = (
    "none: people's entropy is estimated with a model whose error is not known; dissent_difference has an interval"
)
"""Why an estimate has a value, and differences between models have intervals, but the value itself has none."""
FEW_ITEMS = 30
"""With fewer items bootstrap intervals are unreliable."""


NEEDS = {
    "original": "needs the original labels",
    "vote_counts": "needs votes: Counts, or labels that are shares of the votes of a known number of annotators",
    "class_order": "needs ordered classes; if these are in order, give --ordered, or use wasserstein:ordered=true",
}
"""Additional inputs that a metric may need: an attribute of `MatchedLabels`, and the message if it is missing."""


def missing_input(metric: Metric, matched: MatchedLabels) -> str:
    """Why `metric` cannot be computed; empty if it can."""
    needs = getattr(metric, "needs", ())
    return next((NEEDS[need] for need in needs if getattr(matched, need, None) is None), "")


def missing_inputs(metrics: Sequence[Metric], matched: MatchedLabels, condition: str) -> dict[str, str]:
    """Why each metric cannot be computed under a condition, by name, empty if it can; warns of it, and of few items."""
    if not len(matched):
        return {metric.name: "no items" for metric in metrics}
    if len(matched) < FEW_ITEMS:
        warn(f"{condition}: found {len(matched)} items, which is too few for a reliable interval")
    missing = {metric.name: missing_input(metric, matched) for metric in metrics}
    for name, why in missing.items():
        if why:
            warn(f"{condition}: {name} cannot be computed: {why}")
    return missing
