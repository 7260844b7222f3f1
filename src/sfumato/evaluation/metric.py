"""What every metric is: a figure about predictions beside people's labels, with an interval and a floor.

What a divergence to people cannot get under, because people are so many votes and no more.

If predictions were exactly the crowd's distribution and the label a few votes of it, there would still be a distance.
Its expectation is a sum over classes, and in each class the number of votes is binomial; so it is had exactly, from a
table of the numbers of votes that occur. The crowd's distribution is taken to be the label itself: a class that nobody
chose counts as impossible, which makes this floor a little too low.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.tables.bootstrap import Bootstrap, Interval

NO_ORIGINAL = "needs the original labels"


class Better(StrEnum):
    """Which way a metric gets better."""

    LOW = "lower is better"
    HIGH = "higher is better"
    NEITHER = "neither way is better"


@dataclass(frozen=True, eq=False)
class BootstrapDraws:
    """A figure, and what it is in every draw of items: the same draws for all figures, so that they pair up."""

    figure: float
    draws: Float[np.ndarray, "draws"]
    is_linear: bool = False
    """Whether only the figure's linear part was drawn; its interval may then know more than the draws do."""


@dataclass(frozen=True)
class Estimate:
    """What a metric says: its value over `n_items`, an interval, and the floor that no predictions get under (for
    metrics where high is better: above), NaN where there is none to speak of.

    `drawn` lets differences between runs be bootstrapped over items. A metric that turns an estimate into another
    figure turns its draws too, with the new figure; draws of a figure that is not `value` do not count.
    """

    value: float
    interval: Interval
    n_items: int
    floor: float = np.nan
    drawn: BootstrapDraws | None = field(default=None, compare=False, repr=False)

    @property
    def own_drawn(self) -> BootstrapDraws | None:
        """The draws of `value`; None where there are none, or only those of another figure."""
        return self.drawn if self.drawn is not None and self.drawn.figure == self.value else None


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

    def missing(self, compared: MatchedLabels) -> str:
        """What there would have to be, in words that say it is not there; empty where the figure can be had."""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        """The figure, with an interval from `resampling`, which draws the same items."""


def estimated(metric: Metric, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
    """What `metric` says, its interval ending where the metric does."""
    found = metric.estimate(compared, resampling)
    low, high = np.clip((found.interval.low, found.interval.high), *metric.bounds)
    return replace(found, interval=replace(found.interval, low=float(low), high=float(high)))


def mean_over_items(
    values: Float[np.ndarray, "items"],
    resampling: Bootstrap,
    *,
    weights: Float[np.ndarray, "items"] | None = None,
    floor: float = np.nan,
) -> Estimate:
    """The mean of one value an item; items whose weight is 0 do not count."""
    counted = np.ones(len(values)) if weights is None else weights
    counts = counted > 0
    n_items = int(counts.sum())
    if not np.isfinite(values[counts]).all():
        with np.errstate(invalid="ignore"):
            value = float(np.average(values[counts], weights=counted[counts]))
        return Estimate(value, Interval(np.nan, np.nan, "none: infinite for some items"), n_items, floor)
    sums = resampling.sums(np.where(counts, values, 0.0) * counted, counted)
    figure = float(ratio(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(figure):
        return undefined("undefined", n_items, floor)
    found = resampling.resampled_ratio(sums)
    return Estimate(figure, found.interval, n_items, floor, BootstrapDraws(figure, found.draws))


def from_sums(
    sums: Float[np.ndarray, "blocks sums"],
    value: Callable[[Float[np.ndarray, "draws sums"]], Float[np.ndarray, "draws"]],
    resampling: Bootstrap,
    *,
    n_items: int,
    floor: float = np.nan,
) -> Estimate:
    """The figure that `value` takes from sums over items, with the percentile interval of its draws."""
    figure = float(value(sums.sum(axis=0, keepdims=True))[0])
    if np.isnan(figure):
        return undefined("undefined", n_items, floor)
    found = resampling.resampled(sums, value)
    return Estimate(figure, found.interval, n_items, floor, BootstrapDraws(figure, found.draws))


def from_influence(
    figure: float,
    influence: Float[np.ndarray, "items"],
    resampling: Bootstrap,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    debt: float = 0.0,
    floor: float = np.nan,
) -> Estimate:
    """A figure that is no function of a few sums, with the interval of its linear part.

    `influence` is what each item adds to the figure, to first order (Hampel 1974), and is 0 on average; its mean is
    bootstrapped in the figure's place. `debt` is what the figure is known to be too high by: the interval stands around
    `figure - debt`. It ends where the figure cannot go.
    """
    found = resampling.resampled_ratio(resampling.sums(influence, np.ones(len(influence))))
    between = found.interval
    if not np.isnan(between.low):
        low, high = np.clip((figure - debt + between.low, figure - debt + between.high), *bounds)
        kind = between.kind.replace("bootstrap of t", "bootstrap of t, of influence values,")
        between = Interval(float(low), float(high), kind + (", bias taken off" if debt else ""))
    return Estimate(
        figure, between, len(influence), floor, BootstrapDraws(figure, figure + found.draws, is_linear=True)
    )


def undefined(why: str, n_items: int, floor: float = np.nan) -> Estimate:
    """No figure, and why."""
    return Estimate(np.nan, Interval(np.nan, np.nan, f"none: {why}"), n_items, floor)


def ratio(totals: Float[np.ndarray, "draws 2"]) -> Float[np.ndarray, "draws"]:
    """The first sum over the second, NaN where nothing stands below."""
    above, below = totals[:, 0], totals[:, 1]
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


MOST_PAIRS = 20_000
"""Pairs of (votes in all, votes for a class) that are looked at; of more, so many evenly chosen."""
STANDARD_DEVIATIONS = 12


def floor_of_votes(
    compared: MatchedLabels, terms: Callable[[Float[np.ndarray, "n"], float], Float[np.ndarray, "n"]]
) -> float:
    """The expected divergence of the crowd's distribution to as many votes of it, a mean over items.

    `terms(q, p)` is what a class of probability p adds when the share of votes for it is q. NaN unless the number of
    people is known for every item and their labels are that many whole votes.
    """
    votes = compared.votes
    if votes is None:
        return np.nan
    chosen = slice(None, None, 1 + len(votes.times) // MOST_PAIRS)
    times = votes.times[chosen] * (votes.times.sum() / max(votes.times[chosen].sum(), 1))
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, votes.n.max(initial=1) + 1)))])
    expected = [
        _expected(n, n_votes, log_factorial, terms)
        for n, n_votes in zip(votes.n[chosen].tolist(), votes.n_votes[chosen].tolist(), strict=True)
    ]
    return float(np.dot(times, expected) / len(compared))


def _expected(
    n: int,
    votes: int,
    log_factorial: Float[np.ndarray, "numbers"],
    terms: Callable[[Float[np.ndarray, "n"], float], Float[np.ndarray, "n"]],
) -> float:
    """What a class adds on average that `votes` of `n` people chose: votes for it are binomial."""
    p = votes / n
    reach = STANDARD_DEVIATIONS * (1 + np.sqrt(n * p * (1 - p)))
    drawn = np.arange(max(0, int(votes - reach)), min(n, int(votes + reach)) + 1)
    logs = log_factorial[n] - log_factorial[drawn] - log_factorial[n - drawn]
    logs = logs + drawn * np.log(p) + (n - drawn) * np.log1p(-p)
    return float(np.exp(logs) @ terms(drawn / n, p))
