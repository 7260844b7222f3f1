"""A network of one hidden layer.

A network of two hidden layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least
from sfumato.training.networks.network import Shape, check_shape


@dataclass(frozen=True)
class SimpleFfn:
    """One hidden layer of 128 units with ReLU: every pixel to every unit. Weights as torch draws them.

    The cheapest network there is, for small grey images such as digits; it takes images of any size. Prefer `lenet`
    where accuracy matters.
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
    """Two hidden layers of 256 and 128 units with ReLU. Weights as torch draws them.

    Twice the parameters of `simple-ffn`, and as blind to where a pixel lies; it takes images of any size.
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
