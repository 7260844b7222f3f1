"""The one writing thread: requests wait in a queue and are committed in groups.

While one group is written to disk the next one gathers, so that many clients cost hardly more syncs than one. Success
is reported only after the commit. The queue has a limit; beyond it clients are asked to retry later.

After a disk failure the connection is closed, and the store is opened and checked before anything else is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import sqlalchemy as sa

from sfumato.store.database import Failure, check_whole, down, down_because, failure_of
from sfumato.tables.errors import Busy, SfumatoError


class Work(Protocol):
    """The object that requests are run on: every group is enclosed by `begin` and `end`."""

    def begin(self, connection: sa.Connection) -> None: ...
    def end(self) -> None: ...
    def committed(self) -> None: ...
    def forget(self) -> None: ...


T = TypeVar("T")
W = TypeVar("W", bound=Work)
LOG = logging.getLogger("sfumato.store")
GROUP = 512
"""Most requests per commit."""
MOST_WAITING = 1024
"""Most requests in the queue: less than half a second of work, and twice a class of 500 who submit at once."""
RETRY_SECONDS = (1, 3)
"""After how long clients are asked to retry when the queue is full; a random time each, to spread them."""
PAUSE_SECONDS = 1.0
"""How long the store is not used after a disk failure."""
ONE_BY_ONE_SECONDS = 5.0
"""How long requests of a failed group are retried one by one: those that write nothing succeed on a full disk."""
LOGGED_EVERY_SECONDS = 10.0
"""Least time between two log messages about failed writes."""


@dataclass(slots=True, eq=False)
class WriteRequest:
    """A request in the queue, and the future that waits for it."""

    do: Callable[[Any], Any]
    future: Any
    result: Any = None
    error: BaseException | None = None


class Writer(Generic[W]):
    """The thread that owns the writing connection."""

    def __init__(self, engine: sa.Engine, work: W) -> None:
        self._engine = engine
        self._work = work
        self._queue: deque[WriteRequest] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._is_intact = True
        """Whether the store is known to be intact."""
        self._paused_until = 0.0
        self._next_log_at = 0.0
        self._thread = threading.Thread(target=self._loop, name="writer", daemon=True)

    def start(self) -> None:
        """Register the study, then accept requests."""
        self._group([WriteRequest(lambda _: None, None)], alone=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the queue, then stop."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        self._engine.dispose()

    def run(self, do: Callable[[W], T]) -> T:
        """Run one request and wait for its commit; for programs without an event loop."""
        future: Future[T] = Future()
        self._put(WriteRequest(do, future))
        return future.result()

    def check_room(self) -> None:
        """Raise `Busy` if the queue is full, before the request body is read."""
        if len(self._queue) >= MOST_WAITING:
            raise Busy(MOST_WAITING, random.randint(*RETRY_SECONDS))

    async def ask(self, do: Callable[[W], T]) -> T:
        """Run one request; returns after its commit. `Busy` if the queue is full."""
        self.check_room()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(WriteRequest(do, future))
        return await future

    def _put(self, request: WriteRequest) -> None:
        with self._wake:
            if self._stopping:
                raise down("the server is stopping")
            self._queue.append(request)
            self._wake.notify()

    def _loop(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._stopping:
                    self._wake.wait()
                if not self._queue:
                    return
                group = [self._queue.popleft() for _ in range(min(len(self._queue), GROUP))]
            self._group(group)
            _deliver(group)

    def _group(self, group: list[WriteRequest], alone: bool = False) -> None:
        """Run and commit the requests; if that fails, one by one, so that one request cannot affect the others."""
        try:
            self._check_intact()
            with self._engine.begin() as connection:
                self._work.begin(connection)
                for request in group:
                    try:
                        request.result = request.do(self._work)
                    except SfumatoError as error:
                        request.error = error
                self._work.end()
            self._work.committed()
        except Exception as error:
            self._work.forget()
            if alone and group[0].future is None:
                raise
            self._log(error)
            if failure_of(error) is Failure.DISK:
                self._close()
            if len(group) > 1 and self._is_intact:
                self._one_by_one(group, error)
            else:
                _refuse(group, error)

    def _log(self, error: Exception) -> None:
        """Log what went wrong and where; not the request, which may be an answer."""
        now = time.monotonic()
        if now >= self._next_log_at:
            self._next_log_at = now + LOGGED_EVERY_SECONDS
            last = traceback.extract_tb(error.__traceback__)[-1]
            reason = error.found if isinstance(error, SfumatoError) else getattr(error, "orig", "")
            first_line = (str(reason).splitlines() or [""])[0]
            LOG.error("not stored: %s (%s) at %s:%s", type(error).__name__, first_line, last.filename, last.lineno)

    def _one_by_one(self, group: list[WriteRequest], error: Exception) -> None:
        """Run the requests of a failed group one by one, for a limited time."""
        ends_at = time.monotonic() + ONE_BY_ONE_SECONDS
        for number, request in enumerate(group):
            if time.monotonic() > ends_at or not self._is_intact:
                _refuse(group[number:], error)
                return
            request.result = request.error = None
            self._group([request])

    def _close(self) -> None:
        """Close the connection: pages it treats as written may not be on disk."""
        self._is_intact = False
        self._paused_until = time.monotonic() + PAUSE_SECONDS
        self._engine.dispose()

    def _check_intact(self) -> None:
        """After a disk failure, open the store again and check it before anything is written."""
        if self._is_intact:
            return
        if time.monotonic() < self._paused_until:
            raise down("the disk of the store failed a moment ago")
        try:
            check_whole(self._engine)
        except Exception:
            self._close()
            raise
        self._is_intact = True


def _refuse(group: list[WriteRequest], error: Exception) -> None:
    for request in group:
        request.result, request.error = None, down_because(error)


def _deliver(group: list[WriteRequest]) -> None:
    """Resolve all futures; each event loop is woken once."""
    loops: dict[asyncio.AbstractEventLoop, list[WriteRequest]] = {}
    for request in group:
        if isinstance(request.future, Future):
            _resolve(request)
        else:
            loops.setdefault(request.future.get_loop(), []).append(request)
    for loop, requests in loops.items():
        # The event loop may have been closed.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve_all, requests)


def _resolve_all(requests: list[WriteRequest]) -> None:
    for request in requests:
        _resolve(request)


def _resolve(request: WriteRequest) -> None:
    # A client that disconnected has canceled its future; its answer is stored anyway.
    if request.future.done():
        return
    if request.error is not None:
        request.future.set_exception(request.error)
    else:
        request.future.set_result(request.result)
