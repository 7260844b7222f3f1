"""Passes on a Ray cluster: answers lie there in parts by item, and only what a pass adds up comes back."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.aggregate.answers import Answers
from sfumato.aggregate.em import at_least_one
from sfumato.aggregate.engine import LocalEngine, Parts, Pass, Sums, quiet
from sfumato.errors import BadSetting, MissingExtra, show

MOST_RETRIES = 20
"""So often a worker may die in one and the same pass; who dies more often will not live to end it."""
CONNECTION_SECONDS = 10.0


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
        at_least_one("workers", self.n_workers)
        if find_spec("ray") is None:
            raise MissingExtra(
                "found no ray",
                expected="ray, for --engine ray",
                fix='pip install "sfumato[scale]", or use the local engine',
                code="missing-extra",
            )

    def open(self, answers: Answers) -> RayParts:
        ranges = answers.blocks(-(-len(answers.key) // self.n_workers))
        with ExitStack() as stack:
            stack.enter_context(self._cluster())
            _check_cpus(len(ranges))
            held = [_held(answers.part(first, last), first, stack) for first, last in ranges]
            return RayParts(held, answers.n_items, answers.n_classes, stack.pop_all())

    def _cluster(self) -> AbstractContextManager[None]:
        # Not imported to find out: `local_cluster` has settings to make before Ray is.
        if "ray" in sys.modules and sys.modules["ray"].is_initialized():
            return nullcontext()
        address = self.address or os.environ.get("RAY_ADDRESS")
        return _connection(address) if address else local_cluster(self.n_workers)


@dataclass(frozen=True, eq=False)
class Held:
    """A part on the cluster: where it begins, its copy in the object store, and the process that runs passes on it."""

    first: int
    stored: Any
    holder: Any


class RayParts:
    """Ranges of items with about as many answers each, one a process; `until_closed` ends what was begun for them."""

    def __init__(self, held: Sequence[Held], n_items: int, n_classes: int, until_closed: ExitStack) -> None:
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

            answers: Answers = ray.get(stored[0])
            self._parts = answers.engine.open(answers)
        return self._parts.run(work, kept=kept, counted=counted)


@contextmanager
def local_cluster(n_cpus: int, store_bytes: int | None = None) -> Iterator[None]:
    """A cluster of this machine alone, gone with all its files at the end; every `RayEngine` opened within uses it.

    It listens on the loopback interface, asks for a secret that only this program and its workers know, and reports
    to nobody. `store_bytes` limits the memory that workers share (Ray's own limit: 30% of the machine's).
    """
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        # What Ray does on laptops: servers listen on 127.0.0.1, and not on every interface.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # Else Ray leaves a secret behind in the home folder.
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }.items():
        os.environ.setdefault(name, value)
    import ray

    # Paths of sockets may not be long, which folders for temporary files can be.
    short = "/tmp" if os.path.isdir("/tmp") else None
    with TemporaryDirectory(prefix="sfumato-", dir=short, ignore_cleanup_errors=True) as place:
        ray.init(
            address="local",
            num_cpus=n_cpus,
            num_gpus=0,
            object_store_memory=store_bytes,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _node_ip_address="127.0.0.1",
            _temp_dir=place,
        )
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _connection(address: str) -> Iterator[None]:
    import ray

    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if port.isdecimal():
            # Ray itself would try for minutes.
            socket.create_connection((host, int(port)), CONNECTION_SECONDS).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, ValueError) as error:
        raise BadSetting(
            f"found no Ray cluster at {show(address)}",
            expected="the address of a running cluster",
            fix="start one with ray start --head, or leave the address (and RAY_ADDRESS) out",
            code="no-cluster",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_cpus(n_parts: int) -> None:
    """Raise if the cluster can never run `n_parts` processes at once; they would wait for ever."""
    import ray

    n_cpus = int(ray.cluster_resources().get("CPU", 0))
    if n_cpus < n_parts:
        raise BadSetting(
            f"found a Ray cluster of {n_cpus} CPUs for {n_parts} workers",
            expected="a CPU a worker",
            fix="use fewer workers, or a larger cluster",
            code="bad-setting",
        )


def _held(part: Answers, first: int, stack: ExitStack) -> Held:
    """`part` on the cluster, until `stack` closes."""
    import ray

    process = ray.remote(PartHolder).options(
        num_cpus=1, max_restarts=-1, max_task_retries=MOST_RETRIES, scheduling_strategy="SPREAD"
    )
    held = Held(first, ray.put(_stripped(part)), process.remote())
    stack.callback(ray.kill, held.holder)
    return held


def _stripped(part: Answers) -> Answers:
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
            f"found a Ray worker that died {MOST_RETRIES + 1} times in one pass, or could not be started",
            expected="workers that live, if need be after a few new starts",
            fix="give them more memory, with more workers on more machines; Ray's logs say why they died",
            code="lost-worker",
        ) from error
    return sums
