"""Residual networks with activation before each convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least, one_of
from sfumato.training.networks.layers import conv, he_normal, mean_head, named, preactivated, relu
from sfumato.training.networks.network import Shape, check_shape

BASIC = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
PREACT_BOTTLENECKS = {164: (18, 18, 18)}
"""Blocks in each stage, by depth: two convolutions a basic block, three a bottleneck."""
PREACT_EXPANSION = 4
"""Channels after a bottleneck, for each within."""


@dataclass(frozen=True)
class PreactResNet:
    """A residual network whose blocks begin with batch norm and ReLU (He et al. 2016, Identity mappings).

    Depths 18 and 34 are the form in which mixup (Zhang et al. 2018) is mostly tried: basic blocks, four stages of 64,
    128, 256, 512 channels, one 3 x 3 convolution before and none of the paper's batch norm and ReLU after the last
    block. Depth 164 is the paper's own CIFAR-10 network: bottlenecks 16, 32, 64 wide with four times as many channels
    between them, and batch norm with ReLU after the last. Where a stage begins, the shortcut is a 1 x 1 convolution of
    what was activated; elsewhere it is the identity. `width` is that of the first stage; unless given, 64 or 16 as
    above. Convolutions by He's rule.
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
