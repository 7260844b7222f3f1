"""Runs the missing run groups of an experiment: in this process, in local worker processes, or on a Ray cluster.

Each process uses one thread: two threads under load are many times slower than one. A local worker that dies is
replaced once and resumes from its checkpoint; workers save a checkpoint when the program is stopped by a signal. On
Ray, the experiment's folder must be visible to every machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import signal
import threading
import time
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.jobs import check_engine, n_cores, run_jobs
from sfumato.tables.errors import NotNow, SfumatoError, warn
from sfumato.training.experiment import UNFINISHED, Experiment
from sfumato.training.grid import RunGroupKey
from sfumato.training.training_progress import STOPPED, ProgressCallback, ProgressCounter, costs_of

if TYPE_CHECKING:
    from sfumato.training.ranks import Ranks

LOCK = ".lock"
BLOCKED_SIGNALS = {signal.SIGINT, signal.SIGTERM}
"""Signals that are blocked while a worker is started."""
SAVING_SECONDS = 15.0
"""Time that workers have to save a checkpoint when they are stopped."""
MAX_DEATHS = 2
"""How often the worker of a run group may die before the group is given up."""


def run_experiment(
    experiment: Experiment, *, processes: int = 0, engine: str = "local", on_progress: ProgressCallback | None = None
) -> None:
    """Train the missing runs of an experiment, in `processes` processes (0: one per core).

    With `engine` "ray", run groups are trained on a cluster. Under torchrun, all ranks train each group together.
    """
    if experiment.grid.selection is not None:
        train = partial(run_experiment, processes=processes, engine=engine, on_progress=on_progress)
        _run_selected(experiment, train)
        return
    if not experiment.grid.has_networks:
        with _locked(experiment.folder):
            _fit_missing(experiment, processes or n_cores(), check_engine(engine), on_progress)
        return
    from sfumato.training.ranks import process_group

    with process_group() as ranks, _locked(experiment.folder) if ranks.writes else contextlib.nullcontext():
        _run_missing(experiment, processes or n_cores(), check_engine(engine), on_progress, ranks)
        if ranks.writes:
            with contextlib.suppress(OSError):
                (experiment.folder / UNFINISHED).rmdir()


def _run_selected(experiment: Experiment, train: Callable[[Experiment], None]) -> None:
    """Train the trials of the missing runs, and keep the best of each run."""
    from sfumato.training.selected_runs import select_runs

    if not experiment.grid.has_networks:
        with _locked(experiment.folder):
            select_runs(experiment, train)
        return
    from sfumato.training.ranks import process_group

    with process_group() as ranks, _locked(experiment.folder) if ranks.writes else contextlib.nullcontext():
        select_runs(experiment, train, writes=ranks.writes)
        ranks.wait()


def _fit_missing(experiment: Experiment, processes: int, engine: str, on_progress: ProgressCallback | None) -> None:
    """Fit the missing models; without networks, torch is not needed."""
    missing = experiment.missing(experiment.run_groups())
    experiment.write_table()
    experiment.write_label_sets()
    counter = ProgressCounter(experiment, missing, costs_of(experiment), on_progress)
    n_workers = min(processes, len(missing))
    results = run_jobs(experiment.train, missing, engine=engine, workers=n_workers) if missing else ()
    for key, _ in zip(missing, results, strict=True):
        counter.finish_group(key)


def _run_missing(
    experiment: Experiment, processes: int, engine: str, on_progress: ProgressCallback | None, ranks: Ranks
) -> None:
    keys = experiment.run_groups()
    phases = [[key for key in keys if key.fold is None], [key for key in keys if key.fold is not None]]
    # All phases are checked first, so that a run with other settings is reported now and not hours later.
    missing = [experiment.missing(phase) for phase in phases]
    ranks.wait()
    if ranks.writes:
        experiment.write_table()
        experiment.write_label_sets()
    cost = costs_of(experiment)
    keys = [key for phase in missing for key in phase]
    counter = ProgressCounter(experiment, keys, cost, on_progress, writes=ranks.writes)
    for phase in missing:
        longest_first = sorted(phase, key=lambda key: -cost(key))
        if engine == "ray" and phase:
            _on_cluster(experiment, longest_first, processes, counter)
        elif ranks.world > 1 or processes == 1 or len(phase) == 1:
            from sfumato.training.training_loop import one_torch_thread

            with one_torch_thread():
                for key in longest_first:
                    experiment.train(key, partial(counter.epoch, key))
                    counter.finish_group(key)
        elif phase:
            with _exit_on_sigterm():
                _WorkerPool(experiment, longest_first, min(processes, len(phase)), counter).run()


def _on_cluster(experiment: Experiment, keys: list[RunGroupKey], n_workers: int, counter: ProgressCounter) -> None:
    """Train each run group in a process with one CPU, and one GPU if the grid's device is one."""
    from sfumato.training.training_loop import use_one_torch_thread

    results = run_jobs(
        experiment.train,
        keys,
        engine="ray",
        workers=n_workers,
        gpus_per_job=1 if experiment.grid.device.startswith("cuda") else 0,
        on_worker_start=use_one_torch_thread,
    )
    for key, _ in zip(keys, results, strict=True):
        counter.finish_group(key)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other commands from working in `folder`; the operating system releases the lock when this process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found, expected = "another command that is training in this folder", "one command at a time"
            raise NotNow(found, expected, "wait for it, or choose another folder with -o", "at-work", folder) from None
        yield


# --- in worker processes ---


@dataclass(frozen=True)
class _Epoch:
    number: int
    n_epochs: int


@dataclass(frozen=True)
class _Warning:
    text: str


@dataclass(frozen=True)
class _Failed:
    error: BaseException
    text: str


@dataclass(frozen=True)
class _Done:
    pass


def _work(connection: Connection) -> None:
    """Main function of a worker: receives the experiment, then one run group at a time until None arrives."""
    from sfumato.training.training_loop import use_one_torch_thread

    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    use_one_torch_thread()
    warnings.showwarning = lambda message, *_, **__: connection.send(_Warning(str(message)))
    # If the main process has ended, the worker ends too; its checkpoints stay.
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        experiment: Experiment = connection.recv()
        while (key := connection.recv()) is not None:
            try:
                experiment.train(key, lambda epoch, n: connection.send(_Epoch(epoch, n)))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:  # noqa: BLE001
                known = isinstance(error, (SfumatoError, OSError, MemoryError))
                connection.send(_Failed(error if known else RuntimeError(repr(error)), traceback.format_exc()))
            else:
                connection.send(_Done())


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    key: RunGroupKey | None = None


class _WorkerPool:
    """Sends run groups to worker processes, receives their messages, and replaces workers that die."""

    def __init__(
        self, experiment: Experiment, keys: list[RunGroupKey], n_workers: int, counter: ProgressCounter
    ) -> None:
        self._experiment, self._waiting, self._counter = experiment, deque(keys), counter
        self._n_workers = n_workers
        self._workers: list[_Worker] = []
        self._deaths: Counter[RunGroupKey] = Counter()
        self._context = multiprocessing.get_context("spawn")

    def run(self) -> None:
        try:
            # All are started before the first gets the data: sending blocks until the worker has imported torch.
            for worker in [self._new_worker() for _ in range(self._n_workers)]:
                self._send_experiment(worker)
            while self._workers:
                by_connection = {worker.connection: worker for worker in self._workers}
                for ready in wait(list(by_connection)):
                    self._receive(by_connection[ready])  # type: ignore[index]
        except BaseException:
            self._stop_workers()
            raise

    def _new_worker(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs,), daemon=True)
        # Ctrl-C is sent to every process. Workers inherit the blocked signals and are stopped by the main process.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_SIGNALS)
        # Closed here, so that the death of the worker ends the connection.
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _send_experiment(self, worker: _Worker) -> None:
        # A worker that is already dead is noticed when its answer is read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.connection.send(self._experiment)
        self._send_next_group(worker)

    def _send_next_group(self, worker: _Worker) -> None:
        worker.key = self._waiting.popleft() if self._waiting else None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.connection.send(worker.key)
        if worker.key is None:
            self._workers.remove(worker)
            worker.process.join(SAVING_SECONDS)
            worker.connection.close()

    def _receive(self, worker: _Worker) -> None:
        assert worker.key is not None
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._replace(worker, worker.key)
            return
        if isinstance(message, _Epoch):
            self._counter.epoch(worker.key, message.number, message.n_epochs)
        elif isinstance(message, _Warning):
            warn(message.text)
        elif isinstance(message, _Failed):
            if isinstance(message.error, RuntimeError):
                message.error.add_note(message.text)
            raise message.error
        elif isinstance(message, _Done):
            self._counter.finish_group(worker.key)
            self._send_next_group(worker)

    def _replace(self, worker: _Worker, key: RunGroupKey) -> None:
        self._workers.remove(worker)
        worker.process.join(SAVING_SECONDS)
        worker.connection.close()
        self._deaths[key] += 1
        exit_code = worker.process.exitcode
        if self._deaths[key] >= MAX_DEATHS:
            found = f"that the process training {key.runs[0].name} died {MAX_DEATHS} times (exit code {exit_code})"
            fix = "there may be too little memory: use fewer --processes; run the command again to continue"
            raise NotNow(found, "the worker process to be running", fix, "worker-died")
        warn(f"the process training {key.runs[0].name} died (exit code {exit_code}); another process continues")
        self._waiting.appendleft(key)
        self._send_experiment(self._new_worker())

    def _stop_workers(self) -> None:
        """Ask every worker to save a checkpoint and exit, and wait for it."""
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
def _exit_on_sigterm() -> Iterator[None]:
    """In this block, SIGTERM ends the program after the workers have saved, as an interrupt does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise SystemExit(STOPPED)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
