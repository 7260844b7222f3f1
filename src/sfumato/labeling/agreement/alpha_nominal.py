"""Krippendorff's alpha for classes without an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.disagreement import ALL_ALIKE, alpha, choice_sums
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.agreement.measure import NOBODY_TO_COMPARE


@dataclass(frozen=True)
class AlphaNominal:
    """Agreement beyond chance about the most probable class: 1 is perfect, 0 is what chance gives.

    For votes, and for beliefs where only the choice matters (ties go to the class that stands first). Prefer
    `AlphaDistributions` where people could say how sure they are, `AlphaOrdinal` where the classes have an order.
    `1 - D_o / D_e` with `delta(c, k) = [c != k]`; any number of answers an item (Krippendorff 2011, 2019).
    """

    name: ClassVar[str] = "alpha-nominal"
    undefined: ClassVar[str] = ALL_ALIKE

    def by_default(self, answers: ItemAnswers) -> bool:  # noqa: ARG002
        return True

    def missing(self, answers: ItemAnswers) -> str:
        return "" if answers.first.n_items else NOBODY_TO_COMPARE

    def n_items(self, answers: ItemAnswers) -> int:
        return answers.first.n_items

    def n_answers(self, answers: ItemAnswers) -> int:
        return len(answers.first.item)

    def n_sums(self, answers: ItemAnswers) -> int:
        return answers.first.n_classes + 3

    def sums(
        self, answers: ItemAnswers, block: Int[np.ndarray, "items"], n_blocks: int
    ) -> Float[np.ndarray, "blocks sums"]:
        return choice_sums(answers.first, block, n_blocks)

    def value(self, totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
        return alpha(totals)
