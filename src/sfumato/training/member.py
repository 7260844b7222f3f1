"""Member: one network of a training, and where it has come to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from torch import Tensor

from sfumato.training.dynamics_recorder import Dynamics


@dataclass(frozen=True)
class EpochRow:
    """How one member stood after an epoch."""

    epoch: int
    loss: float
    validation_loss: float | None
    rate: float
    """What the optimiser's rate was multiplied with at the end."""


@dataclass(eq=False)
class RunState:
    """One network of a training: where it has come to."""

    name: str
    number: int
    """Its place in the task."""
    rows: list[EpochRow] = field(default_factory=list)
    dynamics: Dynamics = field(default_factory=Dynamics)
    predictions: list[Float[np.ndarray, "tested classes"]] = field(default_factory=list)
    """Of the test items: after every epoch where asked for, else the last alone."""
    best: dict[str, Tensor] | None = None
    """Its weights when the validation loss was lowest, or those it ended with."""
    ended: str = ""
    """Why it learns no more: `finished`, `stopped early`, `diverged`; empty while it does."""

    @property
    def validation_losses(self) -> list[float]:
        return [row.validation_loss for row in self.rows if row.validation_loss is not None]

    @property
    def n_waited(self) -> int:
        """Epochs since the validation loss was lowest."""
        losses = self.validation_losses
        return len(losses) - 1 - int(np.argmin(losses))
