"""Layers of several runs as one wide layer.

The convolutions of all runs become one grouped convolution, linear layers one batched product. The first layer, whose
input all runs share, becomes one plain wide layer.

Between layers, channels are ordered by run: (batch, runs * channels, height, width); after the first linear layer or
flattening: (runs, batch, features).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.training.fast_convolution import conv2d


class StackedLinear(nn.Module):
    """One linear layer per run: weights (runs, out, in)."""

    def __init__(self, layer: nn.Linear, n_runs: int) -> None:
        super().__init__()
        self.n_runs, self.n_in, self.n_out = n_runs, layer.in_features, layer.out_features
        self.weight = nn.Parameter(_repeated(layer.weight[None], n_runs))
        self.bias: nn.Parameter | None = None
        if layer.bias is not None:
            self.bias = nn.Parameter(_repeated(layer.bias[None], n_runs))

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2 and x.shape[1] == self.n_in:
            # All runs have the same input: one product.
            bias = None if self.bias is None else self.bias.flatten()
            wide = F.linear(x, self.weight.flatten(0, 1), bias)
            return wide.view(len(x), self.n_runs, self.n_out).transpose(0, 1)
        if x.dim() == 2:
            x = x.view(len(x), self.n_runs, self.n_in).transpose(0, 1)
        if self.bias is None:
            return torch.bmm(x, self.weight.transpose(1, 2))
        return torch.baddbmm(self.bias[:, None], x, self.weight.transpose(1, 2))


class StackedConv2d(nn.Module):
    """One convolution per run: weights (runs * out, in, height, width)."""

    def __init__(self, layer: nn.Conv2d, n_runs: int) -> None:
        super().__init__()
        assert layer.padding_mode == "zeros", "other paddings are not stacked"
        self.n_runs, self.n_in, self.groups = n_runs, layer.in_channels, layer.groups
        self.settings: dict[str, Any] = {name: getattr(layer, name) for name in ("stride", "padding", "dilation")}
        self.weight = nn.Parameter(_repeated(layer.weight, n_runs).contiguous(memory_format=torch.channels_last))
        self.bias = None if layer.bias is None else nn.Parameter(_repeated(layer.bias, n_runs))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] == self.n_in:
            if self.groups == 1:
                # All runs have the same input: one wide convolution.
                return conv2d(x, self.weight, self.bias, **self.settings)
            x = x.repeat(1, self.n_runs, 1, 1)
        if self.groups == 1:
            return conv2d(x, self.weight, self.bias, groups=self.n_runs, **self.settings)
        return F.conv2d(x, self.weight, self.bias, groups=self.groups * self.n_runs, **self.settings)


class StackedFlatten(nn.Module):
    """Flattens all axes but the batch, per run; `shared` if the input is the same for all runs."""

    def __init__(self, n_runs: int) -> None:
        super().__init__()
        self.n_runs, self.shared = n_runs, False

    def forward(self, x: Tensor) -> Tensor:
        if self.shared:
            return x.flatten(1)
        return x.reshape(len(x), self.n_runs, -1).transpose(0, 1)


class Dropout(nn.Module):
    """Drops a share of units with a generator set by the training loop, so that a run can be repeated and resumed.

    With `n_runs`, it drops the same units in every run, as separate networks with the same random numbers do.
    """

    generator: torch.Generator | None = None

    def __init__(self, share: float, n_runs: int | None = None) -> None:
        super().__init__()
        self.share, self.n_runs = share, n_runs

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.share == 0:
            return x
        if self.n_runs is None:
            return x * self._mask(x)
        if x.dim() == 3:
            return x * self._mask(x[0])
        mask = self._mask(x[:, : x.shape[1] // self.n_runs])
        return x * mask.repeat(1, self.n_runs, *([1] * (x.dim() - 2)))

    def stacked(self, n_runs: int) -> Dropout:
        return Dropout(self.share, n_runs)

    def _mask(self, like: Tensor) -> Tensor:
        kept = torch.rand(like.shape, generator=self.generator, device=like.device, dtype=like.dtype) >= self.share
        return kept.to(like.dtype) / (1 - self.share)


def _repeated(tensor: Tensor, n_runs: int) -> Tensor:
    return tensor.detach().repeat(n_runs, *([1] * (tensor.dim() - 1)))
