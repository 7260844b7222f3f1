"""Label smoothing: the same doubt for every item.

Label smoothing with as much doubt as people have.

The doubt of a class, for each of its items.

Knowledge distillation: what a teacher predicts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from sfumato.tables.doubt import entropy
from sfumato.tables.settings import above_0, one_of, share
from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.hard import WAYS, By, classes_by
from sfumato.training.targets.soft import tempered
from sfumato.training.training_set import TrainingSet, one_hot


@dataclass(frozen=True)
class SmoothingTarget:
    """`(1 - share) e + share / K`, e the original class as one-hot (Szegedy et al. 2016).

    The share goes to all K classes, the original one among them, as there. Others give `share / (K - 1)` to the rest
    alone: theirs with share s is ours with `s K / (K - 1)`. It asks nobody; `entropy-matched` is the same with as much
    doubt as people have.
    """

    share: float = 0.1

    name: ClassVar[str] = "smoothing"

    def __post_init__(self) -> None:
        share("share", self.share)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        sure = one_hot(lesson.need_original(self.name), lesson.n_classes)
        return FixedLabels.of((1 - self.share) * sure + self.share / lesson.n_classes)


Level = Literal["item", "mean"]


@dataclass(frozen=True)
class EntropyMatchedTarget:
    """`(1 - s) e + s / K`, e the original class, with s such that its entropy is that of people's distribution.

    `level` item: each item has its own s, so that it is known how doubtful an item is but not between which classes.
    `level` mean: one s for all, so that the mean entropy is people's. The control for doubt as such: where `soft` is no
    better than this, it did not matter which classes people hesitated between. A row of people's without doubt gives
    the original class, also where people all chose another.
    """

    level: Level = "item"

    name: ClassVar[str] = "entropy-matched"

    def __post_init__(self) -> None:
        one_of("level", self.level, ("item", "mean"))

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        sure = one_hot(lesson.need_original(self.name), lesson.n_classes)
        doubt = entropy(np.asarray(lesson.need_people(self.name), np.float64))
        if self.level == "mean" and len(doubt):
            doubt = np.full_like(doubt, doubt.mean())
        share = shares_of(doubt, lesson.n_classes)[:, None]
        return FixedLabels.of((1 - share) * sure + share / lesson.n_classes)


def shares_of(doubt: Float[np.ndarray, "items"], n_classes: int) -> Float[np.ndarray, "items"]:
    """The share with which smoothing over `n_classes` has the entropy `doubt`, by bisection; 1 where none suffices."""
    low, high = np.zeros_like(doubt), np.ones_like(doubt)
    # Entropy rises with s. A hundred halvings reach the last digit of any s above 1e-14, and 1e-30 below it.
    for _ in range(100):
        middle = (low + high) / 2
        below = smoothed_entropy(middle, n_classes) <= doubt
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(doubt >= math.log(n_classes), 1.0, low)


def smoothed_entropy(share: Float[np.ndarray, "items"], n_classes: int) -> Float[np.ndarray, "items"]:
    """The entropy of a one-hot label smoothed by `share`, in nats; exact for small shares too."""
    each = share / n_classes
    rest = each * (n_classes - 1)
    logs = np.log(each, out=np.zeros_like(each), where=each > 0)
    return np.asarray(-(1 - rest) * np.log1p(-rest) - rest * logs)


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


@dataclass(frozen=True)
class DistilledTarget:
    """`share p + (1 - share) e`: what a teacher predicts, p, beside the original class, e.

    The teacher is a model, or the mean of several; p is its prediction to the power of `1 / temperature`, normalised.
    Cross-entropy is linear in the label, so this mix is the weighted sum of the two losses of Hinton et al. (2015); but
    the student's own temperature stays 1, so there is no factor of squared temperature. It is doubt that cost no
    annotator: compare `soft` with it. With `share` 1, the default, no original class is needed.
    """

    temperature: float = 1.0
    share: float = 1.0

    name: ClassVar[str] = "distilled"

    def __post_init__(self) -> None:
        above_0("temperature", self.temperature)
        share("share", self.share)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        taught = tempered(lesson.need_predicted(self.name), self.temperature)
        if self.share == 1:
            return FixedLabels.of(taught)
        sure = one_hot(lesson.need_original(self.name), lesson.n_classes)
        return FixedLabels.of(self.share * taught + (1 - self.share) * sure)
