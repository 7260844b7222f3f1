"""Label smoothing with as much doubt as people have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from sfumato.tables.doubt import entropy
from sfumato.tables.settings import one_of
from sfumato.training.target_labels import FixedLabels
from sfumato.training.training_set import TrainingSet, one_hot

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
