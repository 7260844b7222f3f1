"""The networks of a run group, stacked or separate, and the optimizer that updates them.

An action on one run (its gradient clipped, its rate reduced, its training ended) does not affect the others.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sfumato.training.optimizers import Adam, Sgd
from sfumato.training.stacked_network import StackedNetwork, agrees, by_run, can_stack


@dataclass(frozen=True, eq=False)
class ParameterSlice:
    """A parameter of `count` runs, starting at run number `first`; its first axis holds one block per run."""

    parameter: nn.Parameter
    first: int
    count: int

    def by_run(self, tensor: Tensor, factors: Float[Tensor, "runs"]) -> tuple[Tensor, Tensor]:
        """`tensor` split by run, and the factors of these runs in a shape that can be multiplied with it."""
        parts = by_run(tensor, self.count)
        own = factors[self.first : self.first + self.count]
        return parts, own.view(-1, *([1] * (parts.dim() - 1)))


class SeparateNetworks(nn.Module):
    """Networks that are evaluated one by one: those that cannot be stacked, and for tests of those that can.

    In training, torch's own random numbers (of `nn.Dropout`, for example) are seeded for every batch with the
    `generator` that the training loop sets, the same for each network.
    """

    generator: torch.Generator | None = None

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList([copy.deepcopy(network) for network in networks])
        self.n_runs = len(networks)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.generator is None:
            return torch.stack([network(x) for network in self.networks])
        seed = int(torch.randint(2**62, (), generator=self.generator))
        logits = []
        with torch.random.fork_rng([x.device] if x.is_cuda else []):
            for network in self.networks:
                torch.manual_seed(seed)
                logits.append(network(x))
        return torch.stack(logits)

    def state_of(self, run: int) -> dict[str, Tensor]:
        """A copy of the weights of one run."""
        state = self.networks[run].state_dict()
        return {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in state.items()}


Networks = StackedNetwork | SeparateNetworks


def parameter_slices(networks: Networks) -> list[ParameterSlice]:
    """Every parameter with the runs it belongs to."""
    if isinstance(networks, StackedNetwork):
        return [ParameterSlice(parameter, 0, networks.n_runs) for parameter in networks.wide.parameters()]
    return [ParameterSlice(p, g, 1) for g, network in enumerate(networks.networks) for p in network.parameters()]


def stack_networks(networks: Sequence[nn.Module], example: Tensor, *, stacked: bool) -> Networks:
    """The networks as one stacked network if possible and `stacked` is true, else separate ones."""
    if stacked and can_stack(networks[0]):
        stack = StackedNetwork(networks, example)
        if agrees(stack, networks, example):
            return stack
    return SeparateNetworks(networks)


class GroupOptimizer:
    """Updates the weights of the runs: each with its own learning rate, with gradient norms of at most `clip`."""

    def __init__(
        self, slices: list[ParameterSlice], n_runs: int, optimizer: Sgd | Adam, clip: float | None = None
    ) -> None:
        self.slices, self.n_runs, self.clip = slices, n_runs, clip
        self._optimizer = optimizer.build([block.parameter for block in slices])
        self._rate = optimizer.rate

    def clear(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)

    def step(self, factors: Sequence[float]) -> None:
        """One optimizer step; `factors` multiply the learning rate, one per run."""
        if self.clip is not None:
            self._clip(self.clip)
        if len(set(factors)) == 1:
            self._set_rate(self._rate * factors[0])
            self._optimizer.step()
            return
        # A step is proportional to its rate: take the full step, then interpolate by the factor of each run.
        before = [block.parameter.detach().clone() for block in self.slices]
        self._set_rate(self._rate)
        self._optimizer.step()
        kept = torch.tensor(factors, dtype=torch.float32, device=before[0].device)
        with torch.no_grad():
            for block, old in zip(self.slices, before, strict=True):
                moved, own = block.by_run(block.parameter, kept)
                moved.copy_(torch.lerp(by_run(old, block.count), moved, own))

    def gradient_norms(self) -> Float[Tensor, "runs"]:
        """The norm of each run's gradient."""
        squares = torch.zeros(self.n_runs, device=self.slices[0].parameter.device)
        for block in self.slices:
            if block.parameter.grad is not None:
                parts = by_run(block.parameter.grad, block.count)
                own = squares[block.first : block.first + block.count]
                own += parts.square().sum(tuple(range(1, parts.dim())))
        return squares.sqrt()

    def state(self) -> dict[str, Tensor]:
        """The optimizer state, by parameter number and name."""
        return {
            f"{i}.{name}": value
            for i, block in enumerate(self.slices)
            for name, value in self._optimizer.state[block.parameter].items()
            if isinstance(value, Tensor)
        }

    def load(self, state: dict[str, Tensor]) -> None:
        """Set the optimizer state."""
        for key, value in state.items():
            number, _, name = key.partition(".")
            parameter = self.slices[int(number)].parameter
            at = value if value.dim() == 0 else torch.empty_like(parameter).copy_(value.view_as(parameter))
            self._optimizer.state[parameter][name] = at

    def state_of(self, runs: Sequence[int]) -> dict[str, Tensor]:
        """The state of some runs, in the form that an optimizer of only those runs has."""
        kept: dict[str, Tensor] = {}
        number = 0
        for block in self.slices:
            own = [g - block.first for g in runs if block.first <= g < block.first + block.count]
            if not own:
                continue
            for name, value in self._optimizer.state[block.parameter].items():
                if isinstance(value, Tensor):
                    part = value if value.dim() == 0 else by_run(value, block.count)[own].flatten(0, 1)
                    kept[f"{number}.{name}"] = part.clone()
            number += 1
        return kept

    def _clip(self, longest: float) -> None:
        # The same as torch's clip_grad_norm_, for each run separately.
        factors = (longest / (self.gradient_norms() + 1e-6)).clamp(max=1.0)
        for block in self.slices:
            if block.parameter.grad is not None:
                parts, own = block.by_run(block.parameter.grad, factors)
                parts.mul_(own)

    def _set_rate(self, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate
