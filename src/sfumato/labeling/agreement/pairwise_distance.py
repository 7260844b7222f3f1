"""Pairs of annotators: the mean total variation between two, and the share of pairs that agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import FirstAnswers, ItemAnswers
from sfumato.labeling.agreement.measure_protocol import NOBODY_TO_COMPARE
from sfumato.tables.two_way import LeaveOneOut, ratio

NUMBERS_AT_ONCE = 2**22


@dataclass(frozen=True)
class TotalVariationAgreement:
    """The mean total variation distance between two annotators of an item.

    Mean over items of the mean over pairs of `sum_c |p_c - q_c| / 2`: 0 if all agree; for hard votes, the share of
    pairs that disagree. Not corrected for chance: annotators who always give the same answer are at 0. For agreement
    beyond chance prefer an alpha.
    """

    name: ClassVar[str] = "total-variation"
    undefined: ClassVar[str] = NOBODY_TO_COMPARE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ("hard", "soft")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    is_share: ClassVar[bool] = True

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        first = answers.first
        if first.soft is None:
            return dissent_of_choices(first)
        to_others = distances_to_others(first)
        pairs = np.bincount(first.item, weights=to_others, minlength=first.n_items) / 2
        return mean_over_pairs(first, pairs, to_others, first.item)


@dataclass(frozen=True)
class PercentAgreement:
    """The share of pairs of annotators who chose the same class, not corrected for chance.

    The mean over items; for votes, 1 minus `total-variation`. Easy to explain, but high if one class is common: report
    it together with a coefficient that corrects for chance.
    """

    name: ClassVar[str] = "percent-agreement"
    undefined: ClassVar[str] = NOBODY_TO_COMPARE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    is_share: ClassVar[bool] = True

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        apart = dissent_of_choices(answers.first)
        return replace(
            apart,
            value=1 - apart.value,
            without_item=1 - apart.without_item,
            without_person=1 - apart.without_person,
            without_answer=1 - apart.without_answer,
        )


def dissent_of_choices(first: FirstAnswers) -> LeaveOneOut:
    """The mean over items of the share of pairs of annotators who chose different classes."""
    votes = first.votes
    to_others = (first.per_item[votes.item] - votes.times).astype(np.float64)
    return mean_over_pairs(first, first.disagreeing_pairs() / 2, to_others, votes.item, votes.which)


def mean_over_pairs(
    first: FirstAnswers,
    pairs: Float[np.ndarray, "items"],
    to_others: Float[np.ndarray, "cases"],
    item: Int[np.ndarray, "cases"],
    which: Int[np.ndarray, "rows"] | None = None,
) -> LeaveOneOut:
    """The mean over items of a mean over pairs of answers, from the sum over the pairs of each item and the sum from
    each case to the other answers about its item; `which` is the case of each row."""
    n_pairs = first.per_item * (first.per_item - 1) / 2
    n_left = (first.per_item[item] - 1) * (first.per_item[item] - 2) / 2
    # A tiny distance below 0 is rounding.
    mean_left = np.maximum(pairs[item] - to_others, 0) / np.maximum(n_left, 1)
    without = (n_left > 0)[:, None] * np.column_stack([mean_left, np.ones(len(item))])
    sums = np.column_stack([pairs / n_pairs, np.ones(first.n_items)])
    return first.design.function_of_sums(sums, without, ratio, which=which)


def distances_to_others(first: FirstAnswers) -> Float[np.ndarray, "rows"]:
    """The sum of the total variations from each soft belief to the others about its item, without enumerating pairs.

    With the `m` probabilities of a class sorted, j from 0,
    `sum_i |x_(j) - x_i| = (2 j - m) x_(j) + sum_i x_i - 2 sum_{i<j} x_(i)`. Items with the same number of answers are
    sorted together.
    """
    assert first.soft is not None
    result = np.empty(len(first.item))
    for m in np.unique(first.per_item).tolist():
        items = np.flatnonzero(first.per_item == m)
        weights = 2.0 * np.arange(m) - m
        at_once = max(1, NUMBERS_AT_ONCE // (m * first.n_classes))
        for start in range(0, len(items), at_once):
            rows = first.starts[items[start : start + at_once]][:, None] + np.arange(m)
            far = np.zeros(rows.shape)
            for k in range(first.n_classes):
                probs = first.soft[rows, k]
                order = np.argsort(probs, axis=1)
                ranked = np.take_along_axis(probs, order, axis=1)
                below = np.cumsum(ranked, axis=1) - ranked
                distance = weights * ranked + ranked.sum(axis=1, keepdims=True) - 2 * below
                np.put_along_axis(probs, order, distance, axis=1)
                far += probs
            result[rows] = far / 2
    # Equal beliefs may give a value slightly below 0 by rounding.
    return np.maximum(result, 0.0)
