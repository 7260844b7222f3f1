"""The class the data set came with.

Which class an item belongs to: by the data set, or by what most people chose.

The class most people chose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Int

from sfumato.training.target_labels import FixedLabels
from sfumato.training.training_set import TrainingSet, one_hot


@dataclass(frozen=True)
class HardTarget:
    """The original class of each item, with all the mass.

    What almost everybody trains on, and what every other target is compared with. Prefer `majority` where people
    should decide which class it is.
    """

    name: ClassVar[str] = "hard"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(one_hot(lesson.need_original(self.name), lesson.n_classes))


By = Literal["original", "majority"]
WAYS: tuple[By, ...] = ("original", "majority")
TIE = 1e-6
"""Masses closer than this are tied: rounding can part them, no count of votes can."""


def classes_by(lesson: TrainingSet, by: By, target: str, rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """The class number of every item."""
    return lesson.need_original(target) if by == "original" else majority_of(lesson, target, rng)


def majority_of(lesson: TrainingSet, target: str, rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """The class with most of people's mass; ties go to the original class if it is one of the tied, else to chance."""
    people = lesson.need_people(target)
    tied = people >= people.max(axis=1, keepdims=True) - TIE
    n_tied = tied.sum(axis=1)
    drawn = (rng.random(lesson.n_items) * n_tied).astype(np.int64)
    # The drawn-th of the tied classes is the first that has more tied ones up to it.
    chosen = np.argmax(np.cumsum(tied, axis=1) > drawn[:, None], axis=1)
    if lesson.original is not None:
        is_tied = np.take_along_axis(tied, lesson.original[:, None], axis=1)[:, 0]
        chosen = np.where(is_tied, lesson.original, chosen)
    return np.asarray(chosen)


@dataclass(frozen=True)
class MajorityTarget:
    """The class with the most of people's mass, with all of it: their choice without their doubt.

    A tie goes to the original class where it is known and among the tied; any other tie is drawn once, evenly.
    Prefer `soft`, which needs no such rule.
    """

    name: ClassVar[str] = "majority"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        return FixedLabels.of(one_hot(majority_of(lesson, self.name, rng), lesson.n_classes))
