"""Spearman's rank correlation with an interval over items, also for pairs and triplets that share items.

The interval is linearized: the influence of every row on rho is computed in closed form, including its effect on ranks
(the infinitesimal jackknife, Efron 1982); rows that share an item are grouped (Aronow, Samii and Assenova 2015), and
the sum of squares is the variance. Nothing is random.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import stdtrit

from sfumato.tables.bootstrap import Interval


def shared_variance(pull: Float[np.ndarray, "rows"], members: Int[np.ndarray, "rows shared"]) -> float:
    """The sum of `pull[p] * pull[q]` over all rows p, q that share an item, each pair of rows once.

    `pull` is the influence of each row, `members` the items of a row, all different. Rows that share several items are
    counted once by inclusion and exclusion (Cameron, Gelbach and Miller 2011; for pairs Aronow, Samii and Assenova
    2015).
    """
    ordered = np.sort(members, axis=1)
    total = 0.0
    for n_shared in range(1, ordered.shape[1] + 1):
        sign = 1.0 if n_shared % 2 else -1.0
        parts = [ordered[:, list(chosen)] for chosen in combinations(range(ordered.shape[1]), n_shared)]
        total += sign * _squared_sums(np.concatenate(parts), np.tile(pull, len(parts)))
    return total


def _squared_sums(keys: Int[np.ndarray, "rows shared"], pull: Float[np.ndarray, "rows"]) -> float:
    n_items = int(keys.max(initial=0)) + 1
    # Rows as single numbers, where they fit, are sorted sooner.
    packed = (
        np.ravel_multi_index(tuple(keys.T), (n_items,) * keys.shape[1]) if n_items ** keys.shape[1] < 2**62 else keys
    )
    _, group = np.unique(packed, axis=0, return_inverse=True)
    sums = np.bincount(group.reshape(-1), weights=pull)
    return float(sums @ sums)


FEWEST = 4
"""With fewer rows a correlation has no interval."""


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho over `n` rows, with its interval; NaN if a column is constant."""

    rho: float
    interval: Interval
    n: int


def average_ranks(values: Float[np.ndarray, "values"]) -> Float[np.ndarray, "values"]:
    """The ranks of values from 1, ties with their mean rank; all NaN if a value is NaN."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def spearman(x: Float[np.ndarray, "rows"], y: Float[np.ndarray, "rows"]) -> float:
    """The correlation of ranks, ties with their mean rank; NaN if a column is constant."""
    one, other = average_ranks(x) - (len(x) + 1) / 2, average_ranks(y) - (len(y) + 1) / 2
    lengths = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / lengths if lengths > 0 else np.nan


def rank_correlation(
    x: Float[np.ndarray, "rows"],
    y: Float[np.ndarray, "rows"],
    *,
    level: float = 0.95,
    members: Int[np.ndarray, "rows shared"] | None = None,
) -> RankCorrelation:
    """Spearman's rho with an interval over items.

    `members` are the item numbers of each row, if rows are about several items (for example pairs); by default every
    row is a different item.
    """
    rho = spearman(x, y)
    if np.isnan(rho):
        return RankCorrelation(rho, _none("undefined"), len(x))
    if len(x) < FEWEST:
        return RankCorrelation(rho, _none(f"only {len(x)} rows"), len(x))
    pull = pulls(x, y)
    variance, n_units = float(pull @ pull), len(x)
    # Sums of squares about a fitted figure are too small, the more so the larger the part of the rows in each.
    if members is None:
        variance *= n_units / (n_units - 3)  # as in Fisher's own variance, 1 / (n - 3)
    else:
        n_units = len(np.unique(members))
        grown = (n_units / max(n_units - members.shape[1], 1)) ** 2
        variance = max(shared_variance(pull, members), variance) * grown
    return RankCorrelation(rho, rho_interval(rho, variance, level=level, n_units=n_units), len(x))


def rho_interval(
    rho: float, variance: float, *, level: float, n_units: int, how: str = "linearised over items"
) -> Interval:
    """The interval around `rho` on Fisher's artanh scale, with Student's t for `n_units` units."""
    if not variance > 0 or abs(rho) >= 1 - 1e-12:
        return _none("nothing varies")
    half = float(stdtrit(n_units - 1, (1 + level) / 2)) * np.sqrt(variance) / (1 - rho**2)
    middle = np.arctanh(rho)
    return Interval(float(np.tanh(middle - half)), float(np.tanh(middle + half)), f"{100 * level:g}% {how}")


def pulls(x: Float[np.ndarray, "rows"], y: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    """The derivative of rho with respect to the weight of each row, at weights of 1.

    With centered ranks R, S, C = sum R S, A = sum R^2, B = sum S^2, rho = C / sqrt(A B). A row's weight changes the
    sums directly, and by increasing the ranks of all rows above it (by half for ties).
    """
    one, other = average_ranks(x) - (len(x) + 1) / 2, average_ranks(y) - (len(y) + 1) / 2
    a, b, c = float(one @ one), float(other @ other), float(one @ other)
    change_c = one * other + _above(x, other) + _above(y, one)
    change_a = one**2 + 2 * _above(x, one)
    change_b = other**2 + 2 * _above(y, other)
    return np.asarray(change_c / np.sqrt(a * b) - c / np.sqrt(a * b) / 2 * (change_a / a + change_b / b))


def _above(x: Float[np.ndarray, "rows"], values: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    """For each row the sum of `values` over rows with a larger x, plus half of the sum over ties."""
    order = np.argsort(x, kind="stable")
    ends: Bool[np.ndarray, "rows"] = np.append(x[order][1:] != x[order][:-1], True)
    group = np.cumsum(ends) - ends
    sums = np.bincount(group, weights=values[order])
    above = sums.sum() - np.cumsum(sums)
    result = np.empty(len(x))
    result[order] = (above + sums / 2)[group]
    return result


def _none(why: str) -> Interval:
    return Interval(np.nan, np.nan, f"none: {why}")


@dataclass(frozen=True, eq=False)
class Ranked:
    """Ranks of values: the share of smaller values, ties by half, minus one half."""

    rank: Float[np.ndarray, "items"]
    order: Int[np.ndarray, "items"]
    group: Int[np.ndarray, "items"]
    """The number of each group of ties, increasing with the value; in `order`."""
    ends: Int[np.ndarray, "groups"]
    """The number of items up to the end of each group."""

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
        """For each item the sum of `others` over items of higher rank, ties by half, divided by the number of items."""
        sums = np.bincount(self.group, others[self.order])
        after = sums.sum() - np.cumsum(sums) + sums / 2
        found = np.empty(len(others))
        found[self.order] = after[self.group] / len(others)
        return found
