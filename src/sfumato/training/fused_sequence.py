"""FusedSequence: the forward and backward pass of a stacked sequence of layers in one step, on CPUs.

The layers are linear with or without ReLU, or a convolution followed by 2 x 2 max-pooling and ReLU. Between them the
batch is the last axis, (runs, features, batch): every matrix product finds its numbers in order, and torch records
one operation instead of one per layer. For other layers, devices and data types, torch computes the wide network layer
by layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.training.stacked_layers import StackedConv2d, StackedFlatten, StackedLinear

Gradients = list[Tensor]


class FusedStep(Protocol):
    """One or more layers. Inputs and outputs are (runs, features ..., batch), or (1, ...) if all runs share them."""

    @property
    def parameters(self) -> tuple[nn.Parameter, ...]: ...

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The output, and the tensors that `backward` needs."""
        ...

    def backward(self, gradient: Tensor, kept: tuple[Tensor, ...], *, of_input: bool) -> tuple[Tensor, Gradients]:
        """The gradients of the input, if wanted, and of the parameters. May change `gradient`."""
        ...


@dataclass(frozen=True, eq=False)
class LinearStep:
    """A linear layer per run, with ReLU if `has_relu`: weights (runs, out, in)."""

    weight: nn.Parameter
    bias: nn.Parameter
    has_relu: bool

    @property
    def parameters(self) -> tuple[nn.Parameter, ...]:
        return self.weight, self.bias

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        x = x.flatten(1, -2)
        runs, n_out, n_in = self.weight.shape
        own = 0 if len(x) == 1 else n_in
        out = _products(self.weight, (n_out * n_in, n_in, 1), x, own, (runs, n_out, n_in), self.bias, self.has_relu)
        return out, (x, out)

    def backward(self, gradient: Tensor, kept: tuple[Tensor, ...], *, of_input: bool) -> tuple[Tensor, Gradients]:
        from sfumato.training.batch_product import row_sums

        x, out, *by_item = kept
        runs, n_out, n_in = self.weight.shape
        lanes = x.shape[-1]
        of_bias = torch.empty_like(self.bias)
        row_sums(_flat(gradient), _flat(out), lanes, self.has_relu, _flat(of_bias))
        if len(x) > 1:
            of_weight = torch.bmm(gradient, x.transpose(1, 2))
        elif n_in % lanes_multiple() or not by_item:
            of_weight = (gradient.flatten(0, 1) @ x[0].t()).view_as(self.weight)
        else:
            sizes = (1, runs * n_out, len(by_item[0]))
            of_weight = _products(gradient, (0, lanes, 1), by_item[0], 0, sizes).view_as(self.weight)
        of_x = gradient
        if of_input:
            of_x = _products(self.weight, (n_out * n_in, 1, n_in), gradient, n_out, (runs, n_in, n_out))
        return of_x, [of_weight, of_bias]


@dataclass(frozen=True, eq=False)
class PooledConvolutionStep:
    """A convolution per run with 2 x 2 max-pooling and ReLU: weights (runs * out, in, height, width)."""

    weight: nn.Parameter
    bias: nn.Parameter
    n_runs: int
    padding: tuple[int, int]

    @property
    def parameters(self) -> tuple[nn.Parameter, ...]:
        return self.weight, self.bias

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        from sfumato.training.pooled_convolution import pooled_convolution

        down, right = self.padding
        x = F.pad(x, (0, 0, right, right, down, down)) if down or right else x.contiguous()
        runs, n_out, _, _, rows, columns = sizes = self._sizes(x)
        out = x.new_empty(runs, n_out, rows, columns, x.shape[-1])
        where = out.new_empty(out.shape, dtype=torch.uint8)
        weight = self.weight.detach().view(runs, n_out, *self.weight.shape[1:]).permute(0, 2, 3, 4, 1)
        pooled_convolution(_flat(x), tuple(x.shape), _flat(weight), _flat(self.bias), sizes, _flat(out), _flat(where))
        return out, (x, where)

    def backward(self, gradient: Tensor, kept: tuple[Tensor, ...], *, of_input: bool) -> tuple[Tensor, Gradients]:
        from sfumato.training.pooled_convolution import pooled_convolution_gradients

        x, where = kept
        of_x = x.new_empty(self.n_runs, *x.shape[1:]) if of_input else x.new_empty(0)
        # Contiguous, without channels_last: the layout in which the gradient is summed.
        of_weight, of_bias = x.new_zeros(self.weight.shape), x.new_zeros(self.bias.shape)
        weight = self.weight.detach().permute(0, 2, 3, 1)
        pooled_convolution_gradients(
            _flat(gradient), _flat(where), _flat(x), tuple(x.shape), _flat(weight), self._sizes(x),
            _flat(of_x), _flat(of_weight), _flat(of_bias),
        )  # fmt: skip
        down, right = self.padding
        if of_input and (down or right):
            of_x = of_x[:, :, down : x.shape[2] - down, right : x.shape[3] - right]
        return of_x, [of_weight.contiguous(memory_format=torch.channels_last), of_bias]

    def _sizes(self, x: Tensor) -> tuple[int, int, int, int, int, int]:
        """Runs, output channels, height and width of the kernel, and pooled rows and columns."""
        n_out, (tall, wide) = len(self.weight) // self.n_runs, self.weight.shape[2:]
        rows, columns = ((size - kernel + 1) // 2 for size, kernel in zip(x.shape[2:4], (tall, wide), strict=True))
        return self.n_runs, n_out, tall, wide, rows, columns


class FusedSequence:
    """The steps of a stacked network."""

    def __init__(self, steps: Sequence[FusedStep]) -> None:
        self.steps = tuple(steps)
        self.parameters = [parameter for step in steps for parameter in step.parameters]

    def fits(self, x: Tensor) -> bool:
        """Whether these steps can compute `x`: float32 on a CPU, without a gradient of the input."""
        return (
            x.device.type == "cpu"
            and x.dtype == self.parameters[0].dtype == torch.float32
            and not x.requires_grad
            and not torch.is_autocast_enabled("cpu")
        )

    def __call__(self, x: Tensor) -> Tensor:
        """The logits (runs, batch, classes)."""
        if torch.is_grad_enabled():
            return _Fused.apply(x, self, *self.parameters)  # type: ignore[no-any-return, no-untyped-call]
        return self.forward(x)[0]

    def forward(self, x: Tensor) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        """The logits, and the tensors that `backward` needs."""
        n_items = len(x)
        lanes = -(-n_items // lanes_multiple()) * lanes_multiple()
        by_item = x.flatten(1)
        last = F.pad(by_item.t(), (0, lanes - n_items)) if lanes > n_items else by_item.t().contiguous()
        last = last.view(1, *x.shape[1:], lanes)
        kept = []
        for step in self.steps:
            last, needed = step.forward(last)
            kept.append(needed)
        if isinstance(self.steps[0], LinearStep):
            kept[0] = *kept[0], by_item
        return last[..., :n_items].transpose(1, 2), kept

    def backward(self, gradient: Tensor, kept: list[tuple[Tensor, ...]]) -> list[Tensor]:
        """The gradients of the parameters."""
        n_items, lanes = gradient.shape[1], kept[-1][0].shape[-1]
        last = gradient.transpose(1, 2)
        last = F.pad(last, (0, lanes - n_items)) if lanes > n_items else last.contiguous()
        found: list[Tensor] = []
        for i in reversed(range(len(self.steps))):
            step = self.steps[i]
            last, gradients = step.backward(last, kept[i], of_input=i > 0)
            found = gradients + found
        return found


class _Fused(torch.autograd.Function):
    """A FusedSequence as one operation of torch."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sequence: FusedSequence, *_: nn.Parameter) -> Tensor:
        logits, ctx.kept = sequence.forward(x)
        ctx.sequence = sequence
        return logits

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.sequence.backward(gradients[0], ctx.kept)
        ctx.kept = None
        return None, None, *found


def fused_sequence(wide: nn.Module, n_runs: int) -> FusedSequence | None:
    """The steps of a stacked network, or None if it has other layers."""
    if type(wide) is not nn.Sequential:
        return None
    layers = list(_layers(wide))
    kinds = [type(layer) for layer in layers]
    steps: list[FusedStep] = []
    is_flat = False
    i = 0
    while i < len(layers):
        layer = layers[i]
        if isinstance(layer, StackedFlatten):
            is_flat = True
            i += 1
        elif isinstance(layer, StackedLinear) and is_flat and layer.bias is not None:
            has_relu = kinds[i + 1 : i + 2] == [nn.ReLU]
            steps.append(LinearStep(layer.weight, layer.bias, has_relu))
            i += 2 if has_relu else 1
        elif isinstance(layer, StackedConv2d) and not is_flat and kinds[i + 1 : i + 3] == [nn.MaxPool2d, nn.ReLU]:
            if layer.bias is None or not _is_plain(layer) or not _halves(layers[i + 1]):
                return None
            steps.append(PooledConvolutionStep(layer.weight, layer.bias, n_runs, layer.settings["padding"]))
            i += 3
        else:
            return None
    ends = isinstance(steps[-1], LinearStep) and not steps[-1].has_relu if steps else False
    return FusedSequence(steps) if ends else None


def _layers(sequence: nn.Sequential) -> Iterator[nn.Module]:
    for layer in sequence:
        if type(layer) is nn.Sequential:
            yield from _layers(layer)
        else:
            yield layer


def _is_plain(layer: Any) -> bool:
    """Whether the convolution has a compiled version."""
    from sfumato.training.pooled_convolution import KERNEL_WIDTHS

    stride, padding, dilation = (layer.settings[name] for name in ("stride", "padding", "dilation"))
    is_unit = layer.groups == 1 and stride == dilation == (1, 1) and not isinstance(padding, str)
    return is_unit and layer.weight.shape[3] in KERNEL_WIDTHS


def _halves(layer: Any) -> bool:
    """Whether the pooling is over 2 x 2 pixels without overlap."""
    pair = nn.modules.utils._pair
    return (
        pair(layer.kernel_size) == pair(layer.stride) == (2, 2)
        and pair(layer.padding) == (0, 0)
        and pair(layer.dilation) == (1, 1)
        and not layer.ceil_mode
        and not layer.return_indices
    )


def lanes_multiple() -> int:
    """The batch is padded with zeros to a multiple of it."""
    from sfumato.training.batch_product import LANES

    return LANES


def _products(
    weight: Tensor,
    steps: tuple[int, int, int],
    x: Tensor,
    own: int,
    sizes: tuple[int, int, int],
    bias: Tensor | None = None,
    has_relu: bool = False,
) -> Tensor:
    """Matrix products per run: (runs, rows, k) by (runs, k, lanes). `steps` are those of these axes in `weight`; `own`
    rows of `x` belong to each run, 0 if all runs share it."""
    from sfumato.training.batch_product import matrix_products

    lanes = x.shape[-1]
    out = x.new_empty(*sizes[:2], lanes)
    biases = x.new_empty(0) if bias is None else bias
    matrix_products(
        _flat(weight), steps, _flat(x), (own * lanes, lanes), (*sizes, lanes), _flat(biases), has_relu, _flat(out)
    )
    return out


def _flat(tensor: Tensor) -> Any:
    """The numbers of a tensor in order, as a flat array."""
    return tensor.detach().numpy().reshape(-1)
