"""Engines of grids: many small pieces of work, done by processes of this machine or by a Ray cluster, told in order.

What comes back does not depend on the engine, nor on how many processes there are. A process that dies is replaced and
its pieces are done again.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from sfumato.jobs import cluster, need_ray
from sfumato.tables.errors import NotNow, SfumatoError, unknown

Piece = TypeVar("Piece")
Result = TypeVar("Result")

ENGINES = ("processes", "ray")
NEW_STARTS = 3
"""So often a process may die before a piece is given up."""
AT_ONCE = 8
"""So many pieces a process wait for it, so that none has to wait for us."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def engine_named(name: str) -> str:
    """`name`, or an error unless there is such an engine."""
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    return name


def in_order(
    work: Callable[[Piece], Result], pieces: Sequence[Piece], *, engine: str, n_processes: int
) -> Iterator[Result]:
    """The results of all pieces, in their order, each as soon as it and all before it are there."""
    if engine_named(engine) == "ray":
        return _on_cluster(work, pieces, n_processes)
    if n_processes == 1:
        return map(work, pieces)
    return _by_processes(work, pieces, n_processes)


def _by_processes(work: Callable[[Piece], Result], pieces: Sequence[Piece], n_processes: int) -> Iterator[Result]:
    n_done, n_deaths = 0, 0
    context = multiprocessing.get_context("spawn")
    while n_done < len(pieces):
        pool = ProcessPoolExecutor(min(n_processes, len(pieces) - n_done), mp_context=context)
        try:
            with _one_thread_each():
                left = iter(pieces[n_done:])
                waiting: deque[Future[Result]] = deque(
                    pool.submit(work, piece) for piece in islice(left, AT_ONCE * n_processes)
                )
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(pool.submit(work, piece) for piece in islice(left, 1))
                n_done, n_deaths = n_done + 1, 0
                yield result
        except BrokenProcessPool as lost:
            n_deaths += 1
            if n_deaths > NEW_STARTS:
                raise _died() from lost
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that are started meanwhile use one thread each for linear algebra: there are as many as cores."""
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


def _on_cluster(work: Callable[[Piece], Result], pieces: Sequence[Piece], n_processes: int) -> Iterator[Result]:
    need_ray()
    with cluster(n_processes):
        import ray

        sent = ray.put(work)
        process = ray.remote(_done).options(num_cpus=1, max_retries=NEW_STARTS, scheduling_strategy="SPREAD")
        left = iter(pieces)
        n_at_once = AT_ONCE * max(n_processes, int(ray.cluster_resources().get("CPU", 1)))
        waiting = deque(process.remote(sent, piece) for piece in islice(left, n_at_once))
        while waiting:
            try:
                result = ray.get(waiting.popleft())
            except (
                ray.exceptions.WorkerCrashedError,
                ray.exceptions.NodeDiedError,
                ray.exceptions.OutOfMemoryError,
            ) as lost:
                raise _died() from lost
            if isinstance(result, SfumatoError):
                raise result
            waiting.extend(process.remote(sent, piece) for piece in islice(left, 1))
            yield result


def _done(work: Callable[[Any], Any], piece: Any) -> Any:
    """In a process of the cluster. Errors of ours are handed back whole, for Ray would wrap them."""
    try:
        return work(piece)
    except SfumatoError as error:
        return error


def _died() -> NotNow:
    return NotNow(
        f"found that the process which simulates died {NEW_STARTS + 1} times",
        expected="a process that lives",
        fix="there may be too little memory: use fewer processes, or smaller worlds",
        code="worker-died",
    )
