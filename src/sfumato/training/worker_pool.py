"""Stacks carried out by a Ray cluster: one process a stack, on whatever machines it has.

Runs and checkpoints go to the experiment's folder, which every machine must see. A process that dies is started again
and takes its stack up from its checkpoint.

Workers: stacks carried out by processes of this machine, one a core with one torch thread each.

Two torch threads under load are many times slower than one. A worker that dies is replaced and its stack taken up from
its checkpoint, once; when the program is asked to stop, workers save where they are first.
"""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from sfumato.jobs import cluster, need_ray
from sfumato.tables.errors import ErrorLocation, NotNow, SfumatoError, SfumatoWarning, unknown
from sfumato.training.experiment import UNFINISHED, Experiment
from sfumato.training.grid import RunGroupKey
from sfumato.training.ranks import Ranks, together
from sfumato.training.resumable_run import LEFT
from sfumato.training.training_progress import ProgressCallback, ProgressCounter, costs_of

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


ENGINES = ("local", "ray")
LOCK = ".lock"
HELD_BACK = {signal.SIGINT, signal.SIGTERM}
"""Signals that wait while a worker is started."""
SAVING_SECONDS = 15.0
"""So long workers may take to save when they are asked to leave."""
DEATHS = 2
"""So often the worker of a stack may die: then it will not live to end it."""


def run_experiment(
    experiment: Experiment, *, processes: int = 0, engine: str = "local", on_progress: ProgressCallback | None = None
) -> None:
    """Do whatever is missing of an experiment; `processes` 0 is one a core.

    `engine` "ray" hands stacks to a cluster. Under torchrun all ranks train each stack together.
    """
    with together() as ranks, _alone_in(experiment.folder) if ranks.writes else contextlib.nullcontext():
        _carry_out(experiment, processes or _cores(), _engine(engine), on_progress, ranks)
        if ranks.writes:
            with contextlib.suppress(OSError):
                (experiment.folder / UNFINISHED).rmdir()


def _engine(name: str) -> str:
    if name not in ENGINES:
        raise unknown("engine", name, list(ENGINES))
    return name


def _carry_out(
    experiment: Experiment, processes: int, engine: str, on_progress: ProgressCallback | None, ranks: Ranks
) -> None:
    phases = [experiment.grid.pretraining_stacks(), experiment.grid.stacks(len(experiment.folds))]
    # All of it looked at before any of it is done: a run made otherwise must not be found hours later.
    todo = [experiment.missing(phase) for phase in phases]
    ranks.wait()
    if ranks.writes:
        experiment.write_table()
    cost = costs_of(experiment)
    count = ProgressCounter(experiment, [stack for phase in todo for stack in phase], cost, on_progress)
    for phase in todo:
        longest_first = sorted(phase, key=lambda stack: -cost(stack))
        if engine == "ray" and phase:
            carry_out_on_cluster(experiment, longest_first, processes, done=count.stack_done)
        elif ranks.world > 1 or processes == 1 or len(phase) == 1:
            _here(experiment, longest_first, count)
        elif phase:
            with _asked_to_leave():
                _Crew(experiment, longest_first, min(processes, len(phase)), count).work()


def _cores() -> int:
    """The cores that this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """While this lasts, no other command works in `folder`; the lock goes with the process, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotNow(
                "found another command at work there",
                expected="one at a time",
                fix="wait for it, or choose another folder with -o",
                code="at-work",
                where=ErrorLocation(str(folder)),
            ) from None
        yield


# --- in this process ---


def _here(experiment: Experiment, stacks: list[RunGroupKey], count: ProgressCounter) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for stack in stacks:
            experiment.carry_out(stack, lambda epoch, n, stack=stack: count.epoch(stack, epoch, n))  # type: ignore[misc]
            count.stack_done(stack)
    finally:
        torch.set_num_threads(threads)


# --- in others ---


@dataclass(frozen=True)
class _Epoch:
    number: int
    of: int


@dataclass(frozen=True)
class _Warned:
    text: str


@dataclass(frozen=True)
class _Failed:
    error: BaseException
    text: str


@dataclass(frozen=True)
class _Done:
    pass


def _work(connection: Connection) -> None:
    """What a worker does: hears what it is all about, then one stack after the other, until there are no more."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    torch.set_num_threads(1)
    warnings.showwarning = lambda message, *_, **__: connection.send(_Warned(str(message)))
    # Whoever started it is gone: so goes the worker, and leaves its checkpoints.
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        experiment: Experiment = connection.recv()
        while (stack := connection.recv()) is not None:
            try:
                experiment.carry_out(stack, lambda epoch, n: connection.send(_Epoch(epoch, n)))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:  # noqa: BLE001
                kept = error if isinstance(error, (SfumatoError, OSError, MemoryError)) else RuntimeError(repr(error))
                connection.send(_Failed(kept, traceback.format_exc()))
            else:
                connection.send(_Done())


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    stack: RunGroupKey | None = None


class _Crew:
    """Workers at work: hands out stacks, hears of them, and replaces who dies."""

    def __init__(
        self, experiment: Experiment, stacks: list[RunGroupKey], n_workers: int, count: ProgressCounter
    ) -> None:
        self._experiment, self._waiting, self._count = experiment, deque(stacks), count
        self._n_workers = n_workers
        self._workers: list[_Worker] = []
        self._deaths: Counter[RunGroupKey] = Counter()
        self._context = multiprocessing.get_context("spawn")

    def work(self) -> None:
        try:
            # All are started before the first is told of the data: that waits until it has loaded torch.
            for worker in [self._hired() for _ in range(self._n_workers)]:
                self._begin(worker)
            while self._workers:
                by_connection = {worker.connection: worker for worker in self._workers}
                for ready in wait(list(by_connection)):
                    self._hear(by_connection[ready])  # type: ignore[index]
        except BaseException:
            self._send_home()
            raise

    def _hired(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs,), daemon=True)
        # An interrupt from the keyboard goes to every process: workers inherit that it is blocked, and are asked by us.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
        # Ours alone must hold this end, or a worker's death would not be heard of.
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _begin(self, worker: _Worker) -> None:
        # If it is dead already, that is heard of when it should answer.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.connection.send(self._experiment)
        self._hand_out(worker)

    def _hand_out(self, worker: _Worker) -> None:
        worker.stack = self._waiting.popleft() if self._waiting else None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.connection.send(worker.stack)
        if worker.stack is None:
            self._workers.remove(worker)
            worker.process.join(SAVING_SECONDS)
            worker.connection.close()

    def _hear(self, worker: _Worker) -> None:
        assert worker.stack is not None
        try:
            said = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._replace(worker, worker.stack)
            return
        if isinstance(said, _Epoch):
            self._count.epoch(worker.stack, said.number, said.of)
        elif isinstance(said, _Warned):
            warnings.warn(said.text, SfumatoWarning, stacklevel=2)
        elif isinstance(said, _Failed):
            if isinstance(said.error, RuntimeError):
                said.error.add_note(said.text)
            raise said.error
        elif isinstance(said, _Done):
            self._count.stack_done(worker.stack)
            self._hand_out(worker)

    def _replace(self, worker: _Worker, stack: RunGroupKey) -> None:
        self._workers.remove(worker)
        worker.process.join(SAVING_SECONDS)
        worker.connection.close()
        self._deaths[stack] += 1
        how = worker.process.exitcode
        if self._deaths[stack] >= DEATHS:
            raise NotNow(
                f"found that the process which trains {stack.runs[0].name} died {DEATHS} times (exit code {how})",
                expected="a process that lives",
                fix="there may be too little memory: use fewer --processes; run the command again to go on",
                code="worker-died",
            )
        warnings.warn(
            f"the process which trains {stack.runs[0].name} died (exit code {how}); another one goes on with it",
            SfumatoWarning,
            stacklevel=2,
        )
        self._waiting.appendleft(stack)
        self._begin(self._hired())

    def _send_home(self) -> None:
        """Ask every worker to save and leave, and wait for it."""
        for worker in self._workers:
            worker.process.terminate()
        until = time.monotonic() + SAVING_SECONDS
        for worker in self._workers:
            worker.process.join(max(0.1, until - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.connection.close()


@contextlib.contextmanager
def _asked_to_leave() -> Iterator[None]:
    """While this lasts, SIGTERM ends the program as an interrupt does: after the workers have saved."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(*_: Any) -> None:
        raise SystemExit(LEFT)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
