"""Pairwise distance: the mean total variation between two annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.agreement.item_answers import FirstAnswers, ItemAnswers
from sfumato.labeling.agreement.measure_protocol import (
    NOBODY_TO_COMPARE,
    Blocks,
    Sums,
    Totals,
    Values,
    mean,
    sums_and_counts,
)

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

    def n_sums(self, answers: ItemAnswers) -> int:  # noqa: ARG002
        return 2

    def sums(self, answers: ItemAnswers, block: Blocks, n_blocks: int) -> Sums:
        first = answers.first
        if first.hard is not None:
            n_pairs = first.per_item.astype(np.float64) * (first.per_item - 1)
            distance = first.disagreeing_pairs() / n_pairs
        else:
            distance = mean_distances(first)
        return sums_and_counts(distance, block, n_blocks)

    def value(self, totals: Totals) -> Values:
        return mean(totals)


def mean_distances(first: FirstAnswers) -> Float[np.ndarray, "items"]:
    """Per item, the mean total variation over pairs of soft beliefs, without enumerating pairs.

    With the probabilities of a class sorted, `sum over pairs |x_i - x_j| = sum_j (2 j - m + 1) x_(j)`, j from 0. Items
    with the same number of answers are sorted together.
    """
    assert first.soft is not None
    result = np.empty(first.n_items)
    for m in np.unique(first.per_item).tolist():
        items = np.flatnonzero(first.per_item == m)
        weights = 2.0 * np.arange(m) - m + 1
        at_once = max(1, NUMBERS_AT_ONCE // (m * first.n_classes))
        for start in range(0, len(items), at_once):
            some = items[start : start + at_once]
            rows = first.starts[some][:, None] + np.arange(m)
            probs = np.sort(first.soft[rows].swapaxes(1, 2), axis=2)
            result[some] = (probs @ weights).sum(axis=1) / (m * (m - 1))
    # Equal beliefs may give a value slightly below 0 by rounding.
    return np.maximum(result, 0.0)
