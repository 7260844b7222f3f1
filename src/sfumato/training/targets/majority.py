"""The class most people chose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.grouping import majority_of
from sfumato.training.training_set import TrainingSet, one_hot


@dataclass(frozen=True)
class MajorityTarget:
    """The class with the most of people's mass, with all of it: their choice without their doubt.

    A tie goes to the original class where it is known and among the tied; any other tie is drawn once, evenly.
    Prefer `soft`, which needs no such rule.
    """

    name: ClassVar[str] = "majority"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        return FixedLabels.of(one_hot(majority_of(lesson, self.name, rng), lesson.n_classes))
