"""Independent jobs in local processes or on a Ray cluster (`run_jobs`), and the connection to Ray.

Used by training, planning, aggregation and reports. Does not import torch: callers pass `on_worker_start`. Ray is
imported only where it is used, because a local cluster sets environment variables first.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import secrets
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from sfumato.tables.errors import BadSetting, NotNow, SfumatoError, missing_extra, show, unknown

Job = TypeVar("Job")
Result = TypeVar("Result")
ProgressCallback = Callable[[int, int], None]
"""Called with the number of finished jobs and the number of all jobs."""

ENGINES = ("local", "ray")
RESTARTS = 3
"""How often a worker that died is replaced before its job is given up."""
QUEUED = 8
"""Jobs submitted per worker, so that no worker waits for the next one."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
CONNECTION_SECONDS = 10.0


def run_jobs(
    run: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    engine: str = "local",
    workers: int = 0,
    gpus_per_job: int = 0,
    on_worker_start: Callable[[], None] | None = None,
    on_progress: ProgressCallback | None = None,
) -> Iterator[Result]:
    """The results of `run` for all jobs in order, each as soon as it and all earlier ones are done.

    Results depend neither on the engine nor on the number of workers (0: one per core). Workers receive `run` and the
    jobs by pickling. A worker that dies is replaced and its jobs are run again. `on_worker_start` is called in every
    worker process.
    """
    n_jobs, n_workers = len(jobs), workers or n_cores()
    if check_engine(engine) == "ray":
        results = _on_cluster(run, jobs, n_workers, gpus_per_job, on_worker_start)
    elif min(n_workers, n_jobs) <= 1:
        results = map(run, jobs)
    else:
        results = _in_processes(run, jobs, n_workers, on_worker_start)
    report = on_progress or (lambda _done, _total: None)
    report(0, n_jobs)
    for n_done, result in enumerate(results, start=1):
        report(n_done, n_jobs)
        yield result


def check_engine(name: str) -> str:
    """`name`, or an error if there is no such engine."""
    if name not in ENGINES:
        raise unknown("engine", name, list(ENGINES))
    return name


def n_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- local processes ---


def _in_processes(
    run: Callable[[Job], Result], jobs: Sequence[Job], n_workers: int, on_worker_start: Callable[[], None] | None
) -> Iterator[Result]:
    n_done, n_deaths = 0, 0
    context = multiprocessing.get_context("spawn")
    while n_done < len(jobs):
        n_processes = min(n_workers, len(jobs) - n_done)
        pool = ProcessPoolExecutor(
            n_processes, mp_context=context, initializer=_start_worker, initargs=(run, on_worker_start)
        )
        try:
            with _one_thread_per_process():
                rest = iter(jobs[n_done:])
                queue: deque[Future[Result]] = deque(
                    pool.submit(_run_in_worker, job) for job in islice(rest, QUEUED * n_processes)
                )
            while queue:
                result = queue.popleft().result()
                queue.extend(pool.submit(_run_in_worker, job) for job in islice(rest, 1))
                n_done, n_deaths = n_done + 1, 0
                yield result
        except BrokenProcessPool as lost:
            n_deaths += 1
            if n_deaths > RESTARTS:
                raise _worker_died() from lost
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _one_thread_per_process() -> Iterator[None]:
    """Processes started in this block use one thread for linear algebra: there are as many processes as cores."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_WORKER: dict[str, Any] = {}
"""The function this worker process runs; sent once."""


def _start_worker(run: Callable[[Any], Any], on_worker_start: Callable[[], None] | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if on_worker_start is not None:
        on_worker_start()
    _WORKER["run"] = run
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """End this worker when the process that started it ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_in_worker(job: Any) -> Any:
    return _WORKER["run"](job)


def _worker_died() -> NotNow:
    fix, code = "there may be too little memory: use fewer processes; run the command again to continue", "worker-died"
    return NotNow(f"that a worker process died {RESTARTS + 1} times", "the worker processes to be running", fix, code)


# --- Ray ---


def _on_cluster(
    run: Callable[[Job], Result],
    jobs: Sequence[Job],
    n_workers: int,
    gpus_per_job: int,
    on_worker_start: Callable[[], None] | None,
) -> Iterator[Result]:
    need_ray()
    with cluster(n_workers):
        import ray

        sent = ray.put(run)
        remote = ray.remote(_run_on_cluster).options(
            num_cpus=1, num_gpus=gpus_per_job, max_retries=RESTARTS, scheduling_strategy="SPREAD"
        )
        rest = iter(jobs)
        n_queued = QUEUED * max(n_workers, int(ray.cluster_resources().get("CPU", 1)))
        queue = deque(remote.remote(sent, on_worker_start, job) for job in islice(rest, n_queued))
        lost = (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError)
        while queue:
            try:
                result = ray.get(queue.popleft())
            except lost as error:
                raise _worker_died() from error
            if isinstance(result, SfumatoError):
                raise result
            queue.extend(remote.remote(sent, on_worker_start, job) for job in islice(rest, 1))
            yield result


def _run_on_cluster(run: Callable[[Any], Any], on_worker_start: Callable[[], None] | None, job: Any) -> Any:
    """Run one job in a worker of the cluster. Our errors are returned as values: Ray would wrap them."""
    if on_worker_start is not None:
        on_worker_start()
    try:
        return run(job)
    except SfumatoError as error:
        return error


def need_ray() -> None:
    """Raise an error if Ray is not installed."""
    if find_spec("ray") is None:
        raise missing_extra("ray", "for the engine ray", "scale", ", or use the local engine")


def cluster(n_cpus: int, address: str | None = None) -> AbstractContextManager[None]:
    """The cluster this program is connected to, else the one at `address` (or `$RAY_ADDRESS`; sfumato must be installed
    on its machines), else a local one that ends with the block."""
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        return nullcontext()
    address = address or os.environ.get("RAY_ADDRESS")
    return connection(address) if address else local_cluster(n_cpus)


@contextmanager
def local_cluster(n_cpus: int, store_bytes: int | None = None) -> Iterator[None]:
    """A cluster on this machine; it and its files are removed at the end of the block.

    It listens on the loopback interface only, requires a random token, and sends no usage statistics. `store_bytes`
    limits the memory that workers share (by default 30% of the machine's).
    """
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        # Servers listen on 127.0.0.1, not on every interface.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # Without this, Ray stores a token in the home folder.
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }.items():
        os.environ.setdefault(name, value)
    import ray

    # Socket paths must be short; the default temporary folder may be too long.
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
def connection(address: str) -> Iterator[None]:
    """Connect to the cluster at an address."""
    import ray

    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if port.isdecimal():
            # Ray itself would retry for minutes.
            socket.create_connection((host, int(port)), CONNECTION_SECONDS).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, ValueError) as error:
        fix, code = "start one with ray start --head, or omit the address and RAY_ADDRESS", "no-cluster"
        raise BadSetting(f"no Ray cluster at {show(address)}", "the address of a running cluster", fix, code) from error
    try:
        yield
    finally:
        ray.shutdown()


def check_cpus(n_workers: int) -> None:
    """Raise an error if the cluster has too few CPUs for `n_workers` processes, which would wait forever."""
    import ray

    n_cpus = int(ray.cluster_resources().get("CPU", 0))
    if n_cpus < n_workers:
        found = f"a Ray cluster of {n_cpus} CPUs for {n_workers} workers"
        raise BadSetting(found, "one CPU per worker", "use fewer workers, or a larger cluster")
