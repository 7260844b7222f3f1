"""Nothing known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.training.target_labels import FixedLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class UniformTarget:
    """`1 / K` for every class of every item: a control that can teach nothing. It needs no source."""

    name: ClassVar[str] = "uniform"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(np.full((lesson.n_items, lesson.n_classes), 1 / lesson.n_classes))
