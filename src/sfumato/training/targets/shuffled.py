"""People's labels, each on another item of its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from sfumato.tables.settings import one_of
from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.grouping import WAYS, By, classes_by
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class ShuffledTarget:
    """People's distributions, permuted once within each class: the same labels, on the wrong items.

    The control for item-level doubt: a class keeps every distribution it had, only whose doubt it was is lost. Where
    `soft` is no better than this, item-level doubt did not help. No item keeps its own row: the permutation of a class
    is one random cycle (Sattolo 1986). An item alone in its class has none to change with. `by` says whether the class
    of an item is its original one or its majority.
    """

    by: By = "original"

    name: ClassVar[str] = "shuffled"

    def __post_init__(self) -> None:
        one_of("by", self.by, WAYS)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        people = lesson.need_people(self.name)
        return FixedLabels.of(people[cycles(classes_by(lesson, self.by, self.name, rng), rng)])


def cycles(group: Int[np.ndarray, "items"], rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """For every item another of its group, as one random cycle through each group."""
    order = rng.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    # Groups lie side by side in random order: each item takes the next one's row, the last of a group the first's.
    sizes = np.bincount(group)
    first = np.cumsum(sizes) - sizes
    place = np.arange(len(group))
    start, size = first[group[order]], sizes[group[order]]
    source = np.empty(len(group), np.int64)
    source[order] = order[start + (place - start + 1) % np.maximum(size, 1)]
    return source
