"""VGG for small images, with batch norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least, one_of
from sfumato.training.networks.layers import he_normal, named, relu
from sfumato.training.networks.network import Shape, check_shape

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
