"""StackedNetwork: several networks of one architecture as one wide network.

Runs do not influence each other. A layer with parameters can be stacked if it is a `Linear`, `Conv2d` or
`BatchNorm2d`. A layer whose output depends on the order of channels (padding or joining them) has a method
`stacked(n_runs)` that returns its wide version. Simple sequences of layers are computed in one step
(`fused_sequence.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sfumato.tables.errors import BadSetting
from sfumato.training.fused_sequence import fused_sequence
from sfumato.training.stacked_layers import StackedConv2d, StackedFlatten, StackedLinear


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
        self._fused = fused_sequence(self.wide, self.n_runs)

    def forward(self, x: Tensor) -> Tensor:
        if self._fused is not None and self._fused.fits(x):
            return self._fused(x)
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
