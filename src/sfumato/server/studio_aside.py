"""The books kept aside: by a process of its own, so that nobody who answers waits for a figure.

Threads of one Python process take turns: a look at a hundred thousand answers would hold up every reply for as long.
The process begins when a researcher first looks, and ends by itself when nobody looks any more, or with the server,
however that ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from sfumato.server.studio_books import DashboardCache, Sections
from sfumato.store.location import StoreLocation
from sfumato.study.study import Study
from sfumato.tables.errors import StoreDown

IDLE_SECONDS = 300.0
PATIENCE_SECONDS = 60.0
NICENESS = 5


class CacheProcess:
    """`DashboardCache` elsewhere: `made` asks for the figures, and waits for them without holding up other threads."""

    def __init__(self, place: StoreLocation, study: Study, number: int) -> None:
        self._of = (place, study, number)
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def made(self) -> Sections:
        """Every part of the page that is known; raises `StoreDown` where the process has just ended. The next call
        begins another."""
        with self._lock:
            try:
                pipe = self._pipe or self._begun()
                pipe.send("made")
                if pipe.poll(PATIENCE_SECONDS):
                    sections: Sections = pipe.recv()
                    return sections
            except (EOFError, OSError):
                pass
            self._end()
        raise StoreDown("found nobody who keeps the books", expected="figures", fix="try again", code="no-figures")

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _begun(self) -> Connection:
        spawning = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawning.Pipe()
        self._process = spawning.Process(target=_keep, args=(theirs, *self._of), name="books", daemon=True)
        # Ctrl-C in a terminal goes to every process there; this one ends when its server does.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        return self._pipe

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        self._pipe = self._process = None


def _keep(pipe: Connection, place: StoreLocation, study: Study, number: int) -> None:
    """Keep the books until nobody asks any more."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    books = DashboardCache(place, study, number)
    with contextlib.suppress(EOFError, OSError):
        while pipe.poll(IDLE_SECONDS):
            pipe.recv()
            pipe.send(books.made())
    books.close()
