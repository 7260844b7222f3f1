"""Convolutions that learn faster on CPUs than torch would have them (measured with torch 2.13).

Pictures with one channel: as a matrix product over the input's windows, which are looked up once and serve the way
there and back. torch's own way back takes six times as long as the way there.

Members whose channels do not fill the processor's registers (no multiple of 8): the gradient of the input is taken a
member at a time, channels first, in two thirds of the time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

FILLED = 8
"""Numbers in a register."""


def convolved(x: Tensor, weight: Tensor, bias: Tensor | None, *, groups: int = 1, **settings: Any) -> Tensor:
    """`conv2d`, by our own way where that is faster. `settings` are stride, padding and dilation."""
    if x.device.type == "cpu" and torch.is_grad_enabled() and not isinstance(settings["padding"], str):
        if x.shape[1] == 1 and not x.requires_grad:
            return _Grey.apply(x, weight, bias, settings)  # type: ignore[no-any-return, no-untyped-call]
        if groups > 1 and weight.shape[1] % FILLED and x.requires_grad:
            return _Apart.apply(x, weight, bias, groups, settings)  # type: ignore[no-any-return, no-untyped-call]
    return F.conv2d(x, weight, bias, groups=groups, **settings)


class _Grey(torch.autograd.Function):
    """Of one channel; what comes out lies in channels_last, as between our layers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, settings: dict[str, Any]) -> Tensor:
        n_out, _, *size = weight.shape
        padded = F.pad(x[:, 0], [side for side in settings["padding"][::-1] for _ in range(2)])
        places = _window_places(*padded.shape[1:], *size, *settings["stride"], *settings["dilation"])
        windows = padded.flatten(1).index_select(1, places.flatten()).view(len(x), -1, size[0] * size[1])
        ctx.save_for_backward(windows, weight)
        ctx.has_bias = bias is not None
        flat, by_out = windows.flatten(0, 1), weight.reshape(n_out, -1).t()
        by_place = flat @ by_out if bias is None else torch.addmm(bias, flat, by_out)
        return by_place.view(len(x), *places.shape[:2], n_out).permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        windows, weight = ctx.saved_tensors
        by_place = gradients[0].permute(0, 2, 3, 1).reshape(len(windows), -1, len(weight))
        of_weight = torch.bmm(windows.transpose(1, 2), by_place).sum(0).t().reshape(weight.shape)
        of_bias = by_place.sum((0, 1)) if ctx.has_bias else None
        return None, of_weight.contiguous(memory_format=torch.channels_last), of_bias, None


class _Apart(torch.autograd.Function):
    """Of several groups, whose inputs get their gradients one by one."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, groups: int, settings: dict[str, Any]
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.groups, ctx.settings, ctx.has_bias = groups, settings, bias is not None
        return F.conv2d(x, weight, bias, groups=groups, **settings)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        (gradient,) = gradients
        back, own = (
            each.unflatten(dim, (ctx.groups, -1)).movedim(dim, 0).contiguous()
            for each, dim in ((gradient, 1), (weight, 0))
        )
        shape = x.new_empty(len(x), weight.shape[1], *x.shape[2:])
        parts = [
            _backward(back[g], shape, own[g], groups=1, needed=(True, False, False), **ctx.settings)[0]
            for g in range(ctx.groups)
        ]
        of_x = torch.cat(parts, dim=1).contiguous(memory_format=torch.channels_last)
        needed = (False, True, ctx.has_bias)
        _, of_weight, of_bias = _backward(gradient, x, weight, groups=ctx.groups, needed=needed, **ctx.settings)
        return of_x, of_weight, of_bias if ctx.has_bias else None, None, None


def _backward(
    gradient: Tensor, x: Tensor, weight: Tensor, *, groups: int, needed: tuple[bool, bool, bool], **settings: Any
) -> tuple[Tensor, Tensor, Tensor]:
    stride, padding, dilation = (list(settings[name]) for name in ("stride", "padding", "dilation"))
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.convolution_backward(
        gradient, x, weight, [len(weight)], stride, padding, dilation, False, [0, 0], groups, list(needed)
    )
    return found


@lru_cache(16)
def _window_places(
    height: int, width: int, tall: int, wide: int, down: int, right: int, apart_down: int, apart_right: int
) -> Tensor:
    """For every place of a window in a picture, and every pixel of it, where that stands in the picture's line."""
    numbers = torch.arange(height * width).view(height, width)
    windows = numbers.unfold(0, apart_down * (tall - 1) + 1, down).unfold(1, apart_right * (wide - 1) + 1, right)
    return windows[:, :, ::apart_down, ::apart_right].flatten(2)
