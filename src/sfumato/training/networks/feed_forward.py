"""Feed-forward networks with one or two hidden layers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least
from sfumato.training.networks.network import Shape, check_shape


@dataclass(frozen=True)
class SimpleFfn:
    """One hidden layer of 128 units with ReLU. Torch's default initialization.

    The fastest network, for small gray images such as digits; images can have any size. Prefer `lenet` for accuracy.
    """

    hidden: int = 128

    name: ClassVar[str] = "simple-ffn"

    def __post_init__(self) -> None:
        at_least("hidden", self.hidden, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=1)
        return nn.Sequential(
            nn.Flatten(), nn.Linear(prod(shape), self.hidden), nn.ReLU(), nn.Linear(self.hidden, n_classes)
        )


@dataclass(frozen=True)
class DeeperFfn:
    """Two hidden layers of 256 and 128 units with ReLU. Torch's default initialization.

    Twice the parameters of `simple-ffn`; images can have any size.
    """

    hidden: int = 256
    second: int = 128

    name: ClassVar[str] = "deeper-ffn"

    def __post_init__(self) -> None:
        at_least("hidden", self.hidden, 1)
        at_least("second", self.second, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=1)
        return nn.Sequential(
            nn.Flatten(),
            nn.Linear(prod(shape), self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, self.second),
            nn.ReLU(),
            nn.Linear(self.second, n_classes),
        )
