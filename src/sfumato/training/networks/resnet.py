"""Residual networks: ResNet, WideResNet, PreactResNet and ResNeXt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from sfumato.tables.settings import at_least, bad_setting, one_of
from sfumato.training.networks.layers import (
    PaddedChannels,
    Residual,
    Strided,
    conv,
    he_normal,
    mean_head,
    named,
    preactivated,
    projection,
    relu,
)
from sfumato.training.networks.network import Shape, blocks_per_stage, check_shape
from sfumato.training.stacked_network import Dropout

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
            blocks_per_stage(self.depth, layers_per_block=2, others=2)

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
            return (blocks_per_stage(self.depth, layers_per_block=2, others=2),) * 3
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
        n_in = 16
        stages: dict[str, nn.Module] = {}
        for i in range(3):
            n_out = 16 * self.widen * 2**i
            blocks = []
            for k in range(blocks_per_stage(self.depth, layers_per_block=2, others=4)):
                stride = 2 if i > 0 and k == 0 else 1
                blocks.append(preactivated(n_in, n_out, stride, self._body(n_in, n_out, stride)))
                n_in = n_out
            stages[f"stage_{i + 1}"] = nn.Sequential(*blocks)
        last = nn.Sequential(nn.BatchNorm2d(n_in), relu())
        return he_normal(named(stem=conv(shape[0], 16), **stages, last=last, head=mean_head(n_in, n_classes)))

    def _body(self, n_in: int, n_out: int, stride: int) -> nn.Sequential:
        dropped = [Dropout(self.dropout)] if self.dropout else []
        return nn.Sequential(
            conv(n_in, n_out, stride=stride), nn.BatchNorm2d(n_out), relu(), *dropped, conv(n_out, n_out)
        )


BASIC = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
PREACT_BOTTLENECKS = {164: (18, 18, 18)}
"""Blocks per stage, by depth: two convolutions per basic block, three per bottleneck."""
PREACT_EXPANSION = 4
"""Output channels of a bottleneck per inner channel."""


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
        n_in = width
        stages: dict[str, nn.Module] = {}
        for i, n in enumerate(BASIC[self.depth] if is_basic else PREACT_BOTTLENECKS[self.depth]):
            inner = width * 2**i
            n_out = inner if is_basic else inner * PREACT_EXPANSION
            blocks = []
            for k in range(n):
                stride = 2 if i > 0 and k == 0 else 1
                body = _basic(n_in, n_out, stride) if is_basic else _bottleneck(n_in, inner, n_out, stride)
                blocks.append(preactivated(n_in, n_out, stride, body))
                n_in = n_out
            stages[f"stage_{i + 1}"] = nn.Sequential(*blocks)
        if not is_basic:
            stages["last"] = nn.Sequential(nn.BatchNorm2d(n_in), relu())
        return he_normal(named(stem=conv(shape[0], width), **stages, head=mean_head(n_in, n_classes)))


def _basic(n_in: int, n_out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(conv(n_in, n_out, stride=stride), nn.BatchNorm2d(n_out), relu(), conv(n_out, n_out))


def _bottleneck(n_in: int, inner: int, n_out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        conv(n_in, inner, 1), nn.BatchNorm2d(inner), relu(),
        conv(inner, inner, stride=stride), nn.BatchNorm2d(inner), relu(),
        conv(inner, n_out, 1),
    )  # fmt: skip


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
        n_in = self.width
        stages: dict[str, nn.Module] = {}
        for i in range(3):
            n_out = 4 * self.width * 2**i
            blocks: list[nn.Module] = []
            for k in range(blocks_per_stage(self.depth, layers_per_block=3, others=2)):
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
