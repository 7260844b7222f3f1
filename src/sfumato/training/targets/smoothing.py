"""Label smoothing: the same doubt for every item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.tables.settings import share
from sfumato.training.target_labels import FixedLabels
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
