"""Task: networks to be trained side by side, and everything that decides how they come out.

Member: one network of a training, and where it has come to.

Members: networks that learn side by side, as one wide network or apart, and the optimiser that moves them.

Whatever is done to one member (its gradient cut, its rate lowered, its training ended) leaves the others alone.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from sfumato.tables.errors import BadSetting
from sfumato.training.crowd_layers import CrowdLabels
from sfumato.training.dynamics_recorder import Dynamics
from sfumato.training.mixing import Plain
from sfumato.training.networks import Network
from sfumato.training.optimizers import Adam, Sgd
from sfumato.training.random_streams import generator_of
from sfumato.training.recipe import Recipe
from sfumato.training.stacked_network import Stack, agrees, can_stack, of_members
from sfumato.training.target_labels import TargetLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True, eq=False)
class RunGroup:
    """Networks of one form that differ in their labels alone.

    All begin with the same weights, see the same batches and meet the same luck: what differs between them in the end
    is what their labels did.
    """

    names: tuple[str, ...]
    """What the members are called: their targets."""
    network: Network
    labels: tuple[TargetLabels, ...]
    lesson: TrainingSet
    pictures: Float[Tensor, "items channels height width"]
    recipe: Recipe
    seed: int
    tested: Float[Tensor, "tested channels height width"] | None = None
    """The pictures to be predicted."""
    start: dict[str, Tensor] | None = None
    """Weights to begin with, where not with new ones."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __post_init__(self) -> None:
        assert len(self.names) == len(self.labels) == len(set(self.names)), "one name and one set of labels a member"
        assert len(self.pictures) == self.lesson.n_items, "one picture an item"
        if not isinstance(self.recipe.mixing, Plain) and any(isinstance(each, CrowdLabels) for each in self.labels):
            raise BadSetting(
                f"found the mixing {self.recipe.mixing.name} for a target that learns from a crowd",
                expected="pictures as people saw them",
                fix="leave the mixing or the target out",
                code="bad-setting",
            )
        if self.n_validation >= self.lesson.n_items:
            raise BadSetting(
                f"found {self.lesson.n_items} items of which {self.n_validation} would be held out",
                expected="at least one item to learn from",
                fix="give more items, or a smaller validation share",
                code="too-few-items",
            )

    @property
    def members(self) -> int:
        return len(self.names)

    @property
    def n_validation(self) -> int:
        share = self.recipe.validation
        return max(1, round(share * self.lesson.n_items)) if share else 0

    def split(self) -> tuple[Int[Tensor, "learnt"], Int[Tensor, "held_out"]]:
        """Items to learn from, and items to watch the loss on."""
        order = torch.randperm(self.lesson.n_items, generator=generator_of(self.seed, "validation"))
        held_out, learnt = order[: self.n_validation], order[self.n_validation :]
        return learnt.sort().values, held_out.sort().values

    def new_network(self) -> nn.Module:
        """The network every member begins with."""
        _, channels, height, width = self.pictures.shape
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator_of(self.seed, "weights").initial_seed())
            network = self.network.build((channels, height, width), self.lesson.n_classes)
        if self.start is not None:
            network.load_state_dict(self.start)
        network = network.to(self.device)
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]

    def gold(self) -> Int[np.ndarray, "items"]:
        """The class that counts as right in training dynamics: the original one, or else people's first choice."""
        if self.lesson.original is not None:
            return self.lesson.original
        return np.asarray(self.reference().argmax(1))

    def reference(self) -> Float[np.ndarray, "items classes"]:
        """The distribution that dynamics are compared with: people's, or else that of the first labels."""
        return self.labels[0].mean() if self.lesson.people is None else self.lesson.people


@dataclass(frozen=True)
class EpochRow:
    """How one member stood after an epoch."""

    epoch: int
    loss: float
    validation_loss: float | None
    rate: float
    """What the optimiser's rate was multiplied with at the end."""


@dataclass(eq=False)
class RunState:
    """One network of a training: where it has come to."""

    name: str
    number: int
    """Its place in the task."""
    rows: list[EpochRow] = field(default_factory=list)
    dynamics: Dynamics = field(default_factory=Dynamics)
    predictions: list[Float[np.ndarray, "tested classes"]] = field(default_factory=list)
    """Of the test items: after every epoch where asked for, else the last alone."""
    best: dict[str, Tensor] | None = None
    """Its weights when the validation loss was lowest, or those it ended with."""
    ended: str = ""
    """Why it learns no more: `finished`, `stopped early`, `diverged`; empty while it does."""

    @property
    def validation_losses(self) -> list[float]:
        return [row.validation_loss for row in self.rows if row.validation_loss is not None]

    @property
    def n_waited(self) -> int:
        """Epochs since the validation loss was lowest."""
        losses = self.validation_losses
        return len(losses) - 1 - int(np.argmin(losses))


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
