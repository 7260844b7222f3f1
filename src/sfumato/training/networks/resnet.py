"""Residual networks: ResNet, WideResNet, PreactResNet, ResNeXt and PyramidNet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from sfumato.tables.setting_checks import at_least, bad_setting, one_of
from sfumato.training.networks.layers import (
    PaddedChannels,
    Residual,
    Strided,
    basic,
    bottleneck,
    conv,
    he_normal,
    mean_head,
    named,
    preactivated,
    projection,
    relu,
    stages,
)
from sfumato.training.networks.network import Shape, blocks_per_stage, check_shape
from sfumato.training.stacked_layers import Dropout

BOTTLENECKS = {50: (3, 4, 6, 3)}
"""Blocks in each of four stages."""
EXPANSION = 4
"""Output channels of a bottleneck per inner channel."""


@dataclass(frozen=True)
class ResNet:
    """A residual network (He et al. 2016, Deep residual learning), ReLU after addition.

    `basic` blocks (two 3 x 3 convolutions) give the paper's CIFAR-10 form: depth 6n + 2, three stages of n blocks with
    16, 32 and 64 channels, for depths 8, 14, 20, 32, 44, 56, 110. Depth 44 with padded shortcuts and `bias` is the
    ResNet-34A of Uma et al. (2020) and Collins et al. (2022): 660,170 parameters.

    `bottleneck` blocks (1 x 1, 3 x 3, 1 x 1, with the stride in the middle one) give the paper's ImageNet form of depth
    50: four stages of 3, 4, 6, 3 blocks with 256, 512, 1024, 2048 channels. For small images it starts with one 3 x 3
    convolution of stride 1 and no pooling, so that 32 px become 4 x 4.

    At the start of a stage, the shortcut either uses every second pixel and pads the channels with zeros ("pad", the
    paper's option A, no parameters) or is a 1 x 1 convolution with batch norm ("projection", its option B, used in the
    paper's ResNet-50). `width` is the width of the first stage, by default 16 for basic and 64 for bottleneck blocks.
    `bias` gives every convolution a bias, which has no effect, because batch norm removes it. Convolutions are
    initialized by He's rule.
    """

    depth: int = 20
    shortcut: str = "pad"
    block: str = "basic"
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
            blocks_per_stage(self.depth, layers_per_block=2, others=2)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        width = self.width or (16 if self.block == "basic" else 64)
        stem = nn.Sequential(conv(shape[0], width, bias=self.bias), nn.BatchNorm2d(width), relu())
        if self.block == "basic":
            widths = [[width * 2**i] * blocks_per_stage(self.depth, layers_per_block=2, others=2) for i in range(3)]
        else:
            widths = [[width * 2**i * EXPANSION] * n for i, n in enumerate(BOTTLENECKS[self.depth])]
        parts = stages(width, widths, self._block)
        return he_normal(named(stem=stem, **parts, head=mean_head(widths[-1][-1], n_classes)))

    def _block(self, n_in: int, n_out: int, stride: int) -> list[nn.Module]:
        body = (
            basic(n_in, n_out, stride, bias=self.bias)
            if self.block == "basic"
            else bottleneck(n_in, n_out // EXPANSION, n_out, stride, bias=self.bias)
        )
        return [Residual(nn.Sequential(*body, nn.BatchNorm2d(n_out)), self._shortcut(n_in, n_out, stride)), relu()]

    def _shortcut(self, n_in: int, n_out: int, stride: int) -> nn.Module:
        if n_in == n_out and stride == 1:
            return nn.Identity()
        if self.shortcut == "pad":
            return nn.Sequential(Strided(stride), PaddedChannels(n_out - n_in))
        return nn.Sequential(projection(n_in, n_out, stride, bias=self.bias), nn.BatchNorm2d(n_out))


@dataclass(frozen=True)
class WideResNet:
    """WRN-depth-widen (Zagoruyko & Komodakis 2016): pre-activation basic blocks, three stages of 16, 32 and 64
    channels times `widen`, depth 6n + 4.

    `dropout` is the share dropped between the two convolutions of a block, after ReLU; 0.3 in the paper where it is
    used. WRN-16-2 works well with few images and is a good first choice; WRN-28-10 needs a GPU. Convolutions are
    initialized by He's rule.
    """

    depth: int = 16
    widen: int = 2
    dropout: float = 0.0

    name: ClassVar[str] = "wide-resnet"

    def __post_init__(self) -> None:
        blocks_per_stage(self.depth, layers_per_block=2, others=4)
        at_least("widen", self.widen, 1)
        if not 0 <= self.dropout < 1:
            raise bad_setting("dropout", self.dropout, "a share from 0 to below 1")

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        n_each = blocks_per_stage(self.depth, layers_per_block=2, others=4)
        widths = [[16 * self.widen * 2**i] * n_each for i in range(3)]
        parts = stages(16, widths, self._block)
        stem, last = conv(shape[0], 16), nn.Sequential(nn.BatchNorm2d(widths[-1][-1]), relu())
        return he_normal(named(stem=stem, **parts, last=last, head=mean_head(widths[-1][-1], n_classes)))

    def _block(self, n_in: int, n_out: int, stride: int) -> list[nn.Module]:
        dropped = [Dropout(self.dropout)] if self.dropout else []
        return [preactivated(n_in, n_out, stride, nn.Sequential(*basic(n_in, n_out, stride, *dropped)))]


BASIC = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
PREACT_BOTTLENECKS = {164: (18, 18, 18)}
"""Blocks per stage, by depth: two convolutions per basic block, three per bottleneck."""


@dataclass(frozen=True)
class PreactResNet:
    """A residual network whose blocks start with batch norm and ReLU (He et al. 2016, Identity mappings).

    Depths 18 and 34 are the form used with mixup (Zhang et al. 2018): basic blocks, four stages of 64, 128, 256, 512
    channels, one 3 x 3 convolution first, and no batch norm and ReLU after the last block. Depth 164 is the paper's
    CIFAR-10 network: bottlenecks of width 16, 32, 64 with four times as many channels between them, and batch norm
    with ReLU after the last. At the start of a stage, the shortcut is a 1 x 1 convolution of the activated input;
    elsewhere it is the identity. `width` is the width of the first stage, by default 64 or 16 as above. Convolutions
    are initialized by He's rule.
    """

    depth: int = 18
    width: int | None = None

    name: ClassVar[str] = "preact-resnet"

    def __post_init__(self) -> None:
        one_of("depth", self.depth, [*BASIC, *PREACT_BOTTLENECKS])
        if self.width is not None:
            at_least("width", self.width, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        is_basic = self.depth in BASIC
        width = self.width or (64 if is_basic else 16)
        n_blocks = BASIC[self.depth] if is_basic else PREACT_BOTTLENECKS[self.depth]
        widths = [[width * 2**i * (1 if is_basic else EXPANSION)] * n for i, n in enumerate(n_blocks)]
        parts = stages(width, widths, self._block)
        if not is_basic:
            parts["last"] = nn.Sequential(nn.BatchNorm2d(widths[-1][-1]), relu())
        return he_normal(named(stem=conv(shape[0], width), **parts, head=mean_head(widths[-1][-1], n_classes)))

    def _block(self, n_in: int, n_out: int, stride: int) -> list[nn.Module]:
        is_basic = self.depth in BASIC
        body = basic(n_in, n_out, stride) if is_basic else bottleneck(n_in, n_out // EXPANSION, n_out, stride)
        return [preactivated(n_in, n_out, stride, nn.Sequential(*body))]


@dataclass(frozen=True)
class ResNeXt:
    """ResNeXt-29, 8x64d (Xie et al. 2017): bottleneck blocks whose 3 x 3 convolution has `paths` groups of
    `path_width` channels, doubled in each of three stages.

    Between blocks there are 256, 512 and 1024 channels: 4 * `width`, doubled per stage. Depth is 9n + 2. Where channels
    or size change, the shortcut is a 1 x 1 convolution with batch norm. Convolutions are initialized by He's rule.
    Needs a GPU.
    """

    depth: int = 29
    paths: int = 8
    path_width: int = 64
    width: int = 64

    name: ClassVar[str] = "resnext"

    def __post_init__(self) -> None:
        blocks_per_stage(self.depth, layers_per_block=3, others=2)
        at_least("paths", self.paths, 1)
        at_least("path_width", self.path_width, 1)
        at_least("width", self.width, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        n_each = blocks_per_stage(self.depth, layers_per_block=3, others=2)
        widths = [[4 * self.width * 2**i] * n_each for i in range(3)]
        parts = stages(self.width, widths, self._block)
        stem = nn.Sequential(conv(shape[0], self.width), nn.BatchNorm2d(self.width), relu())
        return he_normal(named(stem=stem, **parts, head=mean_head(widths[-1][-1], n_classes)))

    def _block(self, n_in: int, n_out: int, stride: int) -> list[nn.Module]:
        inner = self.paths * self.path_width * n_out // (4 * self.width)
        body = nn.Sequential(*bottleneck(n_in, inner, n_out, stride, groups=self.paths), nn.BatchNorm2d(n_out))
        shortcut: nn.Module = nn.Identity()
        if n_in != n_out:
            shortcut = nn.Sequential(projection(n_in, n_out, stride), nn.BatchNorm2d(n_out))
        return [Residual(body, shortcut), relu()]


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
        widths = [
            [round(16 + self.alpha * (i * n_each + k + 1) / (3 * n_each)) for k in range(n_each)] for i in range(3)
        ]
        parts = stages(16, widths, _pyramid_block)
        stem = nn.Sequential(conv(shape[0], 16), nn.BatchNorm2d(16))
        last = nn.Sequential(nn.BatchNorm2d(widths[-1][-1]), relu())
        return he_normal(named(stem=stem, **parts, last=last, head=mean_head(widths[-1][-1], n_classes)))


def _pyramid_block(n_in: int, n_out: int, stride: int) -> list[nn.Module]:
    body = nn.Sequential(nn.BatchNorm2d(n_in), *basic(n_in, n_out, stride), nn.BatchNorm2d(n_out))
    # Pooling rounds the size up, as the convolutions do.
    means = [nn.AvgPool2d(2, ceil_mode=True)] if stride > 1 else []
    padding = [PaddedChannels(n_out - n_in)] if n_out > n_in else []
    return [Residual(body, nn.Sequential(*means, *padding))]
