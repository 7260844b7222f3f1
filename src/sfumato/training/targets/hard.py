"""The class the data set came with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

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
