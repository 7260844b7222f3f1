"""One vote at each access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.training.target_labels import SampledLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class SampledTarget:
    """A class drawn from people's distribution, anew each time an item is seen (Peterson et al. 2019).

    The expected loss is that of `soft`, since cross-entropy is linear in the label; the gradient is noisier. Prefer
    `soft` unless the noise is what you study.
    """

    name: ClassVar[str] = "sampled"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> SampledLabels:  # noqa: ARG002
        return SampledLabels.of(lesson.need_people(self.name))
