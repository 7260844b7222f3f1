"""TrainingLoop trains the runs of a group together, one epoch at a time; it can stop and resume after any epoch.

glibc returns large freed blocks to the system, which clears every page it hands out again: a fifth of the time of a
stack of LeNets. `keep_memory` keeps the memory in the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from sfumato.training.crowd_layers import CrowdLabels
from sfumato.training.dynamics_recorder import DynamicsBuffer
from sfumato.training.group_optimizer import (
    GroupOptimizer,
    Networks,
    ParameterSlice,
    SeparateNetworks,
    parameter_slices,
    stack_networks,
)
from sfumato.training.mixing.mixup import Labels, cross_entropies
from sfumato.training.random_streams import RandomStreams
from sfumato.training.ranks import Ranks
from sfumato.training.run_group import EpochRow, RunGroup, RunState

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_BLOCK = 32 * 1024 * 1024
"""The largest block that glibc reuses."""


@cache
def keep_memory() -> None:
    """Keep freed memory in this process; no effect on systems without glibc."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def use_one_torch_thread() -> None:
    torch.set_num_threads(1)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """One torch thread in this block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


EVALUATED_AT_ONCE = 256
"""Images predicted per batch: few enough to fit into the processor's cache."""
LABELED_AT_ONCE = 2**22
"""Label probabilities sampled at a time."""


class TrainingLoop:
    """Trains a run group. `advance` trains one epoch; `finished` is true when every run has ended."""

    def __init__(self, group: RunGroup) -> None:
        keep_memory()
        self.group = group
        self.epoch = 0
        self._ranks = Ranks.here()
        self.runs = [RunState(name, g) for g, name in enumerate(group.names)]
        self._train_items = torch.arange(group.training_set.n_items)
        # Channels last in memory, also for one channel, where torch cannot tell.
        self._pixels = group.images.permute(0, 2, 3, 1).contiguous().to(group.device)
        self._labels = [labels.to(group.device) for labels in group.labels]
        weights = group.item_weights()
        self._weights = None if weights is None else torch.from_numpy(weights).to(group.device)
        self._gold = torch.from_numpy(np.asarray(group.gold())).to(group.device)
        self._reference = torch.from_numpy(np.asarray(group.reference(), np.float32)).to(group.device)
        self._crowds = {g: labels for g, labels in enumerate(self._labels) if isinstance(labels, CrowdLabels)}
        self._heads = {g: labels.head().to(group.device) for g, labels in self._crowds.items()}
        self._networks: Networks
        network = group.new_network()
        self._build([network] * group.n_runs, self.runs)

    @property
    def finished(self) -> bool:
        return not self.active

    @property
    def active(self) -> list[RunState]:
        """The runs that have not ended, in the order of the stacked network."""
        return [run for run in self.runs if not run.ended]

    def advance(self) -> None:
        """Train one epoch and update the state of every run."""
        recipe, streams = self.group.recipe, RandomStreams(self.group.seed, self.epoch)
        losses, recorded = self._train_epoch(streams)
        self.epoch += 1
        validation = self._validation_losses()
        rates = self._factors(self.epoch)
        at_end = self._dynamics_at_end() if recipe.dynamics in ("end", "both") else None
        is_last = self.epoch == recipe.epochs
        wanted = recipe.predictions_each_epoch and self.group.test_images is not None
        predictions = self.predictions() if wanted else None
        for g, run in enumerate(self.active):
            if not math.isfinite(losses[g]) or (validation and not math.isfinite(validation[g])):
                run.ended = "diverged"
                continue
            run.rows.append(EpochRow(self.epoch, losses[g], validation[g] if validation else None, rates[g]))
            if recorded is not None:
                run.dynamics["online", self.epoch] = recorded.of_run(g)
            if at_end is not None:
                run.dynamics["end", self.epoch] = at_end.of_run(g)
            if predictions is not None:
                run.predictions.append(predictions[g])
            # The best weights so far if it uses patience, else the latest.
            if not recipe.patience or run.epochs_since_best == 0:
                run.best = self._networks.state_of(g)
            if recipe.patience and run.epochs_since_best >= recipe.patience:
                run.ended = "stopped early"
            elif is_last:
                run.ended = "finished"
        self._remove_ended()

    def predictions(self, networks: Networks | None = None) -> Float[np.ndarray, "runs test classes"]:
        """Predictions for the test items, of the active runs or of other `networks`."""
        assert self.group.test_images is not None
        found = self._logits(self.group.test_images.to(self.group.device), networks)
        return np.asarray(torch.cat([logits.softmax(-1) for _, logits in found], dim=1).cpu().numpy())

    # --- checkpoints ---

    def state(self) -> dict[str, Tensor]:
        """Weights and optimizer state: with `runs` and `epoch`, everything needed to resume."""
        weights = {
            f"weights.{run.number}.{name}": tensor
            for g, run in enumerate(self._stacked)
            for name, tensor in self._networks.state_of(g).items()
        }
        heads = {
            f"head.{number}.{name}": tensor.detach().clone()
            for number, head in self._heads.items()
            for name, tensor in head.state_dict().items()
        }
        return weights | heads | {f"optimiser.{name}": tensor for name, tensor in self._optimizer.state().items()}

    def resume(self, epoch: int, runs: Sequence[RunState], state: dict[str, Tensor]) -> None:
        """Continue from `epoch`, `runs` and `state`."""
        self.epoch, self.runs = epoch, list(runs)
        active = self.active
        if not active:
            return
        for number, head in self._heads.items():
            head.load_state_dict(within(state, f"head.{number}."))
        networks = [_network_with(self.group, within(state, f"weights.{run.number}.")) for run in active]
        self._build(networks, active)
        self._optimizer.load(within(state, "optimiser."))

    # --- an epoch ---

    def _train_epoch(self, streams: RandomStreams) -> tuple[list[float], DynamicsBuffer | None]:
        """One pass over the items: the mean loss of every run, and the predictions for each item in its batch."""
        recipe = self.group.recipe
        order = self._train_items[streams.order(len(self._train_items))]
        chance = streams.chance(self.group.training_set.n_items)
        # Ranks see different items and use different random numbers for them.
        own = "" if self._ranks.world == 1 else f" {self._ranks.rank}"
        augmentation, mixing = streams.generator(f"augmentation{own}"), streams.generator(f"mixing{own}")
        for layer in self._networks.modules():
            if hasattr(layer, "generator"):
                setattr(layer, "generator", streams.generator(f"units{own}"))  # noqa: B010
        is_online = recipe.dynamics in ("online", "both")
        recorded = self._empty_dynamics() if is_online else None
        total = torch.zeros(self._networks.n_runs, device=self.group.device)
        factors = self._factors(float(self.epoch))
        self._networks.train()
        n_seen = 0
        for batch, labels in self._batches(order, chance):
            part = self._ranks.part(len(batch))
            index, y = batch[part], labels[:, part]
            weight = self._ranks.weight(len(index), len(batch))
            x = self._images(index)
            if recipe.augmentation is not None:
                x = recipe.augmentation.augmented(x, augmentation)
            if recipe.schedule.is_smooth:
                factors = self._factors(self.epoch + n_seen / len(order))
            mixed = recipe.mixing.mixed(x, y, mixing)
            self._optimizer.clear()
            with self._precision():
                logits = self._parallel(mixed.x)
                losses = self._with_crowd_losses(recipe.mixing.losses(logits.float(), mixed), logits.float(), index)
            losses.backward(torch.full_like(losses, weight))  # type: ignore[no-untyped-call]
            for head in self._heads.values():
                self._ranks.average(head)
            self._optimizer.step(factors)
            total += losses.detach() * (weight * len(batch) / self._ranks.world)
            n_seen += len(batch)
            if recorded is not None and mixed.x is x:
                recorded.record(logits.detach(), index)
        if recorded is not None:
            recorded.store()
        if recorded is not None and recorded.has_any:
            recorded.gather(self._ranks)
        else:
            recorded = None
        return (self._ranks.sum(total) / len(order)).tolist(), recorded

    def _with_crowd_losses(self, losses: Float[Tensor, "runs"], logits: Labels, index: Tensor) -> Float[Tensor, "runs"]:
        """The losses; for runs with a crowd head, those of the head."""
        if not self._heads:
            return losses
        each = list(losses)
        for g, run in enumerate(self._stacked):
            if run.number in self._heads:
                each[g] = self._crowds[run.number].loss(self._heads[run.number], logits[g], index)
        return torch.stack(each)

    def _images(self, index: Int[Tensor, "some"]) -> Float[Tensor, "some channels height width"]:
        return self._pixels.index_select(0, index).permute(0, 3, 1, 2)

    def _batches(
        self, order: Int[Tensor, "items"], chance: Float[Tensor, "all_items"]
    ) -> Iterator[tuple[Int[Tensor, "batch"], Labels]]:
        """Batches of items with their labels for this epoch; labels are sampled for many batches at a time."""
        size, active = self.group.recipe.batch_size, self.active
        per_item = len(active) * self.group.training_set.n_classes
        at_once = max(1, LABELED_AT_ONCE // (per_item * size)) * size
        for start in range(0, len(order), at_once):
            index = order[start : start + at_once].to(self.group.device)
            uniform = chance[order[start : start + at_once]].to(self.group.device)
            y = torch.stack([self._labels[run.number].at(index, uniform) for run in active])
            if self._weights is not None:
                # The loss is linear in the label.
                y = y * self._weights[index, None]
            for batch in range(0, len(index), size):
                yield index[batch : batch + size], y[:, batch : batch + size]

    def _precision(self) -> contextlib.AbstractContextManager[object]:
        name = self.group.recipe.precision
        if name == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.group.device.type, dtype=getattr(torch, name))

    # --- evaluation ---

    def _validation_losses(self) -> list[float]:
        """The loss of every run on the validation items, with its own labels; empty if there are none."""
        if self.group.validation is None:
            return []
        device, images = self.group.device, self.group.validation.images
        means = [self.group.validation.labels[run.number] for run in self.active]
        y = torch.from_numpy(np.stack(means).astype(np.float32)).to(device)
        losses = [
            cross_entropies(logits, y[:, start : start + logits.shape[1]]).sum(1)
            for start, logits in self._logits(images.to(device))
        ]
        return [float(loss) for loss in torch.stack(losses).sum(0) / len(images)]

    def _dynamics_at_end(self) -> DynamicsBuffer:
        recorded = self._empty_dynamics()
        index = self._train_items.to(self.group.device)
        for start, logits in self._logits(self._images(index)):
            recorded.record(logits, index[start : start + logits.shape[1]])
        recorded.store()
        return recorded

    def _empty_dynamics(self) -> DynamicsBuffer:
        return DynamicsBuffer.empty(self._networks.n_runs, self._train_items, self._gold, self._reference)

    def _logits(self, images: Tensor, networks: Networks | None = None) -> Iterator[tuple[int, Labels]]:
        """Logits of the active runs or of other `networks`, for some images at a time."""
        networks = networks or self._networks
        networks.eval()
        for start in range(0, len(images), EVALUATED_AT_ONCE):
            with torch.no_grad(), self._precision():
                logits = networks(images[start : start + EVALUATED_AT_ONCE])
            yield start, logits.float()

    def _factors(self, progress: float) -> list[float]:
        """The factor of each run's learning rate."""
        recipe = self.group.recipe
        return [recipe.schedule.factor(progress, recipe.epochs, run.validation_losses) for run in self.active]

    # --- runs that end ---

    def _remove_ended(self) -> None:
        """Remove runs that have ended, and stack the others again."""
        staying = [g for g, run in enumerate(self._stacked) if not run.ended]
        if len(staying) == len(self._stacked):
            return
        self._predict_last([run for run in self._stacked if run.ended])
        if staying:
            networks = [_network_with(self.group, self._networks.state_of(g)) for g in staying]
            optimizer_state = self._optimizer.state_of(staying)
            self._build(networks, [self._stacked[g] for g in staying])
            self._optimizer.load(optimizer_state)

    def _predict_last(self, ended: Sequence[RunState]) -> None:
        """Predict the test items with the weights that each run keeps."""
        if self.group.test_images is None:
            return
        for run in ended:
            state = run.best or self.group.new_network().state_dict()
            probs = self.predictions(SeparateNetworks([_network_with(self.group, state)]))[0]
            kept = run.predictions if self.group.recipe.predictions_each_epoch else []
            run.predictions = [*(kept[:-1] if run.ended == "finished" else kept), probs]

    def _build(self, networks: Sequence[nn.Module], stacked_runs: Sequence[RunState]) -> None:
        example = self._images(torch.arange(min(2, len(self._pixels)), device=self.group.device))
        self._networks = stack_networks(networks, example, stacked=self.group.recipe.stacked)
        self._networks.to(self.group.device)
        self._parallel = self._ranks.data_parallel(self._networks)
        self._stacked = list(stacked_runs)
        recipe = self.group.recipe
        heads = [
            ParameterSlice(parameter, g, 1)
            for g, run in enumerate(stacked_runs)
            if run.number in self._heads
            for parameter in self._heads[run.number].parameters()
        ]
        slices = [*parameter_slices(self._networks), *heads]
        self._optimizer = GroupOptimizer(slices, self._networks.n_runs, recipe.optimiser, recipe.clip)


def within(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The entries whose names start with `prefix`, without the prefix."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def _network_with(group: RunGroup, state: dict[str, Tensor]) -> nn.Module:
    network = group.new_network()
    network.load_state_dict(state)
    return network
