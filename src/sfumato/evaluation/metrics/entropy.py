"""Difference of entropies.

Pearson correlation of entropies.

Spearman correlation of entropies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import (
    Better,
    BootstrapDraws,
    Estimate,
    from_influence,
    from_sums,
    mean_over_items,
    undefined,
)
from sfumato.tables.bootstrap import Bootstrap, Interval


@dataclass(frozen=True)
class EntropyDifference:
    """The mean over items of H(p) - H(q), in nats: above 0 the model doubts more than people do, below 0 less.

    EntCE of Baan et al. (2022), kept signed. Whether it doubts the same *items* say `entropy_pearson` and
    `entropy_spearman`.
    """

    name: ClassVar[str] = "entropy_difference"
    better: ClassVar[Better] = Better.NEITHER
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.predicted_entropy - compared.people_entropy, resampling)


NO_SPREAD = 1e-9
"""Standard deviations under this are rounding."""


@dataclass(frozen=True)
class EntropyPearson:
    """Pearson's correlation between H(p) and H(q) over items: does the model doubt what people doubt? (Pearson 1896)

    NaN where one of them is the same for all items. A few very doubtful items can decide it: prefer
    `entropy_spearman` then. It does not ask whether doubt goes to the same classes; the divergences do.
    """

    name: ClassVar[str] = "entropy_pearson"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        x = compared.predicted_entropy - compared.predicted_entropy.mean()
        y = compared.people_entropy - compared.people_entropy.mean()
        if min(x.std(), y.std()) < NO_SPREAD:
            return undefined("the entropies of one side are all the same", len(compared))
        sums = resampling.sums(np.ones(len(x)), x, y, x * x, y * y, x * y)
        return from_sums(sums, _correlation, resampling, n_items=len(x))


def _correlation(totals: Float[np.ndarray, "draws 6"]) -> Float[np.ndarray, "draws"]:
    n, x, y, xx, yy, xy = totals.T
    below = np.sqrt(np.maximum(xx - x * x / n, 0.0) * np.maximum(yy - y * y / n, 0.0))
    found = np.divide(xy - x * y / n, below, out=np.full(len(n), np.nan), where=below > n * NO_SPREAD**2)
    return np.asarray(np.clip(found, -1.0, 1.0))


DECIMALS = 12
"""Entropies are ranked after rounding to so many, for equal ones differ in the last digits."""


@dataclass(frozen=True)
class EntropySpearman:
    """Spearman's rank correlation between H(p) and H(q) over items, equals sharing their mean rank (Spearman 1904).

    Any growing function of either leaves it as it is; prefer `entropy_pearson` where how much they doubt matters, and
    not only which more. NaN where one of them is the same for all items.

    Ranks move with the items drawn, so the interval bootstraps what each item adds to the correlation, its effect on
    the others' ranks included (Croux & Dehon 2010; here with ties), on Fisher's scale atanh.
    """

    name: ClassVar[str] = "entropy_spearman"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        x = Ranked.of(np.round(compared.predicted_entropy, DECIMALS))
        y = Ranked.of(np.round(compared.people_entropy, DECIMALS))
        a, b = (float((each.rank**2).mean()) for each in (x, y))
        if min(a, b) == 0:
            return undefined("the entropies of one side are all the same", len(compared))
        c = float((x.rank * y.rank).mean())
        rho = float(np.clip(c / np.sqrt(a * b), -1.0, 1.0))
        if abs(rho) > 1 - 1e-12:
            return Estimate(rho, Interval(np.nan, np.nan, "none: the ranks are all but the same"), len(compared))
        of_c = x.rank * y.rank + x.above(y.rank) + y.above(x.rank) - 3 * c
        of_a = x.rank**2 + 2 * x.above(x.rank) - 3 * a
        of_b = y.rank**2 + 2 * y.above(y.rank) - 3 * b
        influence = of_c / np.sqrt(a * b) - rho / 2 * (of_a / a + of_b / b)
        found = from_influence(float(np.arctanh(rho)), np.asarray(influence / (1 - rho**2)), resampling)
        between = found.interval
        low, high = (float(np.tanh(each)) for each in (between.low, between.high))
        drawn = None if found.drawn is None else BootstrapDraws(rho, np.tanh(found.drawn.draws), is_linear=True)
        return replace(found, value=rho, interval=Interval(low, high, between.kind), drawn=drawn)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Values by their rank: the share of items below, equals by half, less one half."""

    rank: Float[np.ndarray, "items"]
    order: Int[np.ndarray, "items"]
    group: Int[np.ndarray, "items"]
    """Equals have the same, smaller values a smaller one; in `order`."""
    ends: Int[np.ndarray, "groups"]
    """How many items there are up to the end of each group."""

    @classmethod
    def of(cls, values: Float[np.ndarray, "items"]) -> Ranked:
        n = len(values)
        order = np.argsort(values)
        group = np.cumsum(np.concatenate([[False], np.diff(values[order]) > 0]))
        ends = np.cumsum(np.bincount(group))
        middle = (ends + np.concatenate([[0], ends[:-1]])) / 2
        rank = np.empty(n)
        rank[order] = (middle / n - 0.5)[group]
        return cls(rank, order, group, ends)

    def above(self, others: Float[np.ndarray, "items"]) -> Float[np.ndarray, "items"]:
        """For each item the sum of `others` over items of higher rank, equals by half, over the number of items."""
        sums = np.bincount(self.group, others[self.order])
        after = sums.sum() - np.cumsum(sums) + sums / 2
        found = np.empty(len(others))
        found[self.order] = after[self.group] / len(others)
        return found
