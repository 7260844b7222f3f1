"""Passes on a Ray cluster: each process holds the answers to some items, and returns only sums."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.pass_engine import LocalEngine, Parts, Pass, Sums, quiet
from sfumato.jobs import check_cpus, cluster, need_ray
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import at_least

MOST_RETRIES = 20
"""How often a worker may die in the same pass before the aggregation fails."""


@dataclass(frozen=True)
class RayEngine:
    """Processes of a Ray cluster, each holding the answers to its own items while passes run.

    Each pass is sent to every process once and returns its sums; posteriors are returned only on request. A process
    that dies is restarted with the same answers and repeats its pass, so nothing is lost or counted twice. Uses the
    connected cluster, else `address` (or `$RAY_ADDRESS`; its machines need sfumato too), else starts a cluster on this
    machine until the parts are closed.

    Prefer `LocalEngine` if the answers fit into one machine: its threads share memory and start at once.
    """

    n_workers: int = 2
    address: str | None = None

    def __post_init__(self) -> None:
        at_least("workers", self.n_workers, 1)
        need_ray()

    def open(self, answers: AnswerMatrix) -> RayParts:
        ranges = answers.blocks(-(-len(answers.key) // self.n_workers))
        with ExitStack() as stack:
            stack.enter_context(cluster(self.n_workers, self.address))
            check_cpus(len(ranges))
            held = [_held(answers.part(first, last), first, stack) for first, last in ranges]
            return RayParts(held, answers.n_items, answers.n_classes, stack.pop_all())


@dataclass(frozen=True, eq=False)
class RemotePart:
    """A part on the cluster: its first item, its copy in the object store, and the process that runs its passes."""

    first: int
    stored: Any
    holder: Any


class RayParts:
    """Ranges of items with about the same number of answers, one per process; `until_closed` ends the processes."""

    def __init__(self, held: Sequence[RemotePart], n_items: int, n_classes: int, until_closed: ExitStack) -> None:
        self.held = held
        self._n_items = n_items
        self._n_classes = n_classes
        self._until_closed = until_closed

    def run(self, work: Pass, *, kept: bool = False, counted: bool = True) -> Sums:
        import ray

        sent = ray.put(work)
        # In a list, the part is passed as a reference and not sent.
        coming = [part.holder.run.remote([part.stored], sent, kept=kept, counted=counted) for part in self.held]
        posterior = np.empty((self._n_items if kept else 0, self._n_classes))
        total = None
        # In the order of the parts, so that every run gives the same sums.
        for part, one in zip(self.held, coming, strict=True):
            sums = _received(one)
            if sums.posterior is not None:
                posterior[part.first : part.first + len(sums.posterior)] = sums.posterior
            sums = replace(sums, posterior=None)
            # The result is read-only memory of the cluster.
            total = replace(sums, counts=sums.counts.copy()) if total is None else total.plus(sums)
        assert total is not None
        return replace(total, posterior=posterior if kept else None)

    def close(self) -> None:
        self._until_closed.close()


class PartHolder:
    """One part in its own process; a restarted process reads it from the object store again."""

    def __init__(self) -> None:
        self._parts: Parts | None = None

    def run(self, stored: Sequence[Any], work: Pass, *, kept: bool, counted: bool) -> Sums:
        if self._parts is None:
            import ray

            answers: AnswerMatrix = ray.get(stored[0])
            self._parts = answers.engine.open(answers)
        return self._parts.run(work, kept=kept, counted=counted)


def _held(part: AnswerMatrix, first: int, stack: ExitStack) -> RemotePart:
    """`part` on the cluster, until `stack` closes."""
    import ray

    process = ray.remote(PartHolder).options(
        num_cpus=1, max_restarts=-1, max_task_retries=MOST_RETRIES, scheduling_strategy="SPREAD"
    )
    held = RemotePart(first, ray.put(_stripped(part)), process.remote())
    stack.callback(ray.kill, held.holder)
    return held


def _stripped(part: AnswerMatrix) -> AnswerMatrix:
    """The part without names and progress, which passes do not need."""
    return replace(
        part,
        items=pa.nulls(part.n_items, pa.string()),
        annotators=pa.nulls(part.n_annotators, pa.string()),
        engine=LocalEngine(1),
        progress=quiet,
    )


def _received(reference: Any) -> Sums:
    import ray

    try:
        sums: Sums = ray.get(reference)
    except ray.exceptions.RayActorError as error:
        found = f"a Ray worker that died {MOST_RETRIES + 1} times in one pass, or could not be started"
        expected = "running worker processes, if needed after a few restarts"
        fix = "use more workers on more machines, so that each needs less memory; see Ray's logs for the reason"
        raise BadSetting(found, expected, fix, "lost-worker") from error
    return sums
