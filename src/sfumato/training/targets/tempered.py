"""Temperature: people's doubt made larger or smaller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.tables.settings import above_0
from sfumato.training.target_labels import FixedLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class TemperedTarget:
    """`q ** (1 / temperature)`, normalised, of people's q: above 1 flatter, below 1 sharper, at 1 `soft`.

    The order of the classes stays. A class nobody chose gets nothing at any temperature; towards 0 all mass goes to
    the largest class, evenly where several are. Use it to learn whether people's doubt is too large or too small.
    """

    temperature: float = 2.0

    name: ClassVar[str] = "tempered"

    def __post_init__(self) -> None:
        above_0("temperature", self.temperature)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(tempered(lesson.need_people(self.name), self.temperature))


def tempered(probs: Float[np.ndarray, "rows classes"], temperature: float) -> Float[np.ndarray, "rows classes"]:
    """`probs ** (1 / temperature)` with rows that sum to one; zeros stay zeros."""
    probs = np.asarray(probs, np.float64)
    # Relative to the largest, in logarithms: no temperature makes a row underflow as a whole.
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(probs / probs.max(axis=1, keepdims=True)) / temperature
    powered = np.exp(logs)
    return np.asarray(powered / powered.sum(axis=1, keepdims=True))
