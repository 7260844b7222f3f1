"""Target: the protocol of what a model is trained on."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from sfumato.training.target_labels import TargetLabels
from sfumato.training.training_set import TrainingSet


@runtime_checkable
class Target(Protocol):
    """Computes labels from the label sources of a training set."""

    @property
    def name(self) -> str: ...

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        """Labels for every item; `rng` is for random choices made once, before training."""
        ...
