"""Krippendorff's alpha for whole beliefs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.disagreement import ALL_ALIKE, alpha, belief_sums, choice_sums
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.agreement.measure import NOBODY_TO_COMPARE


@dataclass(frozen=True)
class AlphaDistributions:
    """Agreement beyond chance about the whole distribution: who shares a doubt agrees.

    `1 - D_o / D_e` with `delta(p, q) = |p - q|² / 2`. That is the nominal delta averaged under both beliefs, less the
    doubt each has within itself (Rao 1982): `(1 - p·q) - (1 - |p|²) / 2 - (1 - |q|²) / 2`. Two equal beliefs therefore
    never disagree, however unsure, and on one-hot beliefs this is exactly `AlphaNominal`, which is all that hard
    votes can give (Krippendorff 2011, 2019, with another delta).
    """

    name: ClassVar[str] = "alpha-distributions"
    undefined: ClassVar[str] = ALL_ALIKE

    def by_default(self, answers: ItemAnswers) -> bool:
        return answers.is_soft

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
        gather = belief_sums if answers.is_soft else choice_sums
        return gather(answers.first, block, n_blocks)

    def value(self, totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
        return alpha(totals)
