"""The one writer: requests that change something wait in a queue, and are done and committed a group at a time.

While one group is being made safe on disk the next one gathers, so that many people cost hardly more syncs than one.
Nobody hears of success before the commit has returned.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from sfumato.elicit.fieldwork import Fieldwork
from sfumato.errors import SfumatoError, StoreDown

T = TypeVar("T")
GROUP = 512
"""Requests committed together at most."""


@dataclass(slots=True, eq=False)
class Request:
    """A request in the queue, and who waits for it."""

    do: Callable[[Fieldwork], Any]
    future: Any
    result: Any = None
    error: BaseException | None = None


class Writer:
    """The thread that owns the writing connection and the fieldwork. Start it, ask it, stop it."""

    def __init__(self, engine: sa.Engine, fieldwork: Fieldwork) -> None:
        self._engine = engine
        self._fieldwork = fieldwork
        self._queue: deque[Request] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)

    def start(self) -> None:
        """Register the study, then take requests."""
        self._group([Request(lambda _: None, None)], alone=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is in the queue, then end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        self._engine.dispose()

    def run(self, do: Callable[[Fieldwork], T]) -> T:
        """Do one request and wait for its commit; for programs without an event loop."""
        future: Future[T] = Future()
        self._put(Request(do, future))
        return future.result()

    async def ask(self, do: Callable[[Fieldwork], T]) -> T:
        """Do one request; returns after its commit."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(Request(do, future))
        return await future

    def _put(self, request: Request) -> None:
        with self._wake:
            if self._stopping:
                raise _down("the server is stopping")
            self._queue.append(request)
            self._wake.notify()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._stopping:
                    self._wake.wait()
                if not self._queue:
                    return
                group = [self._queue.popleft() for _ in range(min(len(self._queue), GROUP))]
            self._group(group)
            _deliver(group)

    def _group(self, group: list[Request], alone: bool = False) -> None:
        """Do and commit the requests; if that fails, each by itself, so that one cannot spoil the others."""
        try:
            with self._engine.begin() as connection:
                self._fieldwork.begin(connection)
                for request in group:
                    try:
                        request.result = request.do(self._fieldwork)
                    except SfumatoError as error:
                        request.error = error
                self._fieldwork.end()
            self._fieldwork.committed()
        except Exception as error:
            self._fieldwork.forget()
            if alone and group[0].future is None:
                raise
            if len(group) > 1:
                for request in group:
                    request.result = request.error = None
                    self._group([request])
            else:
                group[0].error = _down_because(error)


def _deliver(group: list[Request]) -> None:
    """Tell everybody; event loops are woken once for all of theirs."""
    loops: dict[asyncio.AbstractEventLoop, list[Request]] = {}
    for request in group:
        if isinstance(request.future, Future):
            _resolve(request)
        else:
            loops.setdefault(request.future.get_loop(), []).append(request)
    for loop, requests in loops.items():
        # A loop that has ended has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve_all, requests)


def _resolve_all(requests: list[Request]) -> None:
    for request in requests:
        _resolve(request)


def _resolve(request: Request) -> None:
    # A client that has gone away has cancelled its future; its answer is stored all the same.
    if request.future.done():
        return
    if request.error is not None:
        request.future.set_exception(request.error)
    else:
        request.future.set_result(request.result)


def _down_because(error: Exception) -> StoreDown:
    return _down(f"the store failed ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})")


def _down(found: str) -> StoreDown:
    return StoreDown(
        f"found that {found}",
        expected="a store that can write",
        fix="try again in a moment; nothing was acknowledged, so nothing is lost",
        code="store-down",
    )
