"""Residual networks of many parallel paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least
from sfumato.training.networks.layers import Residual, conv, he_normal, mean_head, named, projection, relu
from sfumato.training.networks.network import Shape, blocks_each, check_shape


@dataclass(frozen=True)
class ResNeXt:
    """ResNeXt-29, 8x64d (Xie et al. 2017): bottleneck blocks whose 3 x 3 convolution has `paths` groups of
    `path_width` channels, doubled in each of three stages.

    Between blocks there are 256, 512 and 1024 channels: 4 * `width`, doubled. Depth is 9n + 2. Where channels or size
    change, the shortcut is a 1 x 1 convolution with batch norm. Convolutions by He's rule. It wants a GPU.
    """

    depth: int = 29
    paths: int = 8
    path_width: int = 64
    width: int = 64

    name: ClassVar[str] = "resnext"

    def __post_init__(self) -> None:
        blocks_each(self.depth, layers_a_block=3, others=2)
        at_least("paths", self.paths, 1)
        at_least("path_width", self.path_width, 1)
        at_least("width", self.width, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        n_in = self.width
        stages: dict[str, nn.Module] = {}
        for i in range(3):
            n_out = 4 * self.width * 2**i
            blocks: list[nn.Module] = []
            for k in range(blocks_each(self.depth, layers_a_block=3, others=2)):
                stride = 2 if i > 0 and k == 0 else 1
                shortcut = self._shortcut(n_in, n_out, stride)
                blocks += [Residual(self._body(n_in, self.path_width * 2**i, n_out, stride), shortcut), relu()]
                n_in = n_out
            stages[f"stage_{i + 1}"] = nn.Sequential(*blocks)
        stem = nn.Sequential(conv(shape[0], self.width), nn.BatchNorm2d(self.width), relu())
        return he_normal(named(stem=stem, **stages, head=mean_head(n_in, n_classes)))

    def _body(self, n_in: int, path_width: int, n_out: int, stride: int) -> nn.Sequential:
        inner = self.paths * path_width
        return nn.Sequential(
            conv(n_in, inner, 1), nn.BatchNorm2d(inner), relu(),
            conv(inner, inner, stride=stride, groups=self.paths), nn.BatchNorm2d(inner), relu(),
            conv(inner, n_out, 1), nn.BatchNorm2d(n_out),
        )  # fmt: skip

    def _shortcut(self, n_in: int, n_out: int, stride: int) -> nn.Module:
        if n_in == n_out:
            return nn.Identity()
        return nn.Sequential(projection(n_in, n_out, stride), nn.BatchNorm2d(n_out))
