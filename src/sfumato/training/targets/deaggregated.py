"""One annotator's belief at each access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from sfumato.tables.errors import BadSetting
from sfumato.training.target_labels import PooledLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class DeaggregatedTarget:
    """The belief of one annotator of the item, drawn anew and evenly each time the item is seen (Collins et al. 2022).

    With `annotators` = M the pool of an item is M of its annotators, drawn once; an item with fewer keeps them all.
    Every item needs a belief. Its mean is the mean of the pool, so compare with `soft` on the same people.
    """

    annotators: int | None = None

    name: ClassVar[str] = "deaggregated"

    def __post_init__(self) -> None:
        whole = isinstance(self.annotators, int | np.integer)
        if self.annotators is not None and not (whole and self.annotators >= 1):
            raise BadSetting(
                f"found annotators = {self.annotators}",
                expected="a number of annotators an item, at least 1",
                fix="choose another, or leave it out to draw from all",
                code="bad-setting",
            )

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> PooledLabels:
        pool = lesson.need_beliefs(self.name)
        if self.annotators is None:
            return PooledLabels.of(pool.rows, pool.starts)
        kept = _drawn(pool.starts, self.annotators, rng)
        counts = np.minimum(np.diff(pool.starts), self.annotators)
        return PooledLabels.of(pool.rows[kept], np.concatenate(([0], np.cumsum(counts))))


def _drawn(starts: Int[np.ndarray, "bounds"], at_most: int, rng: np.random.Generator) -> Int[np.ndarray, "kept"]:
    """`at_most` rows of every item, drawn evenly, in the order they stand in."""
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    shuffled = np.lexsort((rng.random(len(item)), item))
    # Sorted by item first, so that a row's place within its item is its place less where the item begins.
    place = np.arange(len(item)) - starts[:-1][item]
    return np.sort(shuffled[place < at_most])
