"""Krippendorff's alpha from sums over items, for choices, ordered classes and whole beliefs.

With `m` answers about an item and `n` in total, and the disagreement of two beliefs `|p - q|² / 2` (0 or 1 if both
are one-hot: the nominal alpha):

    observed = sum over items of (sum over ordered pairs of its answers) / (m - 1)
    expected = (sum over ordered pairs of all answers) / (n - 1)
    alpha    = 1 - observed / expected

Pairs are never enumerated: over ordered pairs, `sum |p - q|² / 2 = m sum |p|² - |sum p|²`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import FirstAnswers, ItemAnswers
from sfumato.labeling.agreement.measure_protocol import Blocks, Sums, Totals, Values, block_sums
from sfumato.tables.errors import BadSetting

ALL_ALIKE = "every answer is the same, so no disagreement is expected by chance"
NO_SPREAD = 1e-20
"""A smaller mean squared distance of two answers is rounding."""


def choice_sums(first: FirstAnswers, block: Blocks, n_blocks: int) -> Sums:
    """For choices: observed disagreement, sum of |p|² (the answers), answers, and answers per class."""
    observed = first.disagreeing_pairs() / (first.per_item - 1)
    cell = block[first.item].astype(np.int64) * first.n_classes + first.chosen()
    counts = np.bincount(cell, minlength=n_blocks * first.n_classes).reshape(n_blocks, first.n_classes)
    n_answers = counts.sum(axis=1)
    return np.column_stack([block_sums(observed, block, n_blocks), n_answers, n_answers, counts])


def belief_sums(first: FirstAnswers, block: Blocks, n_blocks: int) -> Sums:
    """For beliefs: observed disagreement, sum of |p|², answers, and the mass of each class.

    Computed relative to the mean belief, which does not change distances and avoids cancellation.
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


def alpha(totals: Totals) -> Values:
    """1 - observed / expected; NaN if all answers are the same."""
    observed, squares, n, masses = totals[:, 0], totals[:, 1], totals[:, 2], totals[:, 3:]
    return one_minus_ratio(observed, n * squares - np.einsum("rc,rc->r", masses, masses), n)


def one_minus_ratio(observed: Values, all_pairs: Values, n: Values) -> Values:
    """Alpha from the observed disagreement and that of all ordered pairs of the `n` answers."""
    spread = all_pairs > NO_SPREAD * n**2
    return np.asarray(1 - np.divide(observed * (n - 1), all_pairs, out=np.full(len(n), np.nan), where=spread))


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

    def n_sums(self, answers: ItemAnswers) -> int:
        return answers.first.n_classes + 3

    def sums(self, answers: ItemAnswers, block: Blocks, n_blocks: int) -> Sums:
        return choice_sums(answers.first, block, n_blocks)

    def value(self, totals: Totals) -> Values:
        return alpha(totals)


MOST_CLASSES = 1000


@dataclass(frozen=True)
class AlphaOrdinal:
    """The same for ordered classes, in the order of the table; only on request.

    The squared difference of mean ranks, `delta(c, k) = (R_c - R_k)²` with `R_c` = answers below `c` + half of those at
    `c` (Krippendorff 2011, 2019); `R` is computed again in each resample.

    For beliefs, `delta(p, q) = (R·p - R·q)²`: as in `alpha-distributions` the delta averaged under both, minus the
    uncertainty within each (Rao 1982), `R` from the mass of each class. For one-hot beliefs it is the ordinal alpha. It
    compares the mean position of beliefs on the scale, not their width.
    """

    name: ClassVar[str] = "alpha-ordinal"
    undefined: ClassVar[str] = ALL_ALIKE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ()

    def n_sums(self, answers: ItemAnswers) -> int:
        n_classes = answers.first.n_classes
        if n_classes > MOST_CLASSES:
            expected = f"a scale of at most {MOST_CLASSES:,} classes"
            fix = "merge neighboring classes, or choose alpha-nominal"
            raise BadSetting(f"{n_classes:,} classes for {self.name}", expected, fix)
        return 2 * n_classes * (n_classes + 1)

    def sums(self, answers: ItemAnswers, block: Blocks, n_blocks: int) -> Sums:
        """Per block: the mass of each class, the same relative to the mean belief `o`, sum of (p - o)(p - o)', and the
        coincidences, over ordered pairs of an item's answers the sum of (p - q)(p - q)' / 2 / (m - 1)."""
        first = answers.first
        n_classes = first.n_classes
        origin = np.zeros(n_classes) if first.soft is None else first.soft.mean(axis=0)
        result = np.empty((n_blocks, self.n_sums(answers)))
        items = np.argsort(block, kind="stable")
        for b, of_block in enumerate(np.split(items, np.cumsum(np.bincount(block, minlength=n_blocks))[:-1])):
            per_item = first.per_item[of_block]
            beliefs = _beliefs(first, of_block)
            sums = np.add.reduceat(beliefs, np.cumsum(per_item) - per_item, axis=0)
            away = beliefs - np.repeat(sums / per_item[:, None], per_item, axis=0)
            coincidences = (away * np.repeat(per_item / (per_item - 1), per_item)[:, None]).T @ away
            mass, beliefs = sums.sum(axis=0), beliefs - origin
            result[b] = np.concatenate([mass, beliefs.sum(axis=0), (beliefs.T @ beliefs).ravel(), coincidences.ravel()])
        return result

    def value(self, totals: Totals) -> Values:
        k = round(np.sqrt(totals.shape[1] / 2 + 0.25) - 0.5)
        mass, away = totals[:, :k], totals[:, k : 2 * k]
        together, coincidences = totals[:, 2 * k :].reshape(len(totals), 2, k, k).swapaxes(0, 1)
        n = mass.sum(axis=1)
        rank = (np.cumsum(mass, axis=1) - mass / 2) / n[:, None]
        observed = np.einsum("rc,rck,rk->r", rank, coincidences, rank, optimize=True)
        squares = np.einsum("rc,rck,rk->r", rank, together, rank, optimize=True)
        return one_minus_ratio(observed, n * squares - np.einsum("rc,rc->r", rank, away) ** 2, n)


def _beliefs(first: FirstAnswers, items: Int[np.ndarray, "chosen"]) -> Float[np.ndarray, "rows classes"]:
    """The beliefs about `items`, item after item."""
    per_item = first.per_item[items]
    starts = first.starts[items] - (np.cumsum(per_item) - per_item)
    rows = np.arange(int(per_item.sum())) + np.repeat(starts, per_item)
    if first.soft is not None:
        return np.asarray(first.soft[rows])
    assert first.hard is not None
    return np.asarray(first.hard[rows, None] == np.arange(first.n_classes), dtype=np.float64)


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

    def n_sums(self, answers: ItemAnswers) -> int:
        return answers.first.n_classes + 3

    def sums(self, answers: ItemAnswers, block: Blocks, n_blocks: int) -> Sums:
        gather = belief_sums if answers.is_soft else choice_sums
        return gather(answers.first, block, n_blocks)

    def value(self, totals: Totals) -> Values:
        return alpha(totals)
