"""Figures of the dashboard, computed from snapshots of the store and cached; the writer is never involved.

Counts are updated from new answers only. Slow figures run in a thread and less often, so that all of this takes at most
a tenth of a core. `CacheProcess` runs it in a separate process, so that no reply to a participant waits for it.
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
from sfumato.server.dashboard_counts import AnswerCounts, People, Quotas
from sfumato.server.http_responses import ENCODE
from sfumato.store import researcher_queries
from sfumato.store.database import reading_engine
from sfumato.store.erasure import erased_records
from sfumato.store.location import StoreLocation
from sfumato.study.study import Study
from sfumato.tables.errors import SfumatoError, StoreDown

if TYPE_CHECKING:
    from sfumato.server.dashboard_agreement import AgreementSummary

UPDATE_SECONDS = 1.0
PEOPLE_SECONDS = 3.0
AGREEMENT_SECONDS = 10.0
CORE_SHARE = 0.1
MOST_ANSWERS = 200_000
"""Answers used for agreement; if there are more, those about an even sample of the items."""
MOST_PEOPLE = 1_000
N_EVENTS = 25
LOW_BYTES, LOW_SHARE = 500 * 2**20, 0.05

Sections = dict[str, bytes]
"""The sections of the page, each as JSON."""


class DashboardCache:
    """Cache for one study: `figures` are all sections, at most one second old."""

    def __init__(
        self,
        place: StoreLocation,
        study: Study,
        number: int,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._place, self._study, self._number, self._now = place, study, number, now
        self._thread = ThreadPoolExecutor(1, "agreement")
        self._lock = threading.Lock()
        self._counts = AnswerCounts(number)
        self._sections: Sections = {}
        self._due_at: dict[str, float] = {}
        self._done: set[int] = set()
        self._agreement: AgreementSummary | None = None
        self._agreement_task: Future[None] | None = None

    def figures(self) -> Sections:
        """Every section that is known."""
        with self._lock:
            if self._is_due("all", UPDATE_SECONDS):
                try:
                    self._sections = self._sections | self._count() | {"trouble": b"null"}
                except (sa.exc.SQLAlchemyError, SfumatoError):
                    self._sections["trouble"] = ENCODE({"found": "the store cannot be read at the moment"})
            return dict(self._sections)

    def close(self) -> None:
        """Stop when the current computation is done."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        if "_reader" in vars(self):
            self._reader.dispose()

    @cached_property
    def _reader(self) -> sa.Engine:
        return reading_engine(self._place)

    def _count(self) -> Sections:
        study, number, now, counts = self._study, self._number, self._now(), self._counts
        started = time.thread_time()
        n_arms = max(len(study.arms), 1)
        with self._reader.connect() as connection:
            counts.read(connection)
            # Answers that do not count are asked for again.
            again = researcher_queries.not_counted(connection, number)
            quotas = {
                item: n_arms * quota + (again.get(item, 0) if quota else 0)
                for item, quota in researcher_queries.quotas(connection, number).items()
            }
            people = researcher_queries.people(connection, number)
            paused_at = researcher_queries.paused_at(connection, number)
            events = researcher_queries.last_events(connection, number, N_EVENTS)
            is_people_due = self._is_due("people", PEOPLE_SECONDS)
            if is_people_due:
                self._done = self._without_further_items(connection, people, quotas)
        done = self._done
        progress = dashboard_counts.progress(
            counts, quotas, people, now=now, paused_at=paused_at, n_arms=n_arms, done=done
        )
        parts: dict[str, Any] = {
            "progress": progress | {"disk": self._disk()},
            "items": dashboard_counts.answers_of_items(counts, quotas),
            "times": dashboard_counts.times(counts),
            "cost": dashboard_counts.cost(study, counts, quotas, people, now=now, done=done),
            "happenings": events,
        }
        if is_people_due:
            parts["people"] = self._people(dashboard_counts.people_rows(counts, people, now=now, done=done))
            if study.arms:
                parts["arms"] = dashboard_counts.arms(study, counts, people)
        if self._agreement_task is None and self._is_due("opinions", AGREEMENT_SECONDS):
            n_answers = sum(each.n_answers for each in counts.annotators.values())
            self._agreement_task = self._thread.submit(self._update_agreement, n_answers)
        self._delay("all", time.thread_time() - started)
        return {name: ENCODE(part) for name, part in parts.items()}

    def _without_further_items(self, connection: sa.Connection, people: People, quotas: Quotas) -> set[int]:
        """People with nothing left to answer, whose page did not tell them yet: finished, as in `study reconcile`."""
        study, known = self._study, self._counts.annotators
        waiting = [each for each in people if each.finished_at is None and each.id in known and known[each.id].n_labels]
        n_labels = {each.id: known[each.id].n_labels for each in waiting}
        n_open = sum(self._counts.labels_of_item[item] < quota for item, quota in quotas.items())
        if not study.arms and n_open > max(n_labels.values(), default=0):
            return set()
        arms = {each.id: each.arm for each in waiting}
        return researcher_queries.without_further_items(connection, self._number, study, arms, n_labels)

    def _people(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """The table of annotators with checks, repeats and flags; if there are very many, the most recently active."""
        known = {} if self._agreement is None else self._agreement.people
        latest = sorted(rows, key=lambda row: row["seen_at"] or 0, reverse=True)[:MOST_PEOPLE]
        shown = [
            {"checks": None, "repeats": None, "flags": [], "signs": []} | row | known.get(row["name"], {})
            for row in latest
        ]
        for row in shown:
            failed = row["checks"]["failed"] if row["checks"] else 0
            row["marked"] = failed >= self._study.quality.most_failed
        return {"rows": shown, "n": len(rows)}

    def _update_agreement(self, n_answers: int) -> None:
        started = time.thread_time()
        part: dict[str, Any] = {"state": "none"}
        try:
            part = self._agreement_section(every=-(-max(n_answers, 1) // MOST_ANSWERS))
        except ImportError as error:
            part = {"state": "missing", "package": error.name}
        except (sa.exc.SQLAlchemyError, SfumatoError) as error:
            part = {"state": "trouble", "found": type(error).__name__}
        finally:
            with self._lock:
                self._sections["opinions"] = ENCODE(part)
                self._due_at.pop("people", None)
                self._delay("opinions", time.thread_time() - started)
                self._agreement_task = None

    def _agreement_section(self, every: int) -> dict[str, Any]:
        """Agreement and uncertainty, from the answers about every `every`-th item."""
        from sfumato.server.dashboard_agreement import needs_records, summarize_agreement

        records = needs_records(self._study)
        with self._reader.connect() as connection:
            rows = researcher_queries.sampled_answers(connection, self._number, every=every, records=records)
            erased = erased_records(connection, self._number) if records else {}
        self._agreement = summarize_agreement(rows, self._study, every=every, erased=erased)
        return self._agreement.all

    def _disk(self) -> dict[str, Any] | None:
        """Free space on the disk of a store that is a file."""
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

    def _delay(self, name: str, cpu_seconds: float) -> None:
        """Delay the next computation so that it uses at most `CORE_SHARE` of a core."""
        self._due_at[name] = max(self._due_at.get(name, 0.0), time.monotonic() + cpu_seconds / CORE_SHARE)


IDLE_SECONDS = 300.0
REPLY_SECONDS = 60.0
NICENESS = 5


class CacheProcess:
    """`DashboardCache` in a process that starts at the first call and exits when idle or when the server ends."""

    def __init__(self, place: StoreLocation, study: Study, number: int) -> None:
        self._arguments = (place, study, number)
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def figures(self) -> Sections:
        """Every section that is known; raises `StoreDown` if the process ended. The next call starts another."""
        with self._lock:
            try:
                pipe = self._pipe or self._start()
                pipe.send("figures")
                if pipe.poll(REPLY_SECONDS):
                    sections: Sections = pipe.recv()
                    return sections
            except (EOFError, OSError):
                pass
            self._end()
        raise StoreDown("no process that computes the figures", "figures", "try again", "no-figures")

    def close(self) -> None:
        with self._lock:
            self._end()

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_pipe = context.Pipe()
        self._process = context.Process(target=_serve, args=(child_pipe, *self._arguments), name="figures", daemon=True)
        # Ctrl-C in a terminal goes to every process there; this one ends when its server does.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            child_pipe.close()
        return self._pipe

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        self._pipe = self._process = None


def _serve(pipe: Connection, place: StoreLocation, study: Study, number: int) -> None:
    """Answer requests for figures until there are none for `IDLE_SECONDS`."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    cache = DashboardCache(place, study, number)
    with contextlib.suppress(EOFError, OSError):
        while pipe.poll(IDLE_SECONDS):
            pipe.recv()
            pipe.send(cache.figures())
    cache.close()
