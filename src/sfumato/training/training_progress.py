"""Progress of an experiment: estimated cost per run group, work done, and time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.tables.model_inputs import Images
from sfumato.training.grid import RunGroupKey
from sfumato.training.models import is_network

if TYPE_CHECKING:
    from sfumato.training.experiment import Experiment


@dataclass
class Progress:
    """Progress measured by estimated cost, not by the number of run groups."""

    n_groups: int
    total: float
    n_done: int = 0
    done: float = 0.0
    resumed: float = 0.0
    """Work that was done before this command started and is only continued."""
    started_at: float = field(default_factory=time.monotonic)
    first_epoch_at: float | None = None
    """When the first epoch was done. Starting processes takes seconds and is not part of the speed."""

    @property
    def share(self) -> float:
        return min(self.done / self.total, 1.0) if self.total else 1.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started_at

    @property
    def seconds_left(self) -> float | None:
        """At the speed so far; None before the first epoch is done."""
        new = self.done - self.resumed
        if self.first_epoch_at is None or new <= 0:
            return None
        return (time.monotonic() - self.first_epoch_at) * (self.total - self.done) / new


ProgressCallback = Callable[[Progress], None]
STOPPED = 75
"""The exit code of a process that was stopped and can be started again (EX_TEMPFAIL)."""


class ProgressCounter:
    """Updates the progress of every run group and the table of runs."""

    def __init__(
        self,
        experiment: Experiment,
        keys: list[RunGroupKey],
        cost: Callable[[RunGroupKey], float],
        on_progress: ProgressCallback | None,
        *,
        writes: bool = True,
    ) -> None:
        self._writes = writes
        self._experiment, self._cost, self._on_progress = experiment, cost, on_progress
        self._progress = Progress(len(keys), sum(map(cost, keys)))
        self._share: dict[RunGroupKey, float] = {}

    def epoch(self, key: RunGroupKey, number: int, n_epochs: int) -> None:
        before, now = self._share.get(key), number / n_epochs
        if self._progress.first_epoch_at is None:
            self._progress.first_epoch_at = time.monotonic()
            self._progress.resumed += now * self._cost(key)
        elif before is None and number > 1:
            self._progress.resumed += now * self._cost(key)
        self._add(key, now - (before or 0.0))

    def finish_group(self, key: RunGroupKey) -> None:
        self._progress.n_done += 1
        self._add(key, 1.0 - self._share.get(key, 0.0))
        if self._writes:
            self._experiment.write_table()

    def _add(self, key: RunGroupKey, share: float) -> None:
        self._share[key] = self._share.get(key, 0.0) + share
        self._progress.done += share * self._cost(key)
        if self._on_progress is not None:
            self._on_progress(self._progress)


def costs_of(experiment: Experiment) -> Callable[[RunGroupKey], float]:
    """The estimated cost of a run group: operations per image, times images, epochs and runs."""
    images, networks = experiment.data.images, experiment.grid.networks
    # Only images: there the networks that are compared can differ a hundredfold.
    is_estimated = experiment.data.kind == "images" and len(networks) > 1
    per_image = {
        name: _operations(network, images, experiment.data.n_classes) if is_estimated and is_network(network) else 1.0
        for name, network in networks.items()
    }

    def cost(key: RunGroupKey) -> float:
        if key.fold is None:
            assert experiment.pretraining_set is not None
            n_accesses = experiment.pretraining_set.n_items * experiment.grid.recipe_of(key).epochs
        else:
            n_epochs = experiment.grid.recipe_of(key).epochs if is_network(networks[key.network]) else 1
            n_accesses = len(experiment.folds[key.fold].train) * n_epochs
        return per_image[key.network] * len(key.targets) * n_accesses

    return cost


def _operations(network: Any, images: Images, n_classes: int) -> float:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from sfumato.training.network_run import shape_of

    shape = shape_of(images)
    with torch.random.fork_rng(devices=[]), torch.no_grad(), FlopCounterMode(display=False) as counter:
        network.build(shape, n_classes).eval()(torch.zeros(1, *shape))
    return float(counter.get_total_flops())
