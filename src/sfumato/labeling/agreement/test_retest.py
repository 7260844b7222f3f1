"""Test-retest: who still holds the same class most probable.

Test-retest: how far beliefs move.

Test-retest person by person: how steady each annotator is on items they were shown again.
"""

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


@dataclass(frozen=True)
class AnnotatorRetest:
    """One annotator's repeated answers: how many, how many kept the most probable class, and by how much the belief
    moved on average (total variation)."""

    annotator: str
    n_repeats: int
    n_same_class: int
    total_variation: float


@dataclass(frozen=True, eq=False, repr=False)
class RetestByAnnotator(Table):
    """One row an annotator who answered about any item again, in the order they first appear."""

    people: tuple[AnnotatorRetest, ...]

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.people[start:stop], AnnotatorRetest)

    def __len__(self) -> int:
        return len(self.people)


def retest_by_person(beliefs: Beliefs) -> RetestByAnnotator:
    """How steady everybody is; `RetestSameClass` and `RetestTotalVariation` are the same over all people together.

    Every later answer is held against the person's first about the item. Where several classes lead, one in common is
    enough to count as the same.
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
