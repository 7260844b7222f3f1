"""Networks without shortcuts: one or two hidden layers, LeNet-5, a small network for CPUs, and VGG."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from torch import nn

from sfumato.tables.setting_checks import at_least, bad_setting, one_of
from sfumato.training.networks.layers import conv, he_normal, named, relu
from sfumato.training.networks.network import Shape, check_shape
from sfumato.training.stacked_layers import Dropout


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


@dataclass(frozen=True)
class Mlp:
    """`depth` hidden layers of `width` units with ReLU, for features. Torch's default initialization.

    `dropout` is the share of units that is left out at random in training.
    """

    width: int = 256
    depth: int = 2
    dropout: float = 0.0

    name: ClassVar[str] = "mlp"

    def __post_init__(self) -> None:
        at_least("width", self.width, 1)
        at_least("depth", self.depth, 1)
        if not 0 <= self.dropout < 1:
            raise bad_setting("dropout", self.dropout, "a share from 0 to below 1")

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=1)
        layers: list[nn.Module] = [nn.Flatten()]
        for n_in in (prod(shape), *[self.width] * (self.depth - 1)):
            layers += [nn.Linear(n_in, self.width), nn.ReLU()]
            layers += [Dropout(self.dropout)] if self.dropout else []
        return nn.Sequential(*layers, nn.Linear(self.width, n_classes))


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


CONVOLUTIONS = {11: (1, 1, 2, 2, 2), 15: (2, 2, 3, 3, 3)}
"""Convolutions in each of five stages, by the depth in the network's name."""


@dataclass(frozen=True)
class Vgg:
    """VGG (Simonyan & Zisserman 2015) for small images: stages of 64, 128, 256, 512 and 512 channels, batch norm
    after every convolution, one linear layer at the end.

    Depth 11 has the convolutions of the paper's configuration A, depth 15 the 13 of its D, called VGG-15-BN in Peterson
    et al. (2019). Each stage ends in pooling that rounds up, so that five of them also fit 28 px. ReLU comes after
    pooling, with the same result. Convolutions are initialized by He's rule. Large for its accuracy: prefer `resnet`
    unless you compare with published results.
    """

    depth: int = 11
    width: int = 64

    name: ClassVar[str] = "vgg"

    def __post_init__(self) -> None:
        one_of("depth", self.depth, list(CONVOLUTIONS))
        at_least("width", self.width, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=16)
        n_in, height, width = shape
        stages: dict[str, nn.Module] = {}
        for i, n_convolutions in enumerate(CONVOLUTIONS[self.depth]):
            n_out = self.width * min(2**i, 8)
            layers: list[nn.Module] = []
            for _ in range(n_convolutions):
                layers += [nn.Conv2d(n_in, n_out, 3, padding=1), nn.BatchNorm2d(n_out), relu()]
                n_in = n_out
            layers.insert(-1, nn.MaxPool2d(2, ceil_mode=True))
            stages[f"stage_{i + 1}"] = nn.Sequential(*layers)
            height, width = (height + 1) // 2, (width + 1) // 2
        head = nn.Sequential(nn.Flatten(), nn.Linear(n_in * height * width, n_classes))
        return he_normal(named(**stages, head=head))
