"""Shake-Shake: residual networks with two branches that are mixed at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.setting_checks import at_least
from sfumato.training.networks.layers import (
    JoinedChannels,
    Strided,
    basic,
    conv,
    he_normal,
    mean_head,
    named,
    relu,
    stages,
)
from sfumato.training.networks.network import Shape, blocks_per_stage, check_shape


@dataclass(frozen=True)
class ShakeShake:
    """Shake-Shake (Gastaldi 2017), "Shake-Shake-Image": depth 26 with two branches of 64 channels by default.

    A block is x + a f(x) + (1 - a) g(x). In training, a is uniform in 0..1 per image and block, with another value in
    the backward pass; in evaluation it is 0.5. Stages have `width`, 2 `width` and 4 `width` channels; at their start,
    the shortcut joins two 1 x 1 convolutions, one of them of the image shifted by a pixel. Depth is 6n + 2. It starts
    with `width` channels, hence 11,709,514 parameters; the paper's network starts with 16 and has 11,653,978.
    Convolutions are initialized by He's rule. Strong regularization, slow training: 1,800 epochs in the paper.

    Random numbers come from the `generator` of its `Shake` layers, which the training loop sets, else from torch's.
    """

    depth: int = 26
    width: int = 64

    name: ClassVar[str] = "shake-shake"

    def __post_init__(self) -> None:
        blocks_per_stage(self.depth, layers_per_block=2, others=2)
        at_least("width", self.width, 1)

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        n_each = blocks_per_stage(self.depth, layers_per_block=2, others=2)
        widths = [[self.width * 2**i] * n_each for i in range(3)]
        parts = stages(self.width, widths, lambda n_in, n_out, stride: [_Block(n_in, n_out, stride)])
        stem = nn.Sequential(conv(shape[0], self.width), nn.BatchNorm2d(self.width))
        return he_normal(named(stem=stem, **parts, last=relu(), head=mean_head(widths[-1][-1], n_classes)))


class Shake(nn.Module):
    """A random mixture of two tensors, with one share per image; the same for all runs of a stacked network."""

    generator: torch.Generator | None = None

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.training:
            return (x + y) / 2
        drawn = self._share(x), self._share(x)
        mixed: Tensor = _Mixture.apply(x, y, *drawn)  # type: ignore[no-untyped-call]
        return mixed

    def _share(self, like: Tensor) -> Tensor:
        device = like.device if self.generator is None else self.generator.device
        share = torch.rand((len(like), 1, 1, 1), generator=self.generator, device=device, dtype=like.dtype)
        return share.to(like.device)


class _Mixture(torch.autograd.Function):
    """a x + (1 - a) y, with gradients mixed by b instead of a."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(b)
        return torch.lerp(y, x, a)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (b,) = ctx.saved_tensors
        return gradients[0] * b, gradients[0] * (1 - b), None, None


class _Block(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.relu = nn.ReLU()  # not in place: the shortcut may need the input
        self.one, self.other = _branch(n_in, n_out, stride), _branch(n_in, n_out, stride)
        self.shake = Shake()
        self.shortcut = None if n_in == n_out else _Shortcut(n_in, n_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        active = self.relu(x)
        kept = x if self.shortcut is None else self.shortcut(active)
        mixed: Tensor = self.shake(self.one(active), self.other(active))
        return kept + mixed


class _Shortcut(nn.Module):
    """Half of the channels from every `stride`-th pixel, half from the pixels one down and one right of them."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.here = nn.Sequential(Strided(stride), conv(n_in, n_out // 2, 1))
        self.there = nn.Sequential(Strided(stride), conv(n_in, n_out - n_out // 2, 1))
        self.join, self.norm = JoinedChannels(), nn.BatchNorm2d(n_out)

    def forward(self, x: Tensor) -> Tensor:
        moved = F.pad(x[:, :, 1:, 1:], (0, 1, 0, 1))
        out: Tensor = self.norm(self.join(self.here(x), self.there(moved)))
        return out


def _branch(n_in: int, n_out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(*basic(n_in, n_out, stride), nn.BatchNorm2d(n_out))
