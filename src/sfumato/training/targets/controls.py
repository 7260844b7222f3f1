"""Labels that have nothing to do with the items.

People's labels, each on another item of its class.

Nothing known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Int

from sfumato.tables.settings import one_of
from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.hard import WAYS, By, classes_by
from sfumato.training.training_set import TrainingSet, one_hot

Form = Literal["hard", "soft"]


@dataclass(frozen=True)
class RandomTarget:
    """A label drawn once for each item: a control that can only be learnt by heart. It needs no source.

    `form` hard: a class, all alike in chance. `form` soft: a distribution, all alike in chance (Dirichlet of ones).
    """

    form: Form = "hard"

    name: ClassVar[str] = "random"

    def __post_init__(self) -> None:
        one_of("form", self.form, ("hard", "soft"))

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        if self.form == "soft":
            return FixedLabels.of(rng.dirichlet(np.ones(lesson.n_classes), lesson.n_items))
        return FixedLabels.of(one_hot(rng.integers(lesson.n_classes, size=lesson.n_items), lesson.n_classes))


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


@dataclass(frozen=True)
class UniformTarget:
    """`1 / K` for every class of every item: a control that can teach nothing. It needs no source."""

    name: ClassVar[str] = "uniform"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(np.full((lesson.n_items, lesson.n_classes), 1 / lesson.n_classes))
