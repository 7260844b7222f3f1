"""Krippendorff's alpha from sums over items: observed over expected disagreement, for choices and for beliefs.

With `m` answers about an item and `n` in all, and the disagreement of two beliefs `|p - q|² / 2` (0 or 1 where both
are one-hot, which makes this the nominal alpha):

    observed = sum over items of (sum over ordered pairs of its answers) / (m - 1)
    expected = (sum over ordered pairs of all answers) / (n - 1)
    alpha    = 1 - observed / expected

Pairs are never enumerated: over ordered pairs, `sum |p - q|² / 2 = m sum |p|² - |sum p|²`.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import FirstAnswers
from sfumato.labeling.agreement.measure import block_sums

ALL_ALIKE = "every answer is the same, so that no disagreement could be expected by chance"
NO_SPREAD = 1e-20
"""Mean squared distance of two answers below which they are the same but for rounding."""


def disagreeing_pairs(
    item: Int[np.ndarray, "rows"], chosen: Int[np.ndarray, "rows"], per_item: Int[np.ndarray, "items"], n_classes: int
) -> Float[np.ndarray, "items"]:
    """Ordered pairs of answers about each item that name different classes: `m² - sum_c n_c²`, from the counts."""
    cells, counts = np.unique(item.astype(np.int64) * n_classes + chosen, return_counts=True)
    alike = np.bincount(cells // n_classes, weights=counts.astype(np.float64) ** 2, minlength=len(per_item))
    return np.asarray(per_item.astype(np.float64) ** 2 - alike)


def choice_sums(
    first: FirstAnswers, block: Int[np.ndarray, "items"], n_blocks: int
) -> Float[np.ndarray, "blocks sums"]:
    """For choices: observed disagreement, sum of |p|² (that is, answers), answers, and the answers for each class."""
    chosen = first.chosen()
    observed = disagreeing_pairs(first.item, chosen, first.per_item, first.n_classes) / (first.per_item - 1)
    n_cells = n_blocks * first.n_classes
    cell = block[first.item].astype(np.int64) * first.n_classes + chosen
    counts = np.bincount(cell, minlength=n_cells).reshape(n_blocks, first.n_classes)
    n_answers = counts.sum(axis=1)
    return np.column_stack([block_sums(observed, block, n_blocks), n_answers, n_answers, counts])


def belief_sums(
    first: FirstAnswers, block: Int[np.ndarray, "items"], n_blocks: int
) -> Float[np.ndarray, "blocks sums"]:
    """For beliefs: observed disagreement, sum of |p|², answers, and the mass of each class.

    Distances are the same from any origin; from the mean belief the sums lose no digits.
    """
    assert first.soft is not None
    per_item, sums = first.per_item, first.item_sums()
    origin = sums.sum(axis=0) / len(first.item)
    means = sums / per_item[:, None]
    within, squares = np.zeros(first.n_items), np.zeros(first.n_items)
    for k in range(first.n_classes):
        away = first.soft[:, k] - means[first.item, k]
        within += np.bincount(first.item, weights=away**2, minlength=first.n_items)
        squares += np.bincount(first.item, weights=(first.soft[:, k] - origin[k]) ** 2, minlength=first.n_items)
    columns = [within * per_item / (per_item - 1), squares, per_item.astype(np.float64)]
    columns += list((sums - per_item[:, None] * origin).T)
    return np.column_stack([block_sums(column, block, n_blocks) for column in columns])


def alpha(totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
    """1 - observed / expected; NaN where all answers are the same, for then nothing was expected."""
    observed, squares, n, masses = totals[:, 0], totals[:, 1], totals[:, 2], totals[:, 3:]
    return one_minus_ratio(observed, n * squares - np.einsum("rc,rc->r", masses, masses), n)


def one_minus_ratio(
    observed: Float[np.ndarray, "resamples"],
    all_pairs: Float[np.ndarray, "resamples"],
    n: Float[np.ndarray, "resamples"],
) -> Float[np.ndarray, "resamples"]:
    """Alpha from the disagreement observed and that of all ordered pairs of the `n` answers."""
    spread = all_pairs > NO_SPREAD * n**2
    return np.asarray(1 - np.divide(observed * (n - 1), all_pairs, out=np.full(len(n), np.nan), where=spread))
