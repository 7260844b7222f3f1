"""Test-retest: who still holds the same class most probable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import ItemAnswers, leading
from sfumato.labeling.agreement.measure import NOBODY_TWICE, block_sums, ratio


@dataclass(frozen=True)
class RetestSameClass:
    """The share of repeated answers whose most probable class is that of the person's first answer.

    Every later answer is compared with the first. Of classes that tie for most probable, one in common is enough: from
    50 / 50 to 60 / 40 is no change of class, and neither is 50 / 50 twice. What people cannot repeat themselves, no
    two of them can be expected to agree on. `RetestTotalVariation` also sees moves that leave the class as it was.
    """

    name: ClassVar[str] = "retest-same-class"
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
            same = before.hard == after.hard
        else:
            assert before.soft is not None
            assert after.soft is not None
            same = (leading(before.soft) & leading(after.soft)).any(axis=1)
        of_pair = block[answers.repeats.item]
        return np.column_stack(
            [block_sums(same.astype(np.float64), of_pair, n_blocks), np.bincount(of_pair, minlength=n_blocks)]
        )

    def value(self, totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
        return ratio(totals[:, 0], totals[:, 1])
