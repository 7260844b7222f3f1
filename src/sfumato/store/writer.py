"""The one writer: requests that change something wait in a queue, and are done and committed a group at a time.

While one group is being made safe on disk the next one gathers, so that many people cost hardly more syncs than one.
Nobody hears of success before the commit has returned. Where more comes than can be stored, the queue ends somewhere:
whoever comes later is asked to come back, which is sooner heard than a place at the end.

After a failure of the disk the connection is closed, and the store is opened and looked at anew before anything else is
written.
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
    """What the writer does requests on: every group stands between `begin` and `end`."""

    def begin(self, connection: sa.Connection) -> None: ...
    def end(self) -> None: ...
    def committed(self) -> None: ...
    def forget(self) -> None: ...


T = TypeVar("T")
W = TypeVar("W", bound=Work)
LOG = logging.getLogger("sfumato.store")
GROUP = 512
"""Requests committed together at most."""
MOST_WAITING = 1024
"""Requests in the queue at most: less than half a second's work, and twice a class of five hundred that presses at
once."""
COMES_BACK_SECONDS = (1, 3)
"""When those who find the queue full are asked to come back, each at a time of their own, so that they do not all come
at once again."""
PAUSE_SECONDS = 1.0
"""How long a store whose disk failed is left alone."""
ONE_BY_ONE_SECONDS = 5.0
"""How long requests of a group that failed are tried one by one: those that write nothing succeed on a full disk."""
LOGGED_EVERY_SECONDS = 10.0
"""At most so often the log says that something could not be stored."""


@dataclass(slots=True, eq=False)
class WriteRequest:
    """A request in the queue, and who waits for it."""

    do: Callable[[Any], Any]
    future: Any
    result: Any = None
    error: BaseException | None = None


class Writer(Generic[W]):
    """The thread that owns the writing connection and the work. Start it, ask it, stop it."""

    def __init__(self, engine: sa.Engine, work: W) -> None:
        self._engine = engine
        self._work = work
        self._queue: deque[WriteRequest] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._is_sure = True
        """Whether the store is known to be whole."""
        self._rests_until = 0.0
        self._logs_from = 0.0
        self._thread = threading.Thread(target=self._loop, name="writer", daemon=True)

    def start(self) -> None:
        """Register the study, then take requests."""
        self._group([WriteRequest(lambda _: None, None)], alone=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is in the queue, then end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        self._engine.dispose()

    def run(self, do: Callable[[W], T]) -> T:
        """Do one request and wait for its commit; for programs without an event loop."""
        future: Future[T] = Future()
        self._put(WriteRequest(do, future))
        return future.result()

    def check_room(self) -> None:
        """Raise `Busy` where the queue is full: for who would rather know before reading a request than after."""
        if len(self._queue) >= MOST_WAITING:
            raise Busy(MOST_WAITING, random.randint(*COMES_BACK_SECONDS))

    async def ask(self, do: Callable[[W], T]) -> T:
        """Do one request; returns after its commit. `Busy` where too many wait already."""
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
        """Do and commit the requests; if that fails, each by itself, so that one cannot spoil the others."""
        try:
            self._make_sure()
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
                self._let_go()
            if len(group) > 1 and self._is_sure:
                self._one_by_one(group, error)
            else:
                _refuse(group, error)

    def _log(self, error: Exception) -> None:
        """Say what went wrong and where; not what was asked, which may be an answer."""
        now = time.monotonic()
        if now >= self._logs_from:
            self._logs_from = now + LOGGED_EVERY_SECONDS
            last = traceback.extract_tb(error.__traceback__)[-1]
            words = error.found if isinstance(error, SfumatoError) else getattr(error, "orig", "")
            said = (str(words).splitlines() or [""])[0]
            LOG.error("not stored: %s (%s) at %s:%s", type(error).__name__, said, last.filename, last.lineno)

    def _one_by_one(self, group: list[WriteRequest], error: Exception) -> None:
        """Do each request of a group that failed by itself, for as long as others can be asked to wait."""
        ends_at = time.monotonic() + ONE_BY_ONE_SECONDS
        for number, request in enumerate(group):
            if time.monotonic() > ends_at or not self._is_sure:
                _refuse(group[number:], error)
                return
            request.result = request.error = None
            self._group([request])

    def _let_go(self) -> None:
        """Close the connection: what it believes to be on disk may not be there."""
        self._is_sure = False
        self._rests_until = time.monotonic() + PAUSE_SECONDS
        self._engine.dispose()

    def _make_sure(self) -> None:
        """Open the store anew after a failure of the disk, and look at it before anything is written."""
        if self._is_sure:
            return
        if time.monotonic() < self._rests_until:
            raise down("the disk of the store failed a moment ago")
        try:
            check_whole(self._engine)
        except Exception:
            self._let_go()
            raise
        self._is_sure = True


def _refuse(group: list[WriteRequest], error: Exception) -> None:
    for request in group:
        request.result, request.error = None, down_because(error)


def _deliver(group: list[WriteRequest]) -> None:
    """Tell everybody; event loops are woken once for all of theirs."""
    loops: dict[asyncio.AbstractEventLoop, list[WriteRequest]] = {}
    for request in group:
        if isinstance(request.future, Future):
            _resolve(request)
        else:
            loops.setdefault(request.future.get_loop(), []).append(request)
    for loop, requests in loops.items():
        # A loop that has ended has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve_all, requests)


def _resolve_all(requests: list[WriteRequest]) -> None:
    for request in requests:
        _resolve(request)


def _resolve(request: WriteRequest) -> None:
    # A client that has gone away has cancelled its future; its answer is stored all the same.
    if request.future.done():
        return
    if request.error is not None:
        request.future.set_exception(request.error)
    else:
        request.future.set_result(request.result)
