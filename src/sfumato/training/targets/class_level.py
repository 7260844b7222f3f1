"""The doubt of a class, for each of its items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.tables.settings import one_of
from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.grouping import WAYS, By, classes_by
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class ClassLevelTarget:
    """People's mean distribution over the items of the item's class ("category soft" in Peterson et al. 2019).

    Keeps which classes people confuse and drops what is particular to an item: the control for item-level doubt.
    `by` says whether the class of an item is its original one or its majority.
    """

    by: By = "original"

    name: ClassVar[str] = "class-level"

    def __post_init__(self) -> None:
        one_of("by", self.by, WAYS)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        people = lesson.need_people(self.name)
        group = classes_by(lesson, self.by, self.name, rng)
        n_items = np.bincount(group, minlength=lesson.n_classes)
        sums = np.zeros((lesson.n_classes, lesson.n_classes))
        np.add.at(sums, group, people)
        return FixedLabels.of((sums / np.maximum(n_items, 1)[:, None])[group])
