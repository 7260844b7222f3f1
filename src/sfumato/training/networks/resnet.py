"""Residual networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from sfumato.tables.settings import at_least, one_of
from sfumato.training.networks.layers import (
    PaddedChannels,
    Residual,
    Strided,
    conv,
    he_normal,
    mean_head,
    named,
    projection,
    relu,
)
from sfumato.training.networks.network import Shape, blocks_each, check_shape

BOTTLENECKS = {50: (3, 4, 6, 3)}
"""Blocks in each of four stages."""
EXPANSION = 4
"""Channels after a bottleneck, for each within."""


@dataclass(frozen=True)
class ResNet:
    """A residual network (He et al. 2016, Deep residual learning), ReLU after addition.

    `basic` blocks (two 3 x 3 convolutions) make the paper's CIFAR-10 form: depth 6n + 2, three stages of n blocks with
    16, 32 and 64 channels, for depths 8, 14, 20, 32, 44, 56, 110. Depth 44 with padded shortcuts and `bias` is
    what Uma et al. (2020) and Collins et al. (2022) call ResNet-34A: 660,170 parameters.

    `bottleneck` blocks (1 x 1, 3 x 3, 1 x 1, the stride in the middle one) make the paper's ImageNet form of depth 50:
    four stages of 3, 4, 6, 3 blocks with 256, 512, 1024, 2048 channels. For small images it begins with one 3 x 3
    convolution of stride 1 and no pooling, so that 32 px end as 4 x 4.

    Where a stage begins, the shortcut either takes every second pixel and pads the channels with zeros ("pad", the
    paper's option A, no parameters) or is a 1 x 1 convolution with batch norm ("projection", its option B, which the
    paper's ResNet-50 has). `width` is that of the first stage; unless given, 16 for basic and 64 for bottleneck
    blocks. With `bias` every convolution has one, of no effect, since batch norm takes it out again. Convolutions by
    He's rule.
    """

    depth: int = 20
    shortcut: Literal["pad", "projection"] = "pad"
    block: Literal["basic", "bottleneck"] = "basic"
    width: int | None = None
    bias: bool = False

    name: ClassVar[str] = "resnet"

    def __post_init__(self) -> None:
        one_of("shortcut", self.shortcut, ["pad", "projection"])
        one_of("block", self.block, ["basic", "bottleneck"])
        if self.width is not None:
            at_least("width", self.width, 1)
        one_of("bias", self.bias, [False, True])
        if self.block == "bottleneck":
            one_of("depth", self.depth, list(BOTTLENECKS))
        else:
            blocks_each(self.depth, layers_a_block=2, others=2)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        width = self.width or (16 if self.block == "basic" else 64)
        stem = nn.Sequential(conv(shape[0], width, bias=self.bias), nn.BatchNorm2d(width), relu())
        stages: dict[str, nn.Module] = {}
        n_in = width
        for i, n in enumerate(self._blocks()):
            inner = width * 2**i
            n_out = inner if self.block == "basic" else inner * EXPANSION
            blocks: list[nn.Module] = []
            for k in range(n):
                stride = 2 if i > 0 and k == 0 else 1
                body = self._body(n_in, inner, n_out, stride)
                blocks += [Residual(body, self._shortcut(n_in, n_out, stride)), relu()]
                n_in = n_out
            stages[f"stage_{i + 1}"] = nn.Sequential(*blocks)
        return he_normal(named(stem=stem, **stages, head=mean_head(n_in, n_classes)))

    def _blocks(self) -> tuple[int, ...]:
        if self.block == "basic":
            return (blocks_each(self.depth, layers_a_block=2, others=2),) * 3
        return BOTTLENECKS[self.depth]

    def _body(self, n_in: int, inner: int, n_out: int, stride: int) -> nn.Sequential:
        if self.block == "basic":
            return nn.Sequential(
                conv(n_in, n_out, stride=stride, bias=self.bias), nn.BatchNorm2d(n_out), relu(),
                conv(n_out, n_out, bias=self.bias), nn.BatchNorm2d(n_out),
            )  # fmt: skip
        return nn.Sequential(
            conv(n_in, inner, 1, bias=self.bias), nn.BatchNorm2d(inner), relu(),
            conv(inner, inner, stride=stride, bias=self.bias), nn.BatchNorm2d(inner), relu(),
            conv(inner, n_out, 1, bias=self.bias), nn.BatchNorm2d(n_out),
        )  # fmt: skip

    def _shortcut(self, n_in: int, n_out: int, stride: int) -> nn.Module:
        if n_in == n_out and stride == 1:
            return nn.Identity()
        if self.shortcut == "pad":
            return nn.Sequential(Strided(stride), PaddedChannels(n_out - n_in))
        return nn.Sequential(projection(n_in, n_out, stride, bias=self.bias), nn.BatchNorm2d(n_out))
