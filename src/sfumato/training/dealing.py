"""Dealing out: one job after the other, in this process or in several, with one torch thread each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

import torch

from sfumato.tables.errors import NotNow

Job = TypeVar("Job")


class JobList(Protocol[Job]):
    """What there is to do, of jobs that do not need each other; goes to other processes by pickling."""

    def missing(self) -> Sequence[Job]: ...

    def carry_out(self, job: Job) -> None: ...


ProgressCallback = Callable[[int, int], None]
"""Is told how many jobs are done, and of how many."""


def run_jobs(work: JobList[Job], *, processes: int = 0, on_progress: ProgressCallback | None = None) -> int:
    """Do what is missing, and say how many jobs that were; `processes` 0 is one a core."""
    jobs = work.missing()
    tell = on_progress or (lambda _done, _of: None)
    tell(0, len(jobs))
    n_workers = min(processes or _cores(), len(jobs))
    if n_workers <= 1:
        _here(work, jobs, tell)
    else:
        _in_processes(work, jobs, n_workers, tell)
    return len(jobs)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _here(work: JobList[Job], jobs: Sequence[Job], tell: ProgressCallback) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for n_done, job in enumerate(jobs, start=1):
            work.carry_out(job)
            tell(n_done, len(jobs))
    finally:
        torch.set_num_threads(threads)


def _in_processes(work: JobList[Job], jobs: Sequence[Job], n_workers: int, tell: ProgressCallback) -> None:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_workers, mp_context=context, initializer=_begin, initargs=(work,))
    try:
        coming = [pool.submit(_carry_out, job) for job in jobs]
        for n_done, future in enumerate(as_completed(coming), start=1):
            future.result()
            tell(n_done, len(jobs))
    except BrokenProcessPool as error:
        raise NotNow(
            "found that a process died",
            expected="processes that live",
            fix="there may be too little memory: use fewer --processes; run the command again to go on",
            code="worker-died",
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


# --- in a process of the pool ---

_WORK: dict[str, Any] = {}
"""What this process works on, sent to it once."""


def _begin(work: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    _WORK["work"] = work
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """Who started this process is gone, however it ended: nobody waits for the rest."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _carry_out(job: Any) -> None:
    _WORK["work"].carry_out(job)
