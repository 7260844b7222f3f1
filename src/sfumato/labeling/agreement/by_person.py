"""Test-retest person by person: how steady each annotator is on items they were shown again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.labeling.agreement.item_answers import ItemAnswers, leading
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.table import Table, columns_of


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
