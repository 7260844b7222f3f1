"""Target: what a network is to learn about each item."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from sfumato.training.target_labels import TargetLabels
from sfumato.training.training_set import TrainingSet


@runtime_checkable
class Target(Protocol):
    """Labels made of what is known of the items."""

    @property
    def name(self) -> str: ...

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        """Labels for every item of the lesson; `rng` is for what is drawn once, before training."""
        ...
