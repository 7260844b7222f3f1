"""Targets with one class per item: the original class, or the class most people chose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from sfumato.training.target_labels import FixedLabels
from sfumato.training.training_set import TrainingSet, one_hot


@dataclass(frozen=True)
class HardTarget:
    """The original class of each item, with probability 1.

    The usual target, and the baseline of comparisons. Prefer `majority` if people should decide the class.
    """

    name: ClassVar[str] = "hard"
    sources: ClassVar[tuple[str, ...]] = ("original",)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(one_hot(training_set.need_original(self.name), training_set.n_classes))


WAYS = ("original", "majority")
TIE = 1e-6
"""Probabilities closer than this are tied: differences this small come from rounding, not from votes."""


def classes_by(training_set: TrainingSet, by: str, target: str, rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """The class number of every item."""
    return training_set.need_original(target) if by == "original" else majority_of(training_set, target, rng)


def majority_of(training_set: TrainingSet, target: str, rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """The most probable class of people's label; ties go to the original class if it is tied, else are random."""
    people = training_set.need_people(target, hard=True)
    tied = people >= people.max(axis=1, keepdims=True) - TIE
    n_tied = tied.sum(axis=1)
    drawn = (rng.random(training_set.n_items) * n_tied).astype(np.int64)
    # Selects the drawn-th of the tied classes.
    chosen = np.argmax(np.cumsum(tied, axis=1) > drawn[:, None], axis=1)
    if training_set.original is not None:
        is_tied = np.take_along_axis(tied, training_set.original[:, None], axis=1)[:, 0]
        chosen = np.where(is_tied, training_set.original, chosen)
    return np.asarray(chosen)


@dataclass(frozen=True)
class MajorityTarget:
    """The most probable class of people's label, with probability 1.

    A tie goes to the original class if it is known and tied; other ties are broken once at random. Prefer `soft`,
    which needs no such rule.
    """

    name: ClassVar[str] = "majority"
    sources: ClassVar[tuple[str, ...]] = ("people",)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        return FixedLabels.of(one_hot(majority_of(training_set, self.name, rng), training_set.n_classes))
