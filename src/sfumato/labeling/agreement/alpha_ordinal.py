"""Krippendorff's alpha for classes in an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.disagreement import ALL_ALIKE, one_minus_ratio
from sfumato.labeling.agreement.item_answers import FirstAnswers, ItemAnswers
from sfumato.labeling.agreement.measure import NOBODY_TO_COMPARE
from sfumato.tables.errors import BadSetting

MOST_CLASSES = 1000


@dataclass(frozen=True)
class AlphaOrdinal:
    """Agreement beyond chance where classes are steps of a scale, in the order the table lists them.

    Only given when asked for: whether the order means anything, nobody but you can know. The squared difference of
    mean ranks, `delta(c, k) = (R_c - R_k)²` with `R_c` = answers below `c` + half of those at `c` (Krippendorff 2011,
    2019), of which `R` is taken anew in each resample.

    For beliefs, `delta(p, q) = (R·p - R·q)²`: as in `AlphaDistributions` the delta averaged under both, less the
    doubt within each (Rao 1982), `R` from the mass of each class. On one-hot beliefs it is the ordinal alpha. It
    compares where on the scale a belief lies, not how wide it is.
    """

    name: ClassVar[str] = "alpha-ordinal"
    undefined: ClassVar[str] = ALL_ALIKE

    def by_default(self, answers: ItemAnswers) -> bool:  # noqa: ARG002
        return False

    def missing(self, answers: ItemAnswers) -> str:
        return "" if answers.first.n_items else NOBODY_TO_COMPARE

    def n_items(self, answers: ItemAnswers) -> int:
        return answers.first.n_items

    def n_answers(self, answers: ItemAnswers) -> int:
        return len(answers.first.item)

    def n_sums(self, answers: ItemAnswers) -> int:
        n_classes = answers.first.n_classes
        if n_classes > MOST_CLASSES:
            raise BadSetting(
                f"found {n_classes:,} classes for {self.name}",
                expected=f"a scale of at most {MOST_CLASSES:,} classes",
                fix="join neighbouring classes, or choose alpha-nominal",
                code="bad-setting",
            )
        return 2 * n_classes * (n_classes + 1)

    def sums(
        self, answers: ItemAnswers, block: Int[np.ndarray, "items"], n_blocks: int
    ) -> Float[np.ndarray, "blocks sums"]:
        """Per block: the mass of each class, the same from the mean belief `o`, sum of (p - o)(p - o)', and the
        coincidences, over ordered pairs of an item's answers the sum of (p - q)(p - q)' / 2 / (m - 1).

        Differences are the same from any origin; from means the sums lose no digits.
        """
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

    def value(self, totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
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
