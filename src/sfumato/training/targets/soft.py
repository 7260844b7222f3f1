"""How people judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.training.target_labels import FixedLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class SoftTarget:
    """People's distribution over the classes, as it is (Peterson et al. 2019).

    Assumes enough people an item: the doubt of a few is mostly noise. To learn whether it is the doubt about single
    items that helps, compare with `class-level` and `shuffled`; whether it is doubt at all, with `entropy-matched`.
    """

    name: ClassVar[str] = "soft"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(lesson.need_people(self.name))
