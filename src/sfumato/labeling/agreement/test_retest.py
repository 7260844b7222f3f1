"""Test-retest: agreement of an annotator's repeated answers with the first one, overall and per annotator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import ItemAnswers, leading
from sfumato.labeling.agreement.measure import NOBODY_TWICE, block_sums, ratio
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.table import Table, columns_of


@dataclass(frozen=True)
class RetestSameClass:
    """The share of repeated answers with the same most probable class as the first answer.

    Every later answer is compared with the first. If classes are tied, one in common is enough: 50 / 50 and then
    60 / 40 is the same class. `retest-total-variation` also measures changes that keep the class.
    """

    name: ClassVar[str] = "retest-same-class"
    undefined: ClassVar[str] = NOBODY_TWICE
    compares: ClassVar[str] = "repeats"
    default_for: ClassVar[tuple[str, ...]] = ("hard", "soft")

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


@dataclass(frozen=True)
class RetestTotalVariation:
    """The mean total variation between an annotator's first and later belief about an item.

    Mean over pairs of `sum_c |p_c - q_c| / 2`. Compare it with `total-variation` to see how much of the distance
    between annotators is inconsistency within them. For hard votes it is 1 - `retest-same-class`.
    """

    name: ClassVar[str] = "retest-total-variation"
    undefined: ClassVar[str] = NOBODY_TWICE
    compares: ClassVar[str] = "repeats"
    default_for: ClassVar[tuple[str, ...]] = ("hard", "soft")

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


@dataclass(frozen=True)
class AnnotatorRetest:
    """One annotator's repeated answers: how many, how many with the same most probable class, and the mean total
    variation from the first answer."""

    annotator: str
    n_repeats: int
    n_same_class: int
    total_variation: float


@dataclass(frozen=True, eq=False, repr=False)
class RetestByAnnotator(Table):
    """One row per annotator with repeated answers, in order of first appearance."""

    people: tuple[AnnotatorRetest, ...]

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.people[start:stop], AnnotatorRetest)

    def __len__(self) -> int:
        return len(self.people)


def retest_by_annotator(beliefs: Beliefs) -> RetestByAnnotator:
    """Test-retest agreement per annotator; `RetestSameClass` and `RetestTotalVariation` are the same over all.

    Every later answer is compared with the annotator's first answer about the item. If several classes are most
    probable, one in common counts as the same.
    """
    pairs = ItemAnswers.of(beliefs).repeats
    before, after = pairs.before.probs(), pairs.after.probs()
    same = (leading(before) & leading(after)).any(axis=1) if len(before) else np.zeros(0, bool)
    moved = np.abs(before - after).sum(axis=1) / 2
    who, names = pairs.before.annotator, beliefs.annotator.names.to_pylist()
    n_pairs = np.bincount(who, minlength=len(names))
    n_same, far = (np.bincount(who, weights=each, minlength=len(names)) for each in (same, moved))
    return RetestByAnnotator(
        tuple(
            AnnotatorRetest(
                names[person], int(n_pairs[person]), int(n_same[person]), float(far[person] / n_pairs[person])
            )
            for person in np.flatnonzero(n_pairs)
        )
    )
