"""The feed of the researcher's page: its figures, made at most once a second for all who look, and sent as they change.

Made in threads of its own from a snapshot of the store, never by the writer, and only while somebody looks.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sfumato.elicit import field_store
from sfumato.errors import SfumatoError, StoreDown
from sfumato.web import studio_figures
from sfumato.web.replies import ENCODE
from sfumato.web.studio_saving import saved
from sfumato.web.studio_tally import Tally

if TYPE_CHECKING:
    from sfumato.web.site import Site
    from sfumato.web.studio_opinions import Opinions

EVERY_SECONDS = 1.0
PEOPLE_EVERY_SECONDS = 3.0
OPINIONS_EVERY_SECONDS = 10.0
SHARE_OF_A_CORE = 0.1
"""Making figures never takes more of one, however many answers there are: it is done less often instead."""
MOST_ANSWERS = 200_000
"""Answers that opinions are made of; of more, those about an even sample of the items."""
MOST_PEOPLE = 1_000
N_HAPPENINGS = 25
QUIET_SECONDS = 15.0
LOW_BYTES, LOW_SHARE = 500 * 2**20, 0.05

Sections = dict[str, bytes]
"""The parts of the page, each as JSON."""


class Feed:
    """For one site. `fresh` are the figures now; `follow` sends what changes until `is_open` says no."""

    def __init__(self, site: Site, now: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._site, self._now = site, now
        self._threads = ThreadPoolExecutor(2, "studio")
        self._lock = threading.Lock()
        self._tally = Tally(site.number)
        self._sections: Sections = {}
        self._due_at: dict[str, float] = {}
        self._opinions: Opinions | None = None
        self._asking: Future[None] | None = None
        self._n_stops = 0
        self.n_listeners = 0
        self.n_made = 0
        """How often figures were made."""

    async def fresh(self) -> Sections:
        """Every part of the page, not older than a second."""
        return await asyncio.wrap_future(self._threads.submit(self._made))

    async def follow(self, is_open: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Server-sent events: a part of the page whenever it has changed, and a word now and then if none has."""
        sent: Sections = {}
        n_stops = self._n_stops

        def goes_on() -> bool:
            return is_open() and self._n_stops == n_stops

        self.n_listeners += 1
        try:
            yield b"retry: 2000\n\n"
            spoke_at = time.monotonic()
            while goes_on():
                sections = await self.fresh()
                news = [_event(name, text) for name, text in sections.items() if sent.get(name) != text]
                sent = dict(sections)
                if news or time.monotonic() - spoke_at > QUIET_SECONDS:
                    yield b"".join(news) or b": nothing new\n\n"
                    spoke_at = time.monotonic()
                waited_until = time.monotonic() + EVERY_SECONDS
                while time.monotonic() < waited_until and goes_on():
                    await asyncio.sleep(0.1)
            yield _event("ended", b"{}")
        finally:
            self.n_listeners -= 1

    def stop(self) -> None:
        """End every stream that there is."""
        self._n_stops += 1

    def close(self) -> None:
        """End, once what is being made is done."""
        self.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)

    # --- in a thread ---

    def _made(self) -> Sections:
        with self._lock:
            if self._is_due("all", EVERY_SECONDS):
                try:
                    self._sections = self._sections | self._counted()
                    self._sections.pop("trouble", None)
                except (sa.exc.SQLAlchemyError, StoreDown):
                    self._sections["trouble"] = ENCODE({"found": "the store cannot be read at the moment"})
            return dict(self._sections)

    def _counted(self) -> Sections:
        site, now = self._site, self._now()
        begun = time.thread_time()
        n_arms = max(len(site.study.arms), 1)
        self.n_made += 1
        with site.reader.connect() as connection:
            self._tally.read(connection)
            quotas = {item: n_arms * quota for item, quota in field_store.quotas(connection, site.number).items()}
            people = field_store.people(connection, site.number)
            paused_at = field_store.paused_at(connection, site.number)
            happenings = field_store.last_happenings(connection, site.number, N_HAPPENINGS)
        tally = self._tally
        far = studio_figures.progress(tally, quotas, people, now=now, paused_at=paused_at, n_arms=n_arms)
        parts: dict[str, Any] = {
            "progress": far | {"disk": self._disk()},
            "items": studio_figures.answers_of_items(tally, quotas),
            "times": studio_figures.times(tally),
            "cost": studio_figures.cost(site.study, tally, quotas, people, now=now),
            "happenings": happenings,
        }
        if self._is_due("people", PEOPLE_EVERY_SECONDS):
            parts["people"] = self._people_part(studio_figures.people_rows(tally, people, now=now))
        if site.guide is not None and self._is_due("adaptive", PEOPLE_EVERY_SECONDS):
            parts["adaptive"] = saved(site)
        if self._asking is None and self._is_due("opinions", OPINIONS_EVERY_SECONDS):
            self._asking = self._threads.submit(self._ask, sum(each.n_answers for each in tally.given.values()))
        self._rest("all", time.thread_time() - begun)
        return {name: ENCODE(part) for name, part in parts.items()}

    def _people_part(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Everybody, with what is known of their answers; of very many, who was seen last."""
        known = {} if self._opinions is None else self._opinions.people
        latest = sorted(rows, key=lambda row: row["seen_at"] or 0, reverse=True)[:MOST_PEOPLE]
        failed = self._site.study.quality.most_failed
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
        from sfumato.web.studio_opinions import opinions_of

        site = self._site
        checks = site.study.checks
        with site.reader.connect() as connection:
            rows = field_store.what_was_said(connection, site.number, every=every)
            numbers = field_store.numbers_of(connection, site.number, [each.item for each in checks])
        regions = {numbers[each.item]: each.region for each in checks if each.item in numbers}
        self._opinions = opinions_of(rows, site.study, regions, every=every)
        disputed = [each | site.desk.told_of(each["number"]) for each in self._opinions.all.get("disputed", [])]
        return self._opinions.all | {"disputed": disputed}

    def _disk(self) -> dict[str, Any] | None:
        """Room on the disk of the store, where it is a file of ours; hundreds of megabytes are exact enough."""
        file = self._site.place.file
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


def _event(name: str, text: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + text + b"\n\n"
