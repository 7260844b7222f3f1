"""Progress: how much work a grid is, and how far it has come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from sfumato.training.experiment import Experiment
from sfumato.training.grid import RunGroupKey
from sfumato.training.ranks import Ranks
from sfumato.training.run_folder import shape_of


@dataclass
class Progress:
    """How far the work has come, counted in work and not in stacks."""

    n_stacks: int
    total: float
    n_done: int = 0
    done: float = 0.0
    taken_up: float = 0.0
    """Work that was done before anybody looked at the clock, and is only gone on with."""
    begun_at: float = field(default_factory=time.monotonic)
    paced_at: float | None = None
    """When the first epoch was done: processes take seconds to start, which says nothing of the pace."""

    @property
    def share(self) -> float:
        return min(self.done / self.total, 1.0) if self.total else 1.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun_at

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; unknown before anything was done."""
        own = self.done - self.taken_up
        if self.paced_at is None or own <= 0:
            return None
        return (time.monotonic() - self.paced_at) * (self.total - self.done) / own


ProgressCallback = Callable[[Progress], None]


class ProgressCounter:
    """Keeps the progress of every stack, and the table of runs up to date."""

    def __init__(
        self,
        experiment: Experiment,
        stacks: list[RunGroupKey],
        cost: Callable[[RunGroupKey], float],
        told: ProgressCallback | None,
    ) -> None:
        self._experiment, self._cost, self._told = experiment, cost, told
        self._progress = Progress(len(stacks), sum(map(cost, stacks)))
        self._share: dict[RunGroupKey, float] = {}

    def epoch(self, stack: RunGroupKey, number: int, of: int) -> None:
        before, now = self._share.get(stack), number / of
        if self._progress.paced_at is None:
            self._progress.paced_at = time.monotonic()
            self._progress.taken_up += now * self._cost(stack)
        elif before is None and number > 1:
            self._progress.taken_up += now * self._cost(stack)
        self._add(stack, now - (before or 0.0))

    def stack_done(self, stack: RunGroupKey) -> None:
        self._progress.n_done += 1
        self._add(stack, 1.0 - self._share.get(stack, 0.0))
        if Ranks.here().writes:
            self._experiment.write_table()

    def _add(self, stack: RunGroupKey, share: float) -> None:
        self._share[stack] = self._share.get(stack, 0.0) + share
        self._progress.done += share * self._cost(stack)
        if self._told is not None:
            self._told(self._progress)


def costs_of(experiment: Experiment) -> Callable[[RunGroupKey], float]:
    """How much work a stack is: multiplications of a picture, times pictures, epochs and members."""
    shape = shape_of(experiment.data.images)
    n_classes = experiment.data.lesson.n_classes
    networks = experiment.grid.networks
    per_picture = {
        name: 1.0 if len(networks) == 1 else _operations(network, shape, n_classes)
        for name, network in networks.items()
    }

    def cost(stack: RunGroupKey) -> float:
        if stack.fold is None:
            assert experiment.before is not None
            assert experiment.grid.pretraining is not None
            n_seen = experiment.before.lesson.n_items * experiment.grid.pretraining.epochs
        else:
            n_seen = len(experiment.folds[stack.fold].train) * experiment.grid.recipe.epochs
        return per_picture[stack.network] * len(stack.targets) * n_seen

    return cost


def _operations(network: Any, shape: tuple[int, int, int], n_classes: int) -> float:
    with torch.random.fork_rng(devices=[]), torch.no_grad(), FlopCounterMode(display=False) as counter:
        network.build(shape, n_classes).eval()(torch.zeros(1, *shape))
    return float(counter.get_total_flops())
