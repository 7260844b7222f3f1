"""DenseNet: every block uses the outputs of all earlier blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from sfumato.tables.setting_checks import at_least
from sfumato.training.networks.layers import JoinedChannels, conv, he_normal, mean_head, named, relu
from sfumato.training.networks.network import Shape, blocks_per_stage, check_shape


@dataclass(frozen=True)
class DenseNet:
    """DenseNet-BC (Huang et al. 2017): each block adds `growth` channels; three stages.

    A block is batch norm, ReLU, a 1 x 1 convolution to 4 * growth channels, and again with a 3 x 3 convolution to
    growth. Between stages, a 1 x 1 convolution halves the channels and 2 x 2 average pooling halves the image. It
    starts with 2 * growth channels; depth is 6n + 4. Few parameters (769,162 for depth 100, growth 12), but much
    memory. Convolutions are initialized by He's rule.
    """

    depth: int = 100
    growth: int = 12

    name: ClassVar[str] = "densenet"

    def __post_init__(self) -> None:
        blocks_per_stage(self.depth, layers_per_block=2, others=4)
        at_least("growth", self.growth, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        n = 2 * self.growth
        parts: dict[str, nn.Module] = {"stem": conv(shape[0], n)}
        for i in range(3):
            blocks = []
            for _ in range(blocks_per_stage(self.depth, layers_per_block=2, others=4)):
                blocks.append(_Dense(n, self.growth))
                n += self.growth
            parts[f"stage_{i + 1}"] = nn.Sequential(*blocks)
            if i < 2:
                parts[f"transition_{i + 1}"] = _activated(n, conv(n, n // 2, 1), nn.AvgPool2d(2))
                n //= 2
        return he_normal(named(**parts, last=_activated(n), head=mean_head(n, n_classes)))


class _Dense(nn.Module):
    """The input with `growth` additional channels."""

    def __init__(self, n_in: int, growth: int) -> None:
        super().__init__()
        inner = 4 * growth
        self.body = nn.Sequential(_activated(n_in, conv(n_in, inner, 1)), _activated(inner, conv(inner, growth)))
        self.join = JoinedChannels()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.join(x, self.body(x))
        return out


def _activated(n_in: int, *then: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.BatchNorm2d(n_in), relu(), *then)
