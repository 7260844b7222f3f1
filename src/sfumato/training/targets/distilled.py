"""Knowledge distillation: what a teacher predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.tables.settings import above_0, share
from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.tempered import tempered
from sfumato.training.training_set import TrainingSet, one_hot


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
