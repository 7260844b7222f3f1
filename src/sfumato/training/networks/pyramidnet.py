"""PyramidNet: residual networks whose width grows with every block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least
from sfumato.training.networks.layers import PaddedChannels, Residual, conv, he_normal, mean_head, named, relu
from sfumato.training.networks.network import Shape, blocks_per_stage, check_shape


@dataclass(frozen=True)
class PyramidNet:
    """PyramidNet with basic blocks (Han et al. 2017): block k of N has 16 + alpha k / N channels, rounded.

    A block is batch norm, convolution, batch norm, ReLU, convolution, batch norm. The shortcut averages over 2 x 2
    where the image is halved and pads the channels with zeros, so it has no parameters. Depth is 6n + 2, in three
    stages. The default, 110 layers and alpha 270, needs a GPU. Convolutions are initialized by He's rule.
    """

    depth: int = 110
    alpha: int = 270

    name: ClassVar[str] = "pyramidnet"

    def __post_init__(self) -> None:
        blocks_per_stage(self.depth, layers_per_block=2, others=2)
        at_least("alpha", self.alpha, 0)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        n_each = blocks_per_stage(self.depth, layers_per_block=2, others=2)
        n_in = 16
        stages: dict[str, nn.Module] = {}
        for i in range(3):
            blocks = []
            for k in range(n_each):
                n_out = round(16 + self.alpha * (i * n_each + k + 1) / (3 * n_each))
                stride = 2 if i > 0 and k == 0 else 1
                blocks.append(Residual(_body(n_in, n_out, stride), _shortcut(n_out - n_in, stride)))
                n_in = n_out
            stages[f"stage_{i + 1}"] = nn.Sequential(*blocks)
        stem = nn.Sequential(conv(shape[0], 16), nn.BatchNorm2d(16))
        last = nn.Sequential(nn.BatchNorm2d(n_in), relu())
        return he_normal(named(stem=stem, **stages, last=last, head=mean_head(n_in, n_classes)))


def _body(n_in: int, n_out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.BatchNorm2d(n_in), conv(n_in, n_out, stride=stride),
        nn.BatchNorm2d(n_out), relu(), conv(n_out, n_out), nn.BatchNorm2d(n_out),
    )  # fmt: skip


def _shortcut(extra: int, stride: int) -> nn.Sequential:
    # Pooling rounds the size up, as the convolutions do.
    means = [nn.AvgPool2d(2, ceil_mode=True)] if stride > 1 else []
    return nn.Sequential(*means, *([PaddedChannels(extra)] if extra else []))
