"""Memory that is kept: what one batch frees, the next one uses.

glibc gives large blocks back to the system whenever they are freed, and the system clears every page it hands out
anew. A stack of LeNets spends a fifth of its time on that.

Training: the one loop. Networks side by side, an epoch at a time; it can be left and taken up after any of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from sfumato.training.crowd_layers import CrowdLabels
from sfumato.training.dynamics_recorder import DynamicsBuffer
from sfumato.training.mixing.batch import cross_entropies
from sfumato.training.random_streams import RandomStreams
from sfumato.training.ranks import Ranks
from sfumato.training.run_group import (
    EpochRow,
    GroupOptimizer,
    ParameterSlice,
    RunGroup,
    RunState,
    SeparateNetworks,
    shares_of,
    side_by_side,
)
from sfumato.training.stacked_network import Stack
from sfumato.training.target_labels import FixedLabels

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_BLOCK = 32 * 1024 * 1024
"""The largest that glibc takes from memory it keeps."""


@cache
def keep_memory() -> None:
    """Have this process keep the memory it frees; nothing on systems without glibc."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


EVALUATED_AT_ONCE = 256
"""Pictures predicted together: few enough to stay near the processor."""
LABELLED_AT_ONCE = 2**22
"""Probabilities drawn together."""


class TrainingLoop:
    """A task being carried out. `advance` trains one epoch; `finished` says when no member learns any more."""

    def __init__(self, task: RunGroup) -> None:
        keep_memory()
        self.task = task
        self.epoch = 0
        self._ranks = Ranks.here()
        self.members = [RunState(name, g) for g, name in enumerate(task.names)]
        self._learnt, self._held_out = task.split()
        # Channels last in memory, also where there is only one and torch would not know.
        self._pixels = task.pictures.permute(0, 2, 3, 1).contiguous().to(task.device)
        self._labels = [labels.to(task.device) for labels in task.labels]
        self._gold = torch.from_numpy(np.asarray(task.gold())).to(task.device)
        self._reference = torch.from_numpy(np.asarray(task.reference(), np.float32)).to(task.device)
        self._crowds = {g: labels for g, labels in enumerate(self._labels) if isinstance(labels, CrowdLabels)}
        self._heads = {g: labels.head().to(task.device) for g, labels in self._crowds.items()}
        self._networks: Stack | SeparateNetworks
        network = task.new_network()
        self._set_up([network] * task.members, self.members)

    @property
    def finished(self) -> bool:
        return not self.learning

    @property
    def learning(self) -> list[RunState]:
        """The members that still learn, in the order they stand in the stack."""
        return [member for member in self.members if not member.ended]

    def advance(self) -> None:
        """Train one epoch, and see how everybody stands."""
        recipe, draws = self.task.recipe, RandomStreams(self.task.seed, self.epoch)
        losses, noted = self._learn(draws)
        self.epoch += 1
        validation = self._validation_losses()
        rates = self._factors(self.epoch)
        noted_at_end = self._noted_at_end() if recipe.dynamics in ("end", "both") else None
        is_last = self.epoch == recipe.epochs
        predicted = self.predicted() if recipe.predictions_each_epoch and self.task.tested is not None else None
        for g, member in enumerate(self.learning):
            if not math.isfinite(losses[g]) or (validation and not math.isfinite(validation[g])):
                member.ended = "diverged"
                continue
            member.rows.append(EpochRow(self.epoch, losses[g], validation[g] if validation else None, rates[g]))
            if noted is not None:
                member.dynamics.add("online", self.epoch, noted.of(g))
            if noted_at_end is not None:
                member.dynamics.add("end", self.epoch, noted_at_end.of(g))
            if predicted is not None:
                member.predictions.append(predicted[g])
            self._keep_weights(g, member)
            if recipe.patience and member.n_waited >= recipe.patience:
                member.ended = "stopped early"
            elif is_last:
                member.ended = "finished"
        self._let_go()

    def predicted(
        self, networks: Stack | SeparateNetworks | None = None
    ) -> Float[np.ndarray, "members tested classes"]:
        """What networks (the members that still learn, unless others are given) predict for the test items."""
        assert self.task.tested is not None
        found = self._logits(self.task.tested.to(self.task.device), networks)
        probs: Float[np.ndarray, "members tested classes"] = (
            torch.cat([logits.softmax(-1) for _, logits in found], dim=1).cpu().numpy()
        )
        return probs

    # --- left and taken up ---

    def state(self) -> dict[str, Tensor]:
        """Weights, and what the optimiser remembers: with `members` and `epoch`, all it takes to go on."""
        weights = {
            f"weights.{member.number}.{name}": tensor
            for g, member in enumerate(self._standing)
            for name, tensor in self._networks.state_of(g).items()
        }
        heads = {
            f"head.{number}.{name}": tensor.detach().clone()
            for number, head in self._heads.items()
            for name, tensor in head.state_dict().items()
        }
        return weights | heads | {f"optimiser.{name}": tensor for name, tensor in self._mover.state().items()}

    def take_up(self, epoch: int, members: Sequence[RunState], state: dict[str, Tensor]) -> None:
        """Go on where `epoch`, `members` and `state` were left."""
        self.epoch, self.members = epoch, list(members)
        learning = self.learning
        if not learning:
            return
        for number, head in self._heads.items():
            head.load_state_dict(within(state, f"head.{number}."))
        networks = [_loaded(self.task, within(state, f"weights.{member.number}.")) for member in learning]
        self._set_up(networks, learning)
        self._mover.load(within(state, "optimiser."))

    # --- an epoch ---

    def _learn(self, draws: RandomStreams) -> tuple[list[float], DynamicsBuffer | None]:
        """One pass over the items: the mean loss of every member, and how each item was predicted on the way."""
        recipe = self.task.recipe
        order = self._learnt[draws.order(len(self._learnt))]
        chance = draws.chance(self.task.lesson.n_items)
        # Ranks see different items, and each has luck of its own with them.
        own = "" if self._ranks.world == 1 else f" {self._ranks.rank}"
        augmenting, mixing = draws.generator(f"augmentation{own}"), draws.generator(f"mixing{own}")
        for layer in self._networks.modules():
            if hasattr(layer, "generator"):
                setattr(layer, "generator", draws.generator(f"units{own}"))  # noqa: B010
        noted = (
            DynamicsBuffer.empty(self._networks.members, self._learnt)
            if recipe.dynamics in ("online", "both")
            else None
        )
        total = torch.zeros(self._networks.members, device=self.task.device)
        factors = self._factors(float(self.epoch))
        self._networks.train()
        n_seen = 0
        for batch, labels in self._batches(order, chance):
            part = self._ranks.part(len(batch))
            index, y = batch[part], labels[:, part]
            weight = self._ranks.weight(len(index), len(batch))
            x = self._shown(index)
            if recipe.augmentation is not None:
                x = recipe.augmentation.augmented(x, augmenting)
            if recipe.schedule.is_smooth:
                factors = self._factors(self.epoch + n_seen / len(order))
            mixed = recipe.mixing.mixed(x, y, mixing)
            self._mover.clear()
            with self._precision():
                logits = self._joined(mixed.x)
                losses = self._through_heads(recipe.mixing.losses(logits.float(), mixed), logits.float(), index)
            (losses.sum() * weight).backward()  # type: ignore[no-untyped-call]
            for head in self._heads.values():
                self._ranks.average(head)
            self._mover.step(factors)
            total += losses.detach() * (weight * len(batch) / self._ranks.world)
            n_seen += len(batch)
            if noted is not None and mixed.x is x:
                noted.note(logits.detach(), index, self._gold, self._reference)
        if noted is not None and noted.has_any:
            noted.gather(self._ranks)
        else:
            noted = None
        return (self._ranks.summed(total) / len(order)).tolist(), noted

    def _through_heads(
        self, losses: Float[Tensor, "members"], logits: Float[Tensor, "members batch classes"], index: Tensor
    ) -> Float[Tensor, "members"]:
        """The losses, with those of members that learn from a crowd taken through their heads."""
        if not self._heads:
            return losses
        return torch.stack(
            [
                self._crowds[member.number].loss(self._heads[member.number], logits[g], index)
                if member.number in self._heads
                else losses[g]
                for g, member in enumerate(self._standing)
            ]
        )

    def _shown(self, index: Int[Tensor, "some"]) -> Float[Tensor, "some channels height width"]:
        return self._pixels.index_select(0, index).permute(0, 3, 1, 2)

    def _batches(
        self, order: Int[Tensor, "items"], chance: Float[Tensor, "all_items"]
    ) -> Iterator[tuple[Int[Tensor, "batch"], Float[Tensor, "members batch classes"]]]:
        """Items and the labels they have this time, a batch at a time; labels are drawn many batches at once."""
        size, learning = self.task.recipe.batch_size, self.learning
        per_item = len(learning) * self.task.lesson.n_classes
        at_once = max(1, LABELLED_AT_ONCE // (per_item * size)) * size
        for start in range(0, len(order), at_once):
            index = order[start : start + at_once].to(self.task.device)
            luck = chance[order[start : start + at_once]].to(self.task.device)
            y = torch.stack([self._labels[member.number].at(index, luck) for member in learning])
            for batch in range(0, len(index), size):
                yield index[batch : batch + size], y[:, batch : batch + size]

    def _precision(self) -> contextlib.AbstractContextManager[object]:
        name = self.task.recipe.precision
        if name == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.task.device.type, dtype=getattr(torch, name))

    # --- how everybody stands ---

    def _validation_losses(self) -> list[float]:
        """The loss of every member on the items held out, under its own labels; nothing if there are none."""
        if not len(self._held_out):
            return []
        index = self._held_out.to(self.task.device)
        y = torch.stack([self._mean_labels(member.number)[index] for member in self.learning])
        losses = [
            cross_entropies(logits, y[:, start : start + logits.shape[1]]).sum(1)
            for start, logits in self._logits(self._shown(index))
        ]
        return [float(loss) for loss in torch.stack(losses).sum(0) / len(index)]

    def _mean_labels(self, number: int) -> Float[Tensor, "items classes"]:
        labels = self._labels[number]
        if isinstance(labels, FixedLabels):
            return labels.probs
        return torch.from_numpy(np.asarray(labels.mean(), np.float32)).to(self.task.device)

    def _noted_at_end(self) -> DynamicsBuffer:
        noted = DynamicsBuffer.empty(self._networks.members, self._learnt)
        index = self._learnt.to(self.task.device)
        for start, logits in self._logits(self._shown(index)):
            noted.note(logits, index[start : start + logits.shape[1]], self._gold, self._reference)
        return noted

    def _logits(
        self, pictures: Tensor, networks: Stack | SeparateNetworks | None = None
    ) -> Iterator[tuple[int, Float[Tensor, "members some classes"]]]:
        """What networks (the members, unless others are given) say of some pictures at a time."""
        networks = networks or self._networks
        networks.eval()
        for start in range(0, len(pictures), EVALUATED_AT_ONCE):
            with torch.no_grad(), self._precision():
                logits = networks(pictures[start : start + EVALUATED_AT_ONCE])
            yield start, logits.float()

    def _factors(self, progress: float) -> list[float]:
        """What each member's rate is multiplied with."""
        recipe = self.task.recipe
        return [recipe.schedule.factor(progress, recipe.epochs, member.validation_losses) for member in self.learning]

    def _keep_weights(self, g: int, member: RunState) -> None:
        """Remember the member's weights: the best so far if it watches the loss, else the latest good ones."""
        if not self.task.recipe.patience or member.n_waited == 0:
            member.best = self._networks.state_of(g)

    # --- members come and go ---

    def _let_go(self) -> None:
        """Members whose training has ended leave; those that go on close ranks."""
        staying = [g for g, member in enumerate(self._standing) if not member.ended]
        if len(staying) == len(self._standing):
            return
        self._predict_last([member for member in self._standing if member.ended])
        if staying:
            networks = [_loaded(self.task, self._networks.state_of(g)) for g in staying]
            memory = self._mover.of_members(staying)
            self._set_up(networks, [self._standing[g] for g in staying])
            self._mover.load(memory)

    def _predict_last(self, leaving: Sequence[RunState]) -> None:
        """What members that leave predict with the weights they keep."""
        if self.task.tested is None:
            return
        for member in leaving:
            state = member.best or self.task.new_network().state_dict()
            probs = self.predicted(SeparateNetworks([_loaded(self.task, state)]))[0]
            if self.task.recipe.predictions_each_epoch and member.ended == "finished":
                member.predictions[-1] = probs
            elif self.task.recipe.predictions_each_epoch:
                member.predictions.append(probs)
            else:
                member.predictions = [probs]

    def _set_up(self, networks: Sequence[nn.Module], standing: Sequence[RunState]) -> None:
        example = self._shown(torch.arange(min(2, len(self._pixels)), device=self.task.device))
        self._networks = side_by_side(networks, example, stacked=self.task.recipe.stacked)
        self._networks.to(self.task.device)
        self._joined = self._ranks.joined(self._networks)
        self._standing = list(standing)
        recipe = self.task.recipe
        heads = [
            ParameterSlice(parameter, g, 1)
            for g, member in enumerate(standing)
            if member.number in self._heads
            for parameter in self._heads[member.number].parameters()
        ]
        shares = [*shares_of(self._networks), *heads]
        self._mover = GroupOptimizer(shares, self._networks.members, recipe.optimiser, recipe.clip)


def within(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The entries whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def _loaded(task: RunGroup, state: dict[str, Tensor]) -> nn.Module:
    network = task.new_network()
    network.load_state_dict(state)
    return network
