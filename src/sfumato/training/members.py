"""Members: networks that learn side by side, as one wide network or apart, and the optimiser that moves them.

Whatever is done to one member (its gradient cut, its rate lowered, its training ended) leaves the others alone.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from sfumato.training.optimisers import Adam, Sgd
from sfumato.training.stacked_network import Stack, agrees, can_stack, of_members


@dataclass(frozen=True, eq=False)
class ParameterSlice:
    """A parameter that belongs to `count` members from number `first` on, side by side along its first axis."""

    parameter: nn.Parameter
    first: int
    count: int

    def of_members(self, tensor: Tensor, factors: Float[Tensor, "members"]) -> tuple[Tensor, Tensor]:
        """`tensor`, shaped like the parameter, by members; and their factors, shaped to be multiplied with it."""
        parts = of_members(tensor, self.count)
        own = factors[self.first : self.first + self.count]
        return parts, own.view(-1, *([1] * (parts.dim() - 1)))


class SeparateNetworks(nn.Module):
    """Networks of any form, each by itself. For what cannot be stacked, and to check what can."""

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList([copy.deepcopy(network) for network in networks])
        self.members = len(networks)

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([network(x) for network in self.networks])

    def state_of(self, member: int) -> dict[str, Tensor]:
        """The weights of one member; a copy."""
        state = self.networks[member].state_dict()
        return {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in state.items()}


def shares_of(members: Stack | SeparateNetworks) -> list[ParameterSlice]:
    """Every parameter, and whose it is."""
    if isinstance(members, Stack):
        return [ParameterSlice(parameter, 0, members.members) for parameter in members.wide.parameters()]
    return [ParameterSlice(p, g, 1) for g, network in enumerate(members.networks) for p in network.parameters()]


def side_by_side(networks: Sequence[nn.Module], example: Tensor, *, stacked: bool) -> Stack | SeparateNetworks:
    """The networks as one where they can be and `stacked` asks for it."""
    if stacked and can_stack(networks[0]):
        stack = Stack(networks, example)
        if agrees(stack, networks, example):
            return stack
    return SeparateNetworks(networks)


class GroupOptimizer:
    """Moves the weights of members against their gradients: each by its own rate, none further than `clip` allows."""

    def __init__(
        self, shares: list[ParameterSlice], members: int, optimiser: Sgd | Adam, clip: float | None = None
    ) -> None:
        self.shares, self.members, self.clip = shares, members, clip
        self._optimiser = optimiser.build([share.parameter for share in shares])
        self._rate = optimiser.rate

    def clear(self) -> None:
        self._optimiser.zero_grad(set_to_none=True)

    def step(self, factors: Sequence[float]) -> None:
        """One step; `factors` multiply the rate, one a member."""
        if self.clip is not None:
            self._clip(self.clip)
        if len(set(factors)) == 1:
            self._set_rate(self._rate * factors[0])
            self._optimiser.step()
            return
        # A step is proportional to its rate: take it in full, then keep of it what each member may.
        before = [share.parameter.detach().clone() for share in self.shares]
        self._set_rate(self._rate)
        self._optimiser.step()
        kept = torch.tensor(factors, dtype=torch.float32, device=before[0].device)
        with torch.no_grad():
            for share, old in zip(self.shares, before, strict=True):
                moved, own = share.of_members(share.parameter, kept)
                moved.copy_(torch.lerp(of_members(old, share.count), moved, own))

    def gradient_norms(self) -> Float[Tensor, "members"]:
        """The length of each member's gradient."""
        squares = torch.zeros(self.members, device=self.shares[0].parameter.device)
        for share in self.shares:
            if share.parameter.grad is not None:
                parts = of_members(share.parameter.grad, share.count)
                own = squares[share.first : share.first + share.count]
                own += parts.square().sum(tuple(range(1, parts.dim())))
        return squares.sqrt()

    def state(self) -> dict[str, Tensor]:
        """What the optimiser remembers, by parameter number and name."""
        return {
            f"{i}.{name}": value
            for i, share in enumerate(self.shares)
            for name, value in self._optimiser.state[share.parameter].items()
            if isinstance(value, Tensor)
        }

    def load(self, state: dict[str, Tensor]) -> None:
        """Remember what `state` says."""
        for key, value in state.items():
            number, _, name = key.partition(".")
            parameter = self.shares[int(number)].parameter
            at = value if value.dim() == 0 else torch.empty_like(parameter).copy_(value.view_as(parameter))
            self._optimiser.state[parameter][name] = at

    def of_members(self, members: Sequence[int]) -> dict[str, Tensor]:
        """What is remembered of some members, as a mover of those alone would."""
        kept: dict[str, Tensor] = {}
        number = 0
        for share in self.shares:
            own = [g - share.first for g in members if share.first <= g < share.first + share.count]
            if not own:
                continue
            for name, value in self._optimiser.state[share.parameter].items():
                if isinstance(value, Tensor):
                    part = value if value.dim() == 0 else of_members(value, share.count)[own].flatten(0, 1)
                    kept[f"{number}.{name}"] = part.clone()
            number += 1
        return kept

    def _clip(self, longest: float) -> None:
        # As torch's clip_grad_norm_ does it, a member at a time.
        factors = (longest / (self.gradient_norms() + 1e-6)).clamp(max=1.0)
        for share in self.shares:
            if share.parameter.grad is not None:
                parts, own = share.of_members(share.parameter.grad, factors)
                parts.mul_(own)

    def _set_rate(self, rate: float) -> None:
        for group in self._optimiser.param_groups:
            group["lr"] = rate
