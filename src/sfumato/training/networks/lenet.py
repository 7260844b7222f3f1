"""LeNet-5, and a small convolutional network for CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least
from sfumato.training.networks.layers import conv, relu
from sfumato.training.networks.network import Shape, check_shape


@dataclass(frozen=True)
class LeNet:
    """LeNet-5 (LeCun et al. 1998): convolutions of 6 and 16 channels, 5 x 5, then 120 and 84 units.

    With ReLU and max-pooling instead of the paper's tanh and average pooling, and all channels connected. Images below
    32 px are padded by 2, as the paper did with 28 px digits; both sizes give 16 * 5 * 5 = 400 features. ReLU comes
    after pooling, which gives the same result at a quarter of the cost. Torch's default initialization. For gray
    images; prefer `small` for color photographs.
    """

    name: ClassVar[str] = "lenet"

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=12)
        channels, height, width = shape
        padding = 2 if min(height, width) < 32 else 0

        def left(size: int) -> int:
            return ((size + 2 * padding - 4) // 2 - 4) // 2

        return nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=padding),
            nn.MaxPool2d(2),
            relu(),
            nn.Conv2d(6, 16, 5),
            nn.MaxPool2d(2),
            relu(),
            nn.Flatten(),
            nn.Linear(16 * left(height) * left(width), 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, n_classes),
        )


@dataclass(frozen=True)
class Small:
    """Three 3 x 3 convolutions of 16, 32 and 64 channels, each with batch norm, max-pooling and ReLU, and one linear
    layer.

    Trains on 7,000 images of 32 px in less than a minute on one core. ReLU comes after pooling, which gives the same
    result at a quarter of the cost. Torch's default initialization. Prefer `resnet` if there is time.
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
