"""Live feed of the dashboard: its sections as JSON, computed only while somebody has the page open."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy as sa

from sfumato.server.dashboard_cache import UPDATE_SECONDS, CacheProcess, DashboardCache, Sections
from sfumato.server.http_responses import ENCODE
from sfumato.store import researcher_queries
from sfumato.tables.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.server.served_study import ServedStudy

FIRST_PAGE_SECONDS = 2.0
KEEPALIVE_SECONDS = 15.0
SAVINGS_SECONDS = 3.0


class Feed:
    """Feed of one site: `sections` are the current figures; `stream` sends changes until `is_open` returns false."""

    def __init__(self, site: ServedStudy) -> None:
        self._site = site
        self._thread = ThreadPoolExecutor(1, "dashboard")
        self._lock = threading.Lock()
        self.cache: DashboardCache | CacheProcess = DashboardCache(site.place, site.study, site.number)
        self._with_texts: tuple[bytes, bytes] = (b"", b"")
        """The section "opinions" of the cache, and the same with the texts of the disputed items."""
        self._sections: Sections = {}
        self._savings, self._savings_until = b"null", 0.0
        self._n_stops = 0
        self.n_listeners = 0

    def use_process(self) -> None:
        """Compute the figures in another process from now on, so that participants do not wait for them."""
        self.cache.close()
        self.cache = CacheProcess(self._site.place, self._site.study, self._site.number)

    async def sections(self) -> Sections:
        """Every section, at most one second old."""
        return await asyncio.wrap_future(self._thread.submit(self.current_sections))

    async def sections_if_ready(self) -> Sections:
        """Every section, or none if that takes longer than two seconds; the stream then sends them later."""
        task = asyncio.ensure_future(self.sections())
        done, _ = await asyncio.wait({task}, timeout=FIRST_PAGE_SECONDS)
        return task.result() if done else {}

    async def stream(self, is_open: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Server-sent events: each section when it has changed, and a comment every 15 seconds."""
        sent: Sections = {}
        n_stops = self._n_stops

        def continues() -> bool:
            return is_open() and self._n_stops == n_stops

        self.n_listeners += 1
        try:
            yield b"retry: 2000\n\n"
            sent_at = time.monotonic()
            while continues():
                sections = await self.sections()
                news = [_event(name, text) for name, text in sections.items() if sent.get(name) != text]
                sent = sections
                if news or time.monotonic() - sent_at > KEEPALIVE_SECONDS:
                    yield b"".join(news) or b": nothing new\n\n"
                    sent_at = time.monotonic()
                next_at = time.monotonic() + UPDATE_SECONDS
                while time.monotonic() < next_at and continues():
                    await asyncio.sleep(0.1)
            yield _event("ended", b"{}")
        finally:
            self.n_listeners -= 1

    def current_sections(self) -> Sections:
        """Every section, computed in the calling thread."""
        with self._lock:
            try:
                sections = self._sections = {"trouble": b"null"} | self.cache.figures()
                if "opinions" in sections:
                    sections["opinions"] = self._add_texts(sections["opinions"])
                if self._site.selector is not None:
                    if time.monotonic() >= self._savings_until:
                        self._savings = ENCODE(savings(self._site))
                        self._savings_until = time.monotonic() + SAVINGS_SECONDS
                    sections["adaptive"] = self._savings
            except (sa.exc.SQLAlchemyError, SfumatoError):
                self._sections["trouble"] = ENCODE({"found": "the store cannot be read at the moment"})
            return dict(self._sections)

    def stop(self) -> None:
        """End every open stream."""
        self._n_stops += 1

    def close(self) -> None:
        self.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)
        self.cache.close()

    def _add_texts(self, opinions: bytes) -> bytes:
        if self._with_texts[0] != opinions:
            summary = msgspec.json.decode(opinions)
            show = self._site.dashboard.item_summary
            disputed = [each | show(each["number"]) for each in summary.get("disputed", [])]
            self._with_texts = (opinions, ENCODE(summary | {"disputed": disputed}))
        return self._with_texts[1]


def savings(site: ServedStudy) -> dict[str, Any]:
    """The section "adaptive": answers that an adaptive study does not need. The selector runs in the writer thread."""
    selector = site.selector
    assert selector is not None
    saved = site.writer.run(lambda _work: selector.savings())
    with site.reader.connect() as connection:
        seconds = researcher_queries.mean_seconds(connection, site.number)
    return {
        "items": saved.n_items,
        "finished": saved.n_finished,
        "answers": saved.n_answers,
        "most": saved.n_most,
        "saved": saved.n_saved,
        "saved_share": saved.n_saved / saved.n_most if saved.n_most else 0.0,
        "saved_hours": saved.n_saved * seconds / 3600,
        "on_average": saved.n_on_average,
        "error": saved.error,
        "index": site.study.adaptive.index,
        "target": site.study.adaptive.target,
    }


def _event(name: str, text: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + text + b"\n\n"
