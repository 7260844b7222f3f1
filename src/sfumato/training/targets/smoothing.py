"""Targets with uncertainty that is not the item's own: smoothing, entropy-matched, class-level, distilled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.tables.doubt import entropy
from sfumato.tables.setting_checks import above_0, one_of, share
from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.hard import WAYS, classes_by
from sfumato.training.targets.soft import tempered
from sfumato.training.training_set import TrainingSet, one_hot


@dataclass(frozen=True)
class SmoothingTarget:
    """Label smoothing: `(1 - share) e + share / K`, e the original class as one-hot (Szegedy et al. 2016).

    The share goes to all K classes, including the original one. Others give `share / (K - 1)` to the other classes
    only: their share s is our `s K / (K - 1)`. Needs no annotators; `entropy-matched` has people's entropy.
    """

    share: float = 0.1

    name: ClassVar[str] = "smoothing"
    sources: ClassVar[tuple[str, ...]] = ("original",)

    def __post_init__(self) -> None:
        share("share", self.share)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        sure = one_hot(training_set.need_original(self.name), training_set.n_classes)
        return FixedLabels.of((1 - self.share) * sure + self.share / training_set.n_classes)


@dataclass(frozen=True)
class EntropyMatchedTarget:
    """`(1 - s) e + s / K`, e the original class, with s such that the entropy is that of people's label.

    `level` item: each item has its own s, which keeps how uncertain an item is but not between which classes. `level`
    class or mean: one s per original class or for all items, for people's mean entropy. The control for the amount of
    uncertainty: if `soft` is no better than this, the classes that people confuse did not matter. A label with entropy
    0 gives the original class, even if all people chose another.
    """

    level: str = "item"

    name: ClassVar[str] = "entropy-matched"
    sources: ClassVar[tuple[str, ...]] = ("people", "original")

    def __post_init__(self) -> None:
        one_of("level", self.level, ("item", "class", "mean"))

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        original = training_set.need_original(self.name)
        sure = one_hot(original, training_set.n_classes)
        entropies = entropy(np.asarray(training_set.need_people(self.name), np.float64))
        if self.level != "item":
            group = original if self.level == "class" else np.zeros_like(original)
            n_items = np.bincount(group, minlength=training_set.n_classes)
            entropies = (np.bincount(group, entropies, training_set.n_classes) / np.maximum(n_items, 1))[group]
        share = smoothing_shares(entropies, training_set.n_classes)[:, None]
        return FixedLabels.of((1 - share) * sure + share / training_set.n_classes)


def smoothing_shares(entropies: Float[np.ndarray, "items"], n_classes: int) -> Float[np.ndarray, "items"]:
    """The smoothing shares that give these entropies over `n_classes`, by bisection; 1 if none is large enough."""
    low, high = np.zeros_like(entropies), np.ones_like(entropies)
    # Entropy increases with s. 100 halvings are exact for any s above 1e-14, with an error of 1e-30 below.
    for _ in range(100):
        middle = (low + high) / 2
        below = smoothed_entropy(middle, n_classes) <= entropies
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(entropies >= math.log(n_classes), 1.0, low)


def smoothed_entropy(share: Float[np.ndarray, "items"], n_classes: int) -> Float[np.ndarray, "items"]:
    """The entropy of a one-hot label smoothed by `share`, in nats; exact for small shares too."""
    each = share / n_classes
    rest = each * (n_classes - 1)
    logs = np.log(each, out=np.zeros_like(each), where=each > 0)
    return np.asarray(-(1 - rest) * np.log1p(-rest) - rest * logs)


@dataclass(frozen=True)
class ClassLevelTarget:
    """The mean of people's labels over the items of the item's class ("category soft" in Peterson et al. 2019).

    Keeps which classes people confuse but not the differences between items: a control for item-level uncertainty.
    `by`: the class of an item is its original class or its majority class.
    """

    by: str = "original"

    name: ClassVar[str] = "class-level"
    sources: ClassVar[tuple[str, ...]] = ("people", "original")

    def __post_init__(self) -> None:
        one_of("by", self.by, WAYS)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        people = training_set.need_people(self.name)
        group = classes_by(training_set, self.by, self.name, rng)
        n_items = np.bincount(group, minlength=training_set.n_classes)
        sums = np.zeros((training_set.n_classes, training_set.n_classes))
        np.add.at(sums, group, people)
        return FixedLabels.of((sums / np.maximum(n_items, 1)[:, None])[group])


@dataclass(frozen=True)
class DistilledTarget:
    """Knowledge distillation: `share p + (1 - share) e`, with a teacher's prediction p and the original class e.

    The teacher is one model or the mean of several; p is its prediction to the power of `1 / temperature`, normalized.
    Because cross-entropy is linear in the label, this is the weighted sum of the two losses of Hinton et al. (2015),
    except that the student's temperature is 1 and there is no factor of squared temperature. Soft labels without
    annotators: compare `soft` with it. With `share` 1 (the default), no original class is needed.
    """

    temperature: float = 1.0
    share: float = 1.0

    name: ClassVar[str] = "distilled"
    sources: ClassVar[tuple[str, ...]] = ("predicted",)

    def __post_init__(self) -> None:
        above_0("temperature", self.temperature)
        share("share", self.share)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        teacher = tempered(training_set.need_predicted(self.name), self.temperature)
        if self.share == 1:
            return FixedLabels.of(teacher)
        sure = one_hot(training_set.need_original(self.name), training_set.n_classes)
        return FixedLabels.of(self.share * teacher + (1 - self.share) * sure)
