"""The books of the researcher's page: every figure there is, made from a snapshot of the store, never by its writer.

Counts follow the answers as they come. What takes longer is done aside and less often, so that keeping the books never
takes more than a share of a core, however many answers there are.

The books kept aside: by a process of its own, so that nobody who answers waits for a figure.

Threads of one Python process take turns: a look at a hundred thousand answers would hold up every reply for as long.
The process begins when a researcher first looks, and ends by itself when nobody looks any more, or with the server,
however that ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sfumato.server import dashboard_counts
from sfumato.server.dashboard_counts import AnswerCounts
from sfumato.server.responses import ENCODE
from sfumato.store import researcher_queries
from sfumato.store.database import reading_engine
from sfumato.store.location import StoreLocation
from sfumato.study.study import Study
from sfumato.tables.errors import SfumatoError, StoreDown

if TYPE_CHECKING:
    from sfumato.server.dashboard_agreement import AgreementSummary


EVERY_SECONDS = 1.0
PEOPLE_EVERY_SECONDS = 3.0
OPINIONS_EVERY_SECONDS = 10.0
SHARE_OF_A_CORE = 0.1
MOST_ANSWERS = 200_000
"""Answers that opinions are made of; of more, those about an even sample of the items."""
MOST_PEOPLE = 1_000
N_HAPPENINGS = 25
LOW_BYTES, LOW_SHARE = 500 * 2**20, 0.05

Sections = dict[str, bytes]
"""The parts of the page, each as JSON."""


class DashboardCache:
    """Of one study in a store. `made` is every figure, not older than a second."""

    def __init__(
        self,
        place: StoreLocation,
        study: Study,
        number: int,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._place, self._study, self._number, self._now = place, study, number, now
        self._aside = ThreadPoolExecutor(1, "opinions")
        self._lock = threading.Lock()
        self._tally = AnswerCounts(number)
        self._sections: Sections = {}
        self._due_at: dict[str, float] = {}
        self._opinions: AgreementSummary | None = None
        self._asking: Future[None] | None = None

    def made(self) -> Sections:
        """Every part of the page that is known."""
        with self._lock:
            if self._is_due("all", EVERY_SECONDS):
                try:
                    self._sections = self._sections | self._counted() | {"trouble": b"null"}
                except (sa.exc.SQLAlchemyError, SfumatoError):
                    self._sections["trouble"] = ENCODE({"found": "the store cannot be read at the moment"})
            return dict(self._sections)

    def made_anew(self) -> Sections:
        """Every part as it is now, whatever that costs."""
        self._wait()
        self._due_at.clear()
        self.made()
        self._wait()
        for name in ("all", "people"):
            self._due_at.pop(name, None)
        return self.made()

    def close(self) -> None:
        """End, once what is being made is done."""
        self._aside.shutdown(wait=True, cancel_futures=True)
        if "_reader" in vars(self):
            self._reader.dispose()

    def _wait(self) -> None:
        if (asking := self._asking) is not None:
            asking.result()

    @cached_property
    def _reader(self) -> sa.Engine:
        return reading_engine(self._place)

    def _counted(self) -> Sections:
        study, now, tally = self._study, self._now(), self._tally
        begun = time.thread_time()
        n_arms = max(len(study.arms), 1)
        with self._reader.connect() as connection:
            tally.read(connection)
            quotas = {
                item: n_arms * quota for item, quota in researcher_queries.quotas(connection, self._number).items()
            }
            people = researcher_queries.people(connection, self._number)
            paused_at = researcher_queries.paused_at(connection, self._number)
            happenings = researcher_queries.last_events(connection, self._number, N_HAPPENINGS)
        far = dashboard_counts.progress(tally, quotas, people, now=now, paused_at=paused_at, n_arms=n_arms)
        parts: dict[str, Any] = {
            "progress": far | {"disk": self._disk()},
            "items": dashboard_counts.answers_of_items(tally, quotas),
            "times": dashboard_counts.times(tally),
            "cost": dashboard_counts.cost(study, tally, quotas, people, now=now),
            "happenings": happenings,
        }
        if self._is_due("people", PEOPLE_EVERY_SECONDS):
            parts["people"] = self._people(dashboard_counts.people_rows(tally, people, now=now))
            if study.arms:
                parts["arms"] = dashboard_counts.arms(study, tally, people)
        if self._asking is None and self._is_due("opinions", OPINIONS_EVERY_SECONDS):
            self._asking = self._aside.submit(self._ask, sum(each.n_answers for each in tally.given.values()))
        self._rest("all", time.thread_time() - begun)
        return {name: ENCODE(part) for name, part in parts.items()}

    def _people(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Everybody, with what is known of their answers; of very many, who was seen last."""
        known = {} if self._opinions is None else self._opinions.people
        latest = sorted(rows, key=lambda row: row["seen_at"] or 0, reverse=True)[:MOST_PEOPLE]
        failed = self._study.quality.most_failed
        told = [{"checks": None, "repeats": None, "flags": []} | row | known.get(row["name"], {}) for row in latest]
        for row in told:
            if row["checks"] and row["checks"]["failed"] >= failed:
                row["flags"] = ["checks", *row["flags"]]
        return {"rows": told, "n": len(rows)}

    def _ask(self, n_answers: int) -> None:
        """Make the opinions, aside; they are shown with the next figures."""
        begun = time.thread_time()
        part: dict[str, Any] = {"state": "none"}
        try:
            part = self._said(-(-max(n_answers, 1) // MOST_ANSWERS))
        except ImportError as error:
            part = {"state": "missing", "package": error.name}
        except (sa.exc.SQLAlchemyError, SfumatoError) as error:
            part = {"state": "trouble", "found": type(error).__name__}
        finally:
            with self._lock:
                self._sections["opinions"] = ENCODE(part)
                self._due_at.pop("people", None)
                self._rest("opinions", time.thread_time() - begun)
                self._asking = None

    def _said(self, every: int) -> dict[str, Any]:
        """What people say, about each `every`-th item."""
        from sfumato.server.dashboard_agreement import opinions_of

        checks = self._study.checks
        with self._reader.connect() as connection:
            rows = researcher_queries.sampled_answers(connection, self._number, every=every)
            numbers = researcher_queries.numbers_of(connection, self._number, [each.item for each in checks])
        regions = {numbers[each.item]: each.region for each in checks if each.item in numbers}
        self._opinions = opinions_of(rows, self._study, regions, every=every)
        return self._opinions.all

    def _disk(self) -> dict[str, Any] | None:
        """Room on the disk of the store, where it is a file of ours; hundreds of megabytes are exact enough."""
        file = self._place.file
        if file is None:
            return None
        usage = shutil.disk_usage(file.parent)
        is_low = usage.free < LOW_BYTES or usage.free < LOW_SHARE * usage.total
        return {"free_gb": round(usage.free / 1e9, 1), "is_low": is_low}

    def _is_due(self, name: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._due_at.get(name, 0.0):
            return False
        self._due_at[name] = now + every
        return True

    def _rest(self, name: str, worked: float) -> None:
        """Let as much time pass as the work is worth."""
        self._due_at[name] = max(self._due_at.get(name, 0.0), time.monotonic() + worked / SHARE_OF_A_CORE)


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
