"""Labels that have nothing to do with the items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sfumato.tables.settings import one_of
from sfumato.training.target_labels import FixedLabels
from sfumato.training.training_set import TrainingSet, one_hot

Form = Literal["hard", "soft"]


@dataclass(frozen=True)
class RandomTarget:
    """A label drawn once for each item: a control that can only be learnt by heart. It needs no source.

    `form` hard: a class, all alike in chance. `form` soft: a distribution, all alike in chance (Dirichlet of ones).
    """

    form: Form = "hard"

    name: ClassVar[str] = "random"

    def __post_init__(self) -> None:
        one_of("form", self.form, ("hard", "soft"))

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        if self.form == "soft":
            return FixedLabels.of(rng.dirichlet(np.ones(lesson.n_classes), lesson.n_items))
        return FixedLabels.of(one_hot(rng.integers(lesson.n_classes, size=lesson.n_items), lesson.n_classes))
