"""Stacks carried out by a Ray cluster: one process a stack, on whatever machines it has.

Runs and checkpoints go to the experiment's folder, which every machine must see. A process that dies is started again
and takes its stack up from its checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sfumato.jobs import cluster, need_ray
from sfumato.tables.errors import NotNow, SfumatoError
from sfumato.training.experiment import Experiment
from sfumato.training.grid import RunGroupKey

NEW_STARTS = 3
"""So often a stack is taken up again after its process died."""


def carry_out_on_cluster(
    experiment: Experiment,
    stacks: Sequence[RunGroupKey],
    n_workers: int,
    *,
    done: Callable[[RunGroupKey], None],
    address: str | None = None,
) -> None:
    """Train the stacks, each in a process with one CPU (and a GPU, if the grid's device is one)."""
    need_ray()
    with cluster(n_workers, address):
        import ray

        sent = ray.put(experiment)
        n_gpus = 1 if experiment.grid.device.startswith("cuda") else 0
        process = ray.remote(_carried_out).options(
            num_cpus=1, num_gpus=n_gpus, max_retries=NEW_STARTS, scheduling_strategy="SPREAD"
        )
        coming = {process.remote(sent, stack): stack for stack in stacks}
        waiting = list(coming)
        while waiting:
            (ready, *_), waiting = ray.wait(waiting)
            _check(ready, coming[ready])
            done(coming[ready])


def _carried_out(experiment: Experiment, stack: RunGroupKey) -> SfumatoError | None:
    """In a process of the cluster. Errors of ours are handed back whole, for Ray would wrap them."""
    import torch

    torch.set_num_threads(1)
    try:
        experiment.carry_out(stack)
    except SfumatoError as error:
        return error
    return None


def _check(reference: Any, stack: RunGroupKey) -> None:
    import ray

    try:
        error = ray.get(reference)
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError) as lost:
        raise NotNow(
            f"found that the process which trains {stack.runs[0].name} died {NEW_STARTS + 1} times",
            expected="a process that lives",
            fix="give workers more memory (Ray's logs say why they died); run the command again to go on",
            code="worker-died",
        ) from lost
    if error is not None:
        raise error
