"""Krippendorff's alpha from sums over items, for choices, ordered classes and whole beliefs.

With `m` answers about an item and `n` in total, and the disagreement of two beliefs `|p - q|² / 2` (0 or 1 if both
are one-hot: the nominal alpha):

    observed = sum over items of (sum over ordered pairs of its answers) / (m - 1)
    expected = (sum over ordered pairs of all answers) / (n - 1)
    alpha    = 1 - observed / expected

Pairs are never enumerated: over ordered pairs, `sum |p - q|² / 2 = m sum |p|² - |sum p|²`. The same holds for any
points in place of beliefs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import FirstAnswers, ItemAnswers
from sfumato.labeling.agreement.measure_protocol import ALL_ALIKE
from sfumato.tables.two_way import LeaveOneOut, Sums, Values

NO_SPREAD = 1e-20
"""A smaller mean squared distance of two answers is rounding."""

Cases = Int[np.ndarray, "cases"]


def alpha(totals: Sums) -> Values:
    """1 - observed / expected, from the observed disagreement, the sum of |p|², the number of answers, and the sum of
    `p` per class; NaN if all answers are the same."""
    observed, squares, n, masses = totals[:, 0], totals[:, 1], totals[:, 2], totals[:, 3:]
    all_pairs = n * squares - np.einsum("rc,rc->r", masses, masses)
    spread = all_pairs > NO_SPREAD * n**2
    return np.asarray(1 - np.divide(observed * (n - 1), all_pairs, out=np.full(len(n), np.nan), where=spread))


def choice_alpha(first: FirstAnswers) -> LeaveOneOut:
    """Alpha of the chosen classes."""
    votes, per_item = first.votes, first.per_item.astype(np.float64)
    pairs, cell = first.disagreeing_pairs(), votes.item * first.n_classes + votes.chosen
    counts = np.bincount(cell, weights=votes.times, minlength=first.n_items * first.n_classes)
    sums = np.column_stack([pairs / (per_item - 1), per_item, per_item, counts.reshape(first.n_items, -1)])

    def without(cases: Cases) -> Sums:
        item = votes.item[cases]
        left = np.asarray(sums[item])
        n = per_item[item] - 1
        left[:, 0] = (pairs[item] - 2 * (per_item[item] - votes.times[cases])) / np.maximum(n - 1, 1)
        left[:, 1:3] -= 1
        left[np.arange(len(cases)), 3 + votes.chosen[cases]] -= 1
        left[n < 2] = 0
        return left

    return first.design.function_of_sums(sums, without, alpha, which=votes.which)


def point_alpha(
    first: FirstAnswers,
    points: Float[np.ndarray, "rows dimensions"],
    slopes: Float[np.ndarray, "rows"] | None = None,
) -> LeaveOneOut:
    """Alpha of answers that are points. `slopes` is added to the value for each answer that is there: how the points
    move with the answers."""
    item, per_item = first.item, first.per_item.astype(np.float64)
    # Relative to the mean, which does not change distances and avoids cancellation.
    points = points - points.mean(axis=0)
    sums = np.asarray(np.add.reduceat(points, first.starts, axis=0))
    means = sums / per_item[:, None]
    away, squares = np.zeros(len(item)), np.zeros(len(item))
    for k in range(points.shape[1]):
        away += (points[:, k] - means[item, k]) ** 2
        squares += points[:, k] ** 2
    slopes = np.zeros(len(item)) if slopes is None else slopes
    within, item_squares, item_slopes = (
        np.bincount(item, weights=each, minlength=first.n_items) for each in (away, squares, slopes)
    )
    item_sums = np.column_stack([item_slopes, within * per_item / (per_item - 1), item_squares, per_item, sums])

    def without(rows: Cases) -> Sums:
        of = item[rows]
        n = per_item[of] - 1
        within_left = np.maximum(within[of] - away[rows] * per_item[of] / n, 0)
        left = np.column_stack([
            item_slopes[of] - slopes[rows], within_left * n / np.maximum(n - 1, 1), item_squares[of] - squares[rows], n,
            sums[of] - points[rows],
        ])  # fmt: skip
        left[n < 2] = 0
        return left

    whole = item_slopes.sum()
    return first.design.function_of_sums(item_sums, without, lambda totals: alpha(totals[:, 1:]) + totals[:, 0] - whole)


@dataclass(frozen=True)
class AlphaNominal:
    """Agreement beyond chance on the most probable class: 1 is perfect, 0 is chance.

    `1 - D_o / D_e` with `delta(c, k) = [c != k]`; any number of answers per item (Krippendorff 2011, 2019). For votes,
    and for beliefs where only the most probable class matters (of tied classes the first). Prefer
    `alpha-distributions` if annotators could express uncertainty, `alpha-ordinal` for ordered classes.
    """

    name: ClassVar[str] = "alpha-nominal"
    undefined: ClassVar[str] = ALL_ALIKE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ("hard", "soft")
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return choice_alpha(answers.first)


@dataclass(frozen=True)
class AlphaOrdinal:
    """The same for ordered classes, in the order of the table: near misses count less.

    The squared difference of mean ranks, `delta(c, k) = (R_c - R_k)²` with `R_c` = answers below `c` + half of those at
    `c` (Krippendorff 2011, 2019). Without an answer, `R` changes; for intervals this change is computed to first order.

    For beliefs, `delta(p, q) = (R·p - R·q)²`: as in `alpha-distributions` the delta averaged under both, minus the
    uncertainty within each (Rao 1982), `R` from the mass of each class. For one-hot beliefs it is the ordinal alpha. It
    compares the mean position of beliefs on the scale, not their width.
    """

    name: ClassVar[str] = "alpha-ordinal"
    undefined: ClassVar[str] = ALL_ALIKE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ("ordered",)
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        first = answers.first
        n = len(first.item)
        mass = _per_class(first, np.ones(n))
        rank = (np.cumsum(mass) - mass / 2) / n
        position = _at(first, rank)
        # The derivative of alpha with respect to the ranks, and from it that with respect to each answer.
        within = position - np.bincount(first.item, weights=position)[first.item] / first.per_item[first.item]
        within *= first.per_item[first.item] / (first.per_item[first.item] - 1)
        around = position - position.mean()
        observed, squares = within @ position, around @ position
        if not n * squares > NO_SPREAD * n**2:
            return point_alpha(first, position[:, None])
        by_rank = _per_class(first, within) / squares - observed * _per_class(first, around) / squares**2
        by_rank *= -2 * (n - 1) / n
        by_class = (np.cumsum(by_rank[::-1])[::-1] - by_rank / 2) / n
        return point_alpha(first, position[:, None], _at(first, by_class))


def _per_class(first: FirstAnswers, weights: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "classes"]:
    """The sum of the beliefs, each with its weight."""
    if first.soft is not None:
        return np.asarray(weights @ first.soft)
    assert first.hard is not None
    return np.asarray(np.bincount(first.hard, weights=weights, minlength=first.n_classes))


def _at(first: FirstAnswers, values: Float[np.ndarray, "classes"]) -> Float[np.ndarray, "rows"]:
    """The mean of `values` under each belief."""
    if first.soft is not None:
        return np.asarray(first.soft @ values)
    return np.asarray(values[first.hard])


@dataclass(frozen=True)
class AlphaDistributions:
    """The same for whole beliefs: annotators with the same uncertainty agree.

    `1 - D_o / D_e` with `delta(p, q) = |p - q|² / 2`: the nominal delta averaged under both beliefs, minus the
    uncertainty within each (Rao 1982), `(1 - p·q) - (1 - |p|²) / 2 - (1 - |q|²) / 2`. Two equal beliefs never disagree,
    and for one-hot beliefs it equals `alpha-nominal` (Krippendorff 2011, 2019, with another delta).
    """

    name: ClassVar[str] = "alpha-distributions"
    undefined: ClassVar[str] = ALL_ALIKE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ("soft",)
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        first = answers.first
        return choice_alpha(first) if first.soft is None else point_alpha(first, first.soft)
