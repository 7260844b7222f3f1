"""Passes on a Ray cluster: answers lie there in parts by item, and only what a pass adds up comes back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.engine import LocalEngine, Parts, Pass, Sums, quiet
from sfumato.jobs import check_cpus, cluster, need_ray
from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import at_least

MOST_RETRIES = 20
"""So often a worker may die in one and the same pass; who dies more often will not live to end it."""


@dataclass(frozen=True)
class RayEngine:
    """Processes of a Ray cluster, each holding the answers to its own items for as long as passes run.

    A pass with its tables goes to every process once, and its sums come back; posteriors travel only where they are
    kept. A process that dies is started again, with the same answers, and does the pass it was in over, so nothing is
    lost or counted twice. Uses the cluster this program is connected to, else connects to `address` (or to
    `$RAY_ADDRESS`; its machines need sfumato too), else starts one on this machine until the parts are closed.

    Prefer `LocalEngine` where the answers fit into one machine: its threads share memory and start at once.
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
    """A part on the cluster: where it begins, its copy in the object store, and the process that runs passes on it."""

    first: int
    stored: Any
    holder: Any


class RayParts:
    """Ranges of items with about as many answers each, one a process; `until_closed` ends what was begun for them."""

    def __init__(self, held: Sequence[RemotePart], n_items: int, n_classes: int, until_closed: ExitStack) -> None:
        self.held = held
        self._n_items = n_items
        self._n_classes = n_classes
        self._until_closed = until_closed

    def run(self, work: Pass, *, kept: bool = False, counted: bool = True) -> Sums:
        import ray

        sent = ray.put(work)
        # In a list, the part is only named and not sent along.
        coming = [part.holder.run.remote([part.stored], sent, kept=kept, counted=counted) for part in self.held]
        posterior = np.empty((self._n_items if kept else 0, self._n_classes))
        total = None
        # In the order of the parts, whoever is done first: the same sums come out of every run.
        for part, one in zip(self.held, coming, strict=True):
            sums = _received(one)
            if sums.posterior is not None:
                posterior[part.first : part.first + len(sums.posterior)] = sums.posterior
            sums = replace(sums, posterior=None)
            # What arrives is the cluster's memory, which nobody may write to.
            total = replace(sums, counts=sums.counts.copy()) if total is None else total.plus(sums)
        assert total is not None
        return replace(total, posterior=posterior if kept else None)

    def close(self) -> None:
        self._until_closed.close()


class PartHolder:
    """One part in a process of its own; a process that was started again takes it from the store as the first did."""

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
    """What passes look at: names do not travel, and progress is shown where EM climbs."""
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
        raise BadSetting(
            f"a Ray worker that died {MOST_RETRIES + 1} times in one pass, or could not be started",
            "workers that live, if need be after a few new starts",
            "give them more memory, with more workers on more machines; Ray's logs say why they died",
            "lost-worker",
        ) from error
    return sums
