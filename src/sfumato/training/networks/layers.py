"""Layers that several networks use.

Layers that pad or join channels have a wide version, so that the channels of each run stay together when stacked.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812


def conv(n_in: int, n_out: int, size: int = 3, *, stride: int = 1, groups: int = 1, bias: bool = False) -> nn.Conv2d:
    """A convolution that keeps the image size (except for its stride). Without bias, which batch norm would remove."""
    return nn.Conv2d(n_in, n_out, size, stride=stride, padding=size // 2, groups=groups, bias=bias)


def projection(n_in: int, n_out: int, stride: int, *, bias: bool = False) -> nn.Module:
    """A 1 x 1 convolution of every `stride`-th pixel.

    The stride is applied first, with the same result. A strided 1 x 1 convolution with few channels in channels_last
    writes the gradient of the weights out of bounds on CPUs (oneDNN issue 6035): wrong numbers, or a crash.
    """
    layer = conv(n_in, n_out, 1, bias=bias)
    return layer if stride == 1 else nn.Sequential(Strided(stride), layer)


def relu() -> nn.ReLU:
    """ReLU in place: the layers before it (batch norm, pooling, addition) do not need their output again."""
    return nn.ReLU(inplace=True)


def named(**parts: nn.Module) -> nn.Sequential:
    """A sequence of named parts."""
    return nn.Sequential(OrderedDict(parts))


def basic(n_in: int, n_out: int, stride: int, *then: nn.Module, bias: bool = False) -> list[nn.Module]:
    """Two 3 x 3 convolutions with batch norm, ReLU and `then` between them."""
    first = [conv(n_in, n_out, stride=stride, bias=bias), nn.BatchNorm2d(n_out), relu()]
    return [*first, *then, conv(n_out, n_out, bias=bias)]


def bottleneck(
    n_in: int, inner: int, n_out: int, stride: int, *, groups: int = 1, bias: bool = False
) -> list[nn.Module]:
    """Convolutions of 1 x 1, 3 x 3 (with the stride) and 1 x 1, with batch norm and ReLU between them."""
    return [
        conv(n_in, inner, 1, bias=bias), nn.BatchNorm2d(inner), relu(),
        conv(inner, inner, stride=stride, groups=groups, bias=bias), nn.BatchNorm2d(inner), relu(),
        conv(inner, n_out, 1, bias=bias),
    ]  # fmt: skip


def stages(
    n_in: int, widths: Sequence[Sequence[int]], block: Callable[[int, int, int], Sequence[nn.Module]]
) -> dict[str, nn.Module]:
    """Stages of blocks, by name. `widths` has the output channels of every block of every stage.

    `block(n_in, n_out, stride)` builds one; the first block of every stage after the first has stride 2.
    """
    found: dict[str, nn.Module] = {}
    for i, stage in enumerate(widths):
        layers: list[nn.Module] = []
        for k, n_out in enumerate(stage):
            layers += block(n_in, n_out, 2 if i > 0 and k == 0 else 1)
            n_in = n_out
        found[f"stage_{i + 1}"] = nn.Sequential(*layers)
    return found


def mean_head(n_features: int, n_classes: int) -> nn.Sequential:
    """Average pooling over the image, and a linear layer."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_features, n_classes))


M = TypeVar("M", bound=nn.Module)


def he_normal(network: M) -> M:
    """Initialize the convolutions from N(0, 2 / (n_out * size^2)) (He et al. 2015, fan-out).

    Linear layers and biases keep torch's initialization: uniform in +-1 / sqrt(n_in).
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return network


class Residual(nn.Module):
    """The output of the body plus that of the shortcut (He et al. 2016)."""

    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x) + self.shortcut(x)
        return out


def preactivated(n_in: int, n_out: int, stride: int, body: nn.Module) -> nn.Sequential:
    """Batch norm, ReLU and the body. An identity shortcut skips all of them; a projection starts after ReLU."""
    first = nn.Sequential(nn.BatchNorm2d(n_in), relu())
    if n_in == n_out and stride == 1:
        return nn.Sequential(Residual(nn.Sequential(first, body), nn.Identity()))
    return nn.Sequential(first, Residual(body, projection(n_in, n_out, stride)))


class Strided(nn.Module):
    """Every `stride`-th pixel in both directions."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        return x[:, :, :: self.stride, :: self.stride]


class PaddedChannels(nn.Module):
    """Adds `extra` channels of zeros; with `n_runs`, to each run of a stacked network."""

    def __init__(self, extra: int, n_runs: int | None = None) -> None:
        super().__init__()
        self.extra, self.n_runs = extra, n_runs

    def forward(self, x: Tensor) -> Tensor:
        if self.n_runs is None:
            return F.pad(x, (0, 0, 0, 0, 0, self.extra))
        return _join_runs(F.pad(_split_runs(x, self.n_runs), (0, self.extra)))

    def stacked(self, n_runs: int) -> PaddedChannels:
        return PaddedChannels(self.extra, n_runs)


class JoinedChannels(nn.Module):
    """Concatenates the channels of two tensors; with `n_runs`, run by run."""

    def __init__(self, n_runs: int | None = None) -> None:
        super().__init__()
        self.n_runs = n_runs

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if self.n_runs is None:
            return torch.cat((x, y), dim=1)
        return _join_runs(torch.cat((_split_runs(x, self.n_runs), _split_runs(y, self.n_runs)), dim=4))

    def stacked(self, n_runs: int) -> JoinedChannels:
        return JoinedChannels(n_runs)


def _split_runs(x: Tensor, n_runs: int) -> Tensor:
    """A view (batch, height, width, runs, channels), contiguous for channels_last memory as in stacked networks."""
    batch, channels, height, width = x.shape
    return x.permute(0, 2, 3, 1).view(batch, height, width, n_runs, channels // n_runs)


def _join_runs(x: Tensor) -> Tensor:
    return x.flatten(3).permute(0, 3, 1, 2)
