"""Entropies estimated from few answers. The plug-in value, the entropy of the shares, is biased low.

Few answers do not identify an entropy: M votes identify the moments of the class probabilities up to order M only. So
these estimates rest on assumptions, and with fewer than ten votes per item the dissent is the better figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

MOST_FOR_SECOND_ORDER = 12
"""With more beliefs per item the first-order jackknife is used: its bias is small, and triples would be many."""
NUMBERS_AT_ONCE = 2**23


def chao_shen(counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items"]:
    """The entropy of each item's votes, with the estimator of Chao and Shen (2003), in nats; 0 without votes.

    The shares are multiplied by the estimated coverage of the sample, `1 - f_1 / n` with f_1 the number of classes with
    one vote, and each term is divided by the probability that its class was seen at all.
    """
    x = np.asarray(counts, np.float64)
    n = np.maximum(x.sum(axis=1, keepdims=True), 1.0)
    once = (x == 1).sum(axis=1, keepdims=True)
    share = np.where(once == n, 1 / n, 1 - once / n) * x / n
    logs = np.log(share, out=np.zeros_like(share), where=x > 0)
    seen = np.where(x > 0, -np.expm1(n * np.log1p(-np.minimum(share, 1 - 1e-16))), 1.0)
    return np.asarray(0.0 - (share * logs / seen).sum(axis=1))


@dataclass(frozen=True, eq=False)
class JackknifedEntropy:
    """The entropy of the mean belief per item, and the same without each row; NaN where fewer than two are left.

    `further` and `further_without` are the estimates if one more correction, as large as the last, were needed. Bias of
    higher order remains where many classes are rare, so that the upper end of an interval is computed with them.
    """

    value: Float[np.ndarray, "items"]
    without: Float[np.ndarray, "rows"]
    further: Float[np.ndarray, "items"]
    further_without: Float[np.ndarray, "rows"]


def jackknifed_entropy(
    item: Int[np.ndarray, "rows"], soft: Float[np.ndarray, "rows classes"], n_items: int
) -> JackknifedEntropy:
    """The entropy of the mean belief about each item, corrected for bias by the jackknife, in nats.

    With T_k the mean entropy of the mean belief without k of M beliefs, `M T_0 - (M - 1) T_1` has no bias of order
    1 / M (Quenouille 1956), and `(M^2 T_0 - 2 (M - 1)^2 T_1 + (M - 2)^2 T_2) / 2` none of order 1 / M^2 (Schucany, Gray
    and Owen 1971). The second is used for 3 to 12 beliefs. Minus the mean entropy of the single beliefs this is the
    mutual information of annotator and class.
    """
    of_item, of_row = np.full((2, n_items), np.nan), np.full((2, len(item)), np.nan)
    order = np.argsort(item, kind="stable")
    n = np.bincount(item, minlength=n_items)
    first = np.concatenate([[0], np.cumsum(n)[:-1]])
    for m in np.unique(n[n > 1]).tolist():
        for some in _parts(np.flatnonzero(n == m), m * m * soft.shape[1]):
            rows = order[first[some][:, None] + np.arange(m)]
            entropies = _Entropies.of(soft[rows])
            of_item[:, some], of_row[:, rows] = entropies.whole(), entropies.without()
    return JackknifedEntropy(of_item[0], of_row[0], of_item[1], of_row[1])


@dataclass(frozen=True, eq=False)
class _Entropies:
    """Entropies of the mean belief of items with m beliefs: of all, without each, and for each belief the mean over the
    ways to leave out one or two more."""

    m: int
    all_of: Float[np.ndarray, "items"]
    one_out: Float[np.ndarray, "items m"]
    two_out: Float[np.ndarray, "items m"]
    three_out: Float[np.ndarray, "items m"]

    @classmethod
    def of(cls, beliefs: Float[np.ndarray, "items m classes"]) -> _Entropies:
        n_items, m, _ = beliefs.shape
        whole = beliefs.sum(axis=1)
        found = [np.zeros((n_items, m)) for _ in range(2)]
        most = 3 if 3 < m <= MOST_FOR_SECOND_ORDER else min(m - 1, 2)
        for n_out in range(2, most + 1):
            ways = 0
            for left in combinations(range(m), n_out):
                found[n_out - 2][:, left] += _entropy((whole - beliefs[:, left].sum(axis=1)) / (m - n_out))[:, None]
                ways += 0 in left
            found[n_out - 2] /= ways
        return cls(m, _entropy(whole / m), _entropy((whole[:, None] - beliefs) / (m - 1)), *found)

    def whole(self) -> Float[np.ndarray, "2 items"]:
        """The estimate, and the further one."""
        return _estimates(self.m, self.m, self.all_of, self.one_out.mean(axis=1), self.two_out.mean(axis=1))

    def without(self) -> Float[np.ndarray, "2 items m"]:
        """The same without each belief."""
        if self.m == 2:
            return np.full((2, *self.one_out.shape), np.nan)
        return _estimates(self.m - 1, self.m, self.one_out, self.two_out, self.three_out)


def _estimates(m: int, of: int, all_of: np.ndarray, one_out: np.ndarray, two_out: np.ndarray) -> np.ndarray:
    """The estimate from m beliefs, of an item that has `of`, and the further one."""
    first = m * all_of - (m - 1) * one_out
    if of > MOST_FOR_SECOND_ORDER:
        return np.stack([first, first])
    if m == 2:
        return np.stack([first, 2 * first - all_of])
    second = (m**2 * all_of - 2 * (m - 1) ** 2 * one_out + (m - 2) ** 2 * two_out) / 2
    return np.stack([second, 2 * second - first])


def _entropy(probs: Float[np.ndarray, "... classes"]) -> Float[np.ndarray, "..."]:
    """Along the last axis; differences of sums may be negative by rounding."""
    positive = np.maximum(probs, 0.0)
    logs = np.log(positive, out=np.zeros_like(positive), where=positive > 0)
    return np.asarray(0.0 - (positive * logs).sum(axis=-1))


def _parts(items: Int[np.ndarray, "items"], numbers: int) -> Iterator[Int[np.ndarray, "some"]]:
    at_once = max(1, NUMBERS_AT_ONCE // numbers)
    for start in range(0, len(items), at_once):
        yield items[start : start + at_once]
