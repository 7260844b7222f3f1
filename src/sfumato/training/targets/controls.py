"""Control targets: random labels, shuffled labels and uniform labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from sfumato.tables.setting_checks import one_of
from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.hard import WAYS, classes_by
from sfumato.training.training_set import TrainingSet, one_hot


@dataclass(frozen=True)
class RandomTarget:
    """A random label per item: a control that can only be memorized. Needs no label source.

    `form` hard: a class, all equally probable. `form` soft: a distribution from a Dirichlet distribution of ones.
    """

    form: str = "hard"

    name: ClassVar[str] = "random"
    sources: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        one_of("form", self.form, ("hard", "soft"))

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        if self.form == "soft":
            return FixedLabels.of(rng.dirichlet(np.ones(training_set.n_classes), training_set.n_items))
        return FixedLabels.of(
            one_hot(rng.integers(training_set.n_classes, size=training_set.n_items), training_set.n_classes)
        )


@dataclass(frozen=True)
class ShuffledTarget:
    """People's distributions, shuffled once within each class: the same labels on other items.

    The control for item-level uncertainty: if `soft` is no better than this, item-level uncertainty did not help. No
    item keeps its own label: the permutation of a class is one random cycle (Sattolo 1986), unless the item is alone
    in its class. `by`: the class of an item is its original class or its majority class.
    """

    by: str = "original"

    name: ClassVar[str] = "shuffled"
    sources: ClassVar[tuple[str, ...]] = ("people", "original")

    def __post_init__(self) -> None:
        one_of("by", self.by, WAYS)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        people = training_set.need_people(self.name)
        return FixedLabels.of(people[cycles(classes_by(training_set, self.by, self.name, rng), rng)])


def cycles(group: Int[np.ndarray, "items"], rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """Another item of the same group for every item: one random cycle per group."""
    order = rng.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    # Sorted by group, in random order within a group: each item gets the row of the next, the last that of the first.
    sizes = np.bincount(group)
    first = np.cumsum(sizes) - sizes
    place = np.arange(len(group))
    start, size = first[group[order]], sizes[group[order]]
    source = np.empty(len(group), np.int64)
    source[order] = order[start + (place - start + 1) % np.maximum(size, 1)]
    return source


@dataclass(frozen=True)
class UniformTarget:
    """`1 / K` for every class of every item: a control without information. Needs no label source."""

    name: ClassVar[str] = "uniform"
    sources: ClassVar[tuple[str, ...]] = ()

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(np.full((training_set.n_items, training_set.n_classes), 1 / training_set.n_classes))
