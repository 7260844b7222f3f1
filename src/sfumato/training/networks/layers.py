"""Layers that several networks are made of.

Where channels are padded or joined the layer has a wide twin, so that in a stack each member's channels stay together.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812


def conv(n_in: int, n_out: int, size: int = 3, *, stride: int = 1, groups: int = 1, bias: bool = False) -> nn.Conv2d:
    """A convolution that keeps the image's size (but for its stride). Without bias: batch norm takes it out again."""
    return nn.Conv2d(n_in, n_out, size, stride=stride, padding=size // 2, groups=groups, bias=bias)


def projection(n_in: int, n_out: int, stride: int, *, bias: bool = False) -> nn.Module:
    """A 1 x 1 convolution of every `stride`-th pixel.

    The stride is taken first, which is the same. With both at once, below one vector of channels in channels_last,
    the gradient of the weights is written out of bounds on CPUs (oneDNN issue 6035): wrong numbers, or a crash.
    """
    layer = conv(n_in, n_out, 1, bias=bias)
    return layer if stride == 1 else nn.Sequential(Strided(stride), layer)


def relu() -> nn.ReLU:
    """ReLU in place. What comes before (batch norm, pooling, addition) never needs its own output again."""
    return nn.ReLU(inplace=True)


def named(**parts: nn.Module) -> nn.Sequential:
    """One part after another, under their names."""
    return nn.Sequential(OrderedDict(parts))


def mean_head(n_features: int, n_classes: int) -> nn.Sequential:
    """The mean of each channel over the image, and a linear layer."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_features, n_classes))


M = TypeVar("M", bound=nn.Module)


def he_normal(network: M) -> M:
    """`network`, its convolutions drawn anew from N(0, 2 / (n_out * size^2)) (He et al. 2015, by what goes out).

    Linear layers and biases stay as torch draws them: uniform in +-1 / sqrt(n_in).
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return network


class Residual(nn.Module):
    """The body's answer added to what came in, by way of the shortcut (He et al. 2016)."""

    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x) + self.shortcut(x)
        return out


def preactivated(n_in: int, n_out: int, stride: int, body: nn.Module) -> nn.Sequential:
    """Batch norm, ReLU and the body. The shortcut goes round them all; a convolution in its place starts after ReLU."""
    first = nn.Sequential(nn.BatchNorm2d(n_in), relu())
    if n_in == n_out and stride == 1:
        return nn.Sequential(Residual(nn.Sequential(first, body), nn.Identity()))
    return nn.Sequential(first, Residual(body, projection(n_in, n_out, stride)))


class Strided(nn.Module):
    """Every `stride`-th pixel each way."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        return x[:, :, :: self.stride, :: self.stride]


class PaddedChannels(nn.Module):
    """`extra` channels of zeros after those there are."""

    def __init__(self, extra: int) -> None:
        super().__init__()
        self.extra = extra

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, (0, 0, 0, 0, 0, self.extra))

    def stacked(self, members: int) -> StackedPaddedChannels:
        return StackedPaddedChannels(self.extra, members)


class StackedPaddedChannels(nn.Module):
    """`extra` channels of zeros after those of each member."""

    def __init__(self, extra: int, members: int) -> None:
        super().__init__()
        self.extra, self.members = extra, members

    def forward(self, x: Tensor) -> Tensor:
        return _joined(F.pad(_apart(x, self.members), (0, self.extra)))


class JoinedChannels(nn.Module):
    """The channels of two, one after another."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat((x, y), dim=1)

    def stacked(self, members: int) -> StackedJoinedChannels:
        return StackedJoinedChannels(members)


class StackedJoinedChannels(nn.Module):
    """The channels of two, one after another within each member."""

    def __init__(self, members: int) -> None:
        super().__init__()
        self.members = members

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return _joined(torch.cat((_apart(x, self.members), _apart(y, self.members)), dim=4))


def _apart(x: Tensor, members: int) -> Tensor:
    """(batch, height, width, members, channels): a view, and whole where memory is channels_last, as in stacks."""
    batch, channels, height, width = x.shape
    return x.permute(0, 2, 3, 1).view(batch, height, width, members, channels // members)


def _joined(x: Tensor) -> Tensor:
    return x.flatten(3).permute(0, 3, 1, 2)
