"""StackedNetwork: several networks of one architecture as one wide network.

The convolutions of all runs become one grouped convolution, linear layers one batched product. The first layer, whose
input all runs share, becomes one plain wide layer. Runs do not influence each other.

Between layers, channels are ordered by run: (batch, runs * channels, height, width); after the first linear layer or
flattening: (runs, batch, features). A layer with parameters can be stacked if it is a `Linear`, `Conv2d` or
`BatchNorm2d`. A layer whose output depends on the order of channels (padding or joining them) has a method
`stacked(n_runs)` that returns its wide version.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.errors import BadSetting
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


class StackedNetwork(nn.Module):
    """Networks of one architecture as one. `forward` returns logits (runs, batch, classes)."""

    def __init__(self, networks: Sequence[nn.Module], example: Tensor) -> None:
        """`example` is a batch of two inputs, used once to find the layers whose input all runs share."""
        super().__init__()
        self.n_runs = len(networks)
        self.form = [copy.deepcopy(networks[0]).to("meta")]  # in a list, so that it is not registered as a submodule
        self.wide = _widened(copy.deepcopy(networks[0]), self.n_runs)
        self.wide.train(networks[0].training)
        _mark_shared(networks[0], self.wide, example)
        self.load([network.state_dict() for network in networks])

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.wide(x)
        if out.dim() == 2:
            return out.view(len(out), self.n_runs, -1).transpose(0, 1)
        return out

    def load(self, states: Sequence[dict[str, Tensor]]) -> None:
        """Load the weights of every run."""
        with torch.no_grad():
            for name, tensor in self.wide.state_dict().items():
                if tensor.dim() == 0:
                    tensor.copy_(states[0][name])
                else:
                    for g, part in enumerate(by_run(tensor, self.n_runs)):
                        part.copy_(states[g][name].view_as(part))

    def state_of(self, run: int) -> dict[str, Tensor]:
        """A copy of the weights of one run, in the shapes of a single network."""
        single = self.form[0].state_dict()
        return {
            name: (tensor if tensor.dim() == 0 else by_run(tensor, self.n_runs)[run])
            .reshape(single[name].shape)
            .detach()
            .clone(memory_format=torch.contiguous_format)
            for name, tensor in self.wide.state_dict().items()
        }


def by_run(tensor: Tensor, n_runs: int) -> Tensor:
    """A view of a wide tensor with the runs as its first axis."""
    return tensor.view(n_runs, len(tensor) // n_runs, *tensor.shape[1:])


def can_stack(network: nn.Module) -> bool:
    """Whether every layer has a wide version and is used only once."""
    layers = list(network.named_modules(remove_duplicate=False))
    if len({id(layer) for _, layer in layers}) < len(layers):
        return False
    return all(
        type(layer) in (nn.Linear, nn.Conv2d, nn.BatchNorm2d, nn.Flatten)
        or hasattr(layer, "stacked")
        or not (any(True for _ in layer.parameters(recurse=False)) or _is_random(layer))
        for _, layer in layers
    )


def agrees(stack: StackedNetwork, networks: Sequence[nn.Module], example: Tensor) -> bool:
    """Whether the stacked network computes the same as the networks: their `forward` may do more than its layers."""
    with torch.no_grad():
        try:
            wide = stack.eval()(example)
        except RuntimeError:
            return False
        separate = torch.stack([copy.deepcopy(network).eval()(example) for network in networks])
    stack.train(networks[0].training)
    return wide.shape == separate.shape and torch.allclose(
        wide, separate, rtol=1e-3, atol=1e-3 * float(separate.abs().max())
    )


def _is_random(layer: nn.Module) -> bool:
    return isinstance(layer, nn.modules.dropout._DropoutNd)


def _widened(network: nn.Module, n_runs: int) -> nn.Module:
    """The network with every layer replaced by its wide version."""
    if hasattr(network, "stacked"):
        wide: nn.Module = network.stacked(n_runs)  # type: ignore[operator]
        return wide
    if type(network) is nn.Linear:
        return StackedLinear(network, n_runs)
    if type(network) is nn.Conv2d:
        return StackedConv2d(network, n_runs)
    if type(network) is nn.Flatten:
        return StackedFlatten(n_runs)
    if type(network) is nn.BatchNorm2d:
        return nn.BatchNorm2d(
            n_runs * network.num_features,
            network.eps,
            network.momentum,
            network.affine,
            network.track_running_stats,
            *_device_and_dtype(network),
        )
    if any(True for _ in network.parameters(recurse=False)) or _is_random(network):
        found = f"a layer {type(network).__name__}"
        expected = "Linear, Conv2d, BatchNorm2d, layers without parameters, or layers with a method stacked"
        raise BadSetting(found, expected, "train this network with stacking off", "not-stackable")
    for name, child in network.named_children():
        setattr(network, name, _widened(child, n_runs))
    return network


def _mark_shared(network: nn.Module, wide: nn.Module, example: Tensor) -> None:
    """Set `shared` of the layers whose input is the same for all runs, by tracing the single network."""
    shared: dict[int, Tensor] = {id(example): example}
    wide_layers = dict(wide.named_modules())
    hooks = []

    def trace(name: str, layer: nn.Module) -> None:
        def after(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            has_weights = any(True for _ in layer.parameters(recurse=False))
            if not has_weights and not list(layer.children()) and all(id(each) in shared for each in inputs):
                # Stored, so that its id is not reused by another tensor.
                shared[id(output)] = output
                if isinstance(wide_layers[name], StackedFlatten):
                    wide_layers[name].shared = True

        hooks.append(layer.register_forward_hook(after))

    for name, layer in network.named_modules():
        if name:
            trace(name, layer)
    was_training = network.training
    try:
        with torch.no_grad():
            network.eval()(example)
    finally:
        network.train(was_training)
        for hook in hooks:
            hook.remove()


def _device_and_dtype(layer: nn.BatchNorm2d) -> tuple[torch.device | None, torch.dtype | None]:
    """Device and data type of the layer."""
    number = layer.weight if layer.affine else layer.running_mean
    return (None, None) if number is None else (number.device, number.dtype)


def _repeated(tensor: Tensor, n_runs: int) -> Tensor:
    return tensor.detach().repeat(n_runs, *([1] * (tensor.dim() - 1)))
