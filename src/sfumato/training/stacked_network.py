"""Stack: networks of one form side by side as one wide network.

Convolutions of all members become one with groups, linear layers one batched product. The first layer, whose input
all members share, becomes one plain wide layer. Nothing passes between members, so each learns what it would alone.

Between layers the channels of the members lie beside each other: (batch, members * channels, height, width); after
the first linear layer or flattening: (members, batch, features).

A layer with parameters of its own can be stacked if it is a `Linear`, `Conv2d` or `BatchNorm2d`. A layer whose output
depends on where channels lie (padding or joining them) has a method `stacked(members)` that makes its wide twin.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.errors import BadSetting
from sfumato.training.convolution import convolved


class StackedLinear(nn.Module):
    """A linear layer a member: weights (members, out, in)."""

    def __init__(self, layer: nn.Linear, members: int) -> None:
        super().__init__()
        self.members, self.n_in, self.n_out = members, layer.in_features, layer.out_features
        self.weight = nn.Parameter(_repeated(layer.weight[None], members))
        self.bias: nn.Parameter | None = None
        if layer.bias is not None:
            self.bias = nn.Parameter(_repeated(layer.bias[None], members))

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2 and x.shape[1] == self.n_in:
            # All members see the same: one product.
            bias = None if self.bias is None else self.bias.flatten()
            wide = F.linear(x, self.weight.flatten(0, 1), bias)
            return wide.view(len(x), self.members, self.n_out).transpose(0, 1)
        if x.dim() == 2:
            x = x.view(len(x), self.members, self.n_in).transpose(0, 1)
        if self.bias is None:
            return torch.bmm(x, self.weight.transpose(1, 2))
        return torch.baddbmm(self.bias[:, None], x, self.weight.transpose(1, 2))


class StackedConv2d(nn.Module):
    """A convolution a member: weights (members * out, in, height, width)."""

    def __init__(self, layer: nn.Conv2d, members: int) -> None:
        super().__init__()
        assert layer.padding_mode == "zeros", "other paddings are not stacked"
        self.members, self.n_in, self.groups = members, layer.in_channels, layer.groups
        self.settings: dict[str, Any] = {
            "stride": layer.stride, "padding": layer.padding, "dilation": layer.dilation
        }  # fmt: skip
        self.weight = nn.Parameter(_repeated(layer.weight, members).contiguous(memory_format=torch.channels_last))
        self.bias = None if layer.bias is None else nn.Parameter(_repeated(layer.bias, members))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] == self.n_in:
            if self.groups == 1:
                # All members see the same: one wide convolution.
                return convolved(x, self.weight, self.bias, **self.settings)
            x = x.repeat(1, self.members, 1, 1)
        if self.groups == 1:
            return convolved(x, self.weight, self.bias, groups=self.members, **self.settings)
        return F.conv2d(x, self.weight, self.bias, groups=self.groups * self.members, **self.settings)


class StackedFlatten(nn.Module):
    """Everything but the batch in one line, a member at a time; `shared` where members have not parted yet."""

    def __init__(self, members: int) -> None:
        super().__init__()
        self.members, self.shared = members, False

    def forward(self, x: Tensor) -> Tensor:
        if self.shared:
            return x.flatten(1)
        return x.reshape(len(x), self.members, -1).transpose(0, 1)


class StackedDropout(nn.Module):
    """Drops the same units in every member, as networks apart with the same chance would."""

    def __init__(self, layer: Dropout, members: int) -> None:
        super().__init__()
        self.members, self.share, self.generator = members, layer.share, None

    generator: torch.Generator | None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.share == 0:
            return x
        if x.dim() == 3:
            return x * _mask(x[0], self.share, self.generator)
        one = x[:, : x.shape[1] // self.members]
        mask = _mask(one, self.share, self.generator)
        return x * mask.repeat(1, self.members, *([1] * (x.dim() - 2)))


class Dropout(nn.Module):
    """Drops a share of units, by a generator that training hands in, so that a run can be repeated and taken up."""

    generator: torch.Generator | None = None

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        return x * _mask(x, self.share, self.generator) if self.training and self.share else x

    def stacked(self, members: int) -> StackedDropout:
        return StackedDropout(self, members)


class Stack(nn.Module):
    """Networks of one form as one. `forward` gives logits (members, batch, classes)."""

    def __init__(self, networks: Sequence[nn.Module], example: Tensor) -> None:
        """`example` is a batch of two as the networks take them: run once to see where members part."""
        super().__init__()
        self.members = len(networks)
        self.form = [copy.deepcopy(networks[0]).to("meta")]  # in a list, so that it is no part of us
        self.wide = _widened(copy.deepcopy(networks[0]), self.members)
        self.wide.train(networks[0].training)
        _mark_shared(networks[0], self.wide, example)
        self.load([network.state_dict() for network in networks])

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.wide(x)
        if out.dim() == 2:
            return out.view(len(out), self.members, -1).transpose(0, 1)
        return out

    def load(self, states: Sequence[dict[str, Tensor]]) -> None:
        """Take over the weights of every member."""
        with torch.no_grad():
            for name, tensor in self.wide.state_dict().items():
                if tensor.dim() == 0:
                    tensor.copy_(states[0][name])
                else:
                    for g, part in enumerate(of_members(tensor, self.members)):
                        part.copy_(states[g][name].view_as(part))

    def state_of(self, member: int) -> dict[str, Tensor]:
        """The weights of one member, as its network would have them alone; a copy."""
        alone = self.form[0].state_dict()
        return {
            name: (tensor if tensor.dim() == 0 else of_members(tensor, self.members)[member])
            .reshape(alone[name].shape)
            .detach()
            .clone(memory_format=torch.contiguous_format)
            for name, tensor in self.wide.state_dict().items()
        }


def of_members(tensor: Tensor, members: int) -> Tensor:
    """A wide tensor with the members as its first axis: a view."""
    return tensor.view(members, len(tensor) // members, *tensor.shape[1:])


def can_stack(network: nn.Module) -> bool:
    """Whether every layer has a wide twin, and none is used in two places."""
    layers = list(network.named_modules(remove_duplicate=False))
    if len({id(layer) for _, layer in layers}) < len(layers):
        return False
    return all(
        _twin_of(layer) or (not any(True for _ in layer.parameters(recurse=False)) and not _is_random(layer))
        for _, layer in layers
    )


def agrees(stack: Stack, networks: Sequence[nn.Module], example: Tensor) -> bool:
    """Whether members say what their networks say: layers cannot tell what a network does between them."""
    with torch.no_grad():
        try:
            wide = stack.eval()(example)
        except RuntimeError:
            return False
        alone = torch.stack([copy.deepcopy(network).eval()(example) for network in networks])
    stack.train(networks[0].training)
    return wide.shape == alone.shape and torch.allclose(wide, alone, rtol=1e-3, atol=1e-3 * float(alone.abs().max()))


def _twin_of(layer: nn.Module) -> bool:
    return type(layer) in (nn.Linear, nn.Conv2d, nn.BatchNorm2d, nn.Flatten) or hasattr(layer, "stacked")


def _is_random(layer: nn.Module) -> bool:
    return isinstance(layer, nn.modules.dropout._DropoutNd)


def _widened(network: nn.Module, members: int) -> nn.Module:
    """The network with every layer in place of which there is a wide twin replaced by it."""
    if hasattr(network, "stacked"):
        twin: nn.Module = network.stacked(members)  # type: ignore[operator]
        return twin
    if type(network) is nn.Linear:
        return StackedLinear(network, members)
    if type(network) is nn.Conv2d:
        return StackedConv2d(network, members)
    if type(network) is nn.Flatten:
        return StackedFlatten(members)
    if type(network) is nn.BatchNorm2d:
        return nn.BatchNorm2d(
            members * network.num_features,
            network.eps,
            network.momentum,
            network.affine,
            network.track_running_stats,
            *_place_of(network),
        )
    if any(True for _ in network.parameters(recurse=False)) or _is_random(network):
        raise BadSetting(
            f"found a layer {type(network).__name__}",
            expected="Linear, Conv2d, BatchNorm2d, layers without parameters, or layers with a method stacked",
            fix="train this network with stacking off",
            code="not-stackable",
        )
    for name, child in network.named_children():
        setattr(network, name, _widened(child, members))
    return network


def _mark_shared(network: nn.Module, wide: nn.Module, example: Tensor) -> None:
    """Tell the twins that come before members part; found by watching the network alone at work."""
    shared: dict[int, Tensor] = {id(example): example}
    twins = dict(wide.named_modules())
    hooks = []

    def watch(name: str, layer: nn.Module) -> None:
        def after(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            has_weights = any(True for _ in layer.parameters(recurse=False))
            if not has_weights and not list(layer.children()) and all(id(each) in shared for each in inputs):
                # Kept, so that its number is not given to another tensor.
                shared[id(output)] = output
                if isinstance(twins[name], StackedFlatten):
                    twins[name].shared = True

        hooks.append(layer.register_forward_hook(after))

    for name, layer in network.named_modules():
        if name:
            watch(name, layer)
    was_training = network.training
    try:
        with torch.no_grad():
            network.eval()(example)
    finally:
        network.train(was_training)
        for hook in hooks:
            hook.remove()


def _place_of(layer: nn.BatchNorm2d) -> tuple[torch.device | None, torch.dtype | None]:
    """Where its numbers are and how exact."""
    number = layer.weight if layer.affine else layer.running_mean
    return (None, None) if number is None else (number.device, number.dtype)


def _repeated(tensor: Tensor, members: int) -> Tensor:
    return tensor.detach().repeat(members, *([1] * (tensor.dim() - 1)))


def _mask(like: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    kept = torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype) >= share
    return kept.to(like.dtype) / (1 - share)
