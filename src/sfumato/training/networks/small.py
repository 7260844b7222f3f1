"""A small convolutional network for CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least
from sfumato.training.networks.layers import conv, relu
from sfumato.training.networks.network import Shape, check_shape


@dataclass(frozen=True)
class Small:
    """Three 3 x 3 convolutions of 16, 32 and 64 channels, each with batch norm, max-pooling and ReLU, and one linear
    layer.

    Made to learn 7,000 images of 32 px in less than a minute on one core. ReLU comes after pooling, which is the same
    at a quarter of the work. Weights as torch draws them. Prefer `resnet` where there is time.
    """

    width: int = 16

    name: ClassVar[str] = "small"

    def __post_init__(self) -> None:
        at_least("width", self.width, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        n_in, height, width = shape
        layers: list[nn.Module] = []
        for n_out in (self.width, 2 * self.width, 4 * self.width):
            layers += [conv(n_in, n_out), nn.BatchNorm2d(n_out), nn.MaxPool2d(2), relu()]
            n_in = n_out
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(n_in * (height // 8) * (width // 8), n_classes))
