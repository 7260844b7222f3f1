"""Test-retest: how far beliefs move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.agreement.measure import NOBODY_TWICE, block_sums, ratio


@dataclass(frozen=True)
class RetestTotalVariation:
    """The mean total variation between a person's first belief about an item and a later one, over all such pairs.

    Beside `TotalVariation`, how much of the distance between people is people's own unsteadiness. On hard votes it is
    the share that changed, 1 - `RetestSameClass`. Mean over pairs of `sum_c |p_c - q_c| / 2`.
    """

    name: ClassVar[str] = "retest-total-variation"
    undefined: ClassVar[str] = NOBODY_TWICE

    def by_default(self, answers: ItemAnswers) -> bool:  # noqa: ARG002
        return True

    def missing(self, answers: ItemAnswers) -> str:
        return "" if answers.repeats.n_items else NOBODY_TWICE

    def n_items(self, answers: ItemAnswers) -> int:
        return answers.repeats.n_items

    def n_answers(self, answers: ItemAnswers) -> int:
        return len(answers.repeats.item)

    def n_sums(self, answers: ItemAnswers) -> int:  # noqa: ARG002
        return 2

    def sums(
        self, answers: ItemAnswers, block: Int[np.ndarray, "items"], n_blocks: int
    ) -> Float[np.ndarray, "blocks sums"]:
        before, after = answers.repeats.before, answers.repeats.after
        if before.hard is not None and after.hard is not None:
            moved = (before.hard != after.hard).astype(np.float64)
        else:
            moved = np.abs(before.probs() - after.probs()).sum(axis=1) / 2
        of_pair = block[answers.repeats.item]
        return np.column_stack([block_sums(moved, of_pair, n_blocks), np.bincount(of_pair, minlength=n_blocks)])

    def value(self, totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
        return ratio(totals[:, 0], totals[:, 1])
