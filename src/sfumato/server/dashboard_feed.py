"""What an adaptive study saves by stopping early, as the researcher's page says it.

The feed of the researcher's page: its figures, sent to all who look as they change, and made only while they do.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy as sa

from sfumato.server.dashboard_cache import EVERY_SECONDS, CacheProcess, DashboardCache, Sections
from sfumato.server.responses import ENCODE
from sfumato.store import queries
from sfumato.tables.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.server.site import Site


def saved(site: Site) -> dict[str, Any]:
    """Plain values, ready to be sent. The guide is the writer's, so the writer is asked; it takes a moment at most."""
    guide = site.guide
    assert guide is not None
    savings = site.writer.run(lambda _work: guide.savings())
    with site.reader.connect() as connection:
        seconds = queries.mean_seconds(connection, site.number)
    return {
        "items": savings.n_items,
        "finished": savings.n_finished,
        "answers": savings.n_answers,
        "most": savings.n_most,
        "saved": savings.n_saved,
        "saved_share": savings.n_saved / savings.n_most if savings.n_most else 0.0,
        "saved_hours": savings.n_saved * seconds / 3600,
        "on_average": savings.n_on_average,
        "error": savings.error,
        "index": site.study.adaptive.index,
        "target": site.study.adaptive.target,
    }


PROMPT_SECONDS = 2.0
QUIET_SECONDS = 15.0
SAVED_EVERY_SECONDS = 3.0


class Feed:
    """For one site. `fresh` are the figures now; `follow` sends what changes until `is_open` says no."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._thread = ThreadPoolExecutor(1, "studio")
        self._lock = threading.Lock()
        self.books: DashboardCache | CacheProcess = DashboardCache(site.place, site.study, site.number)
        self._told: tuple[bytes, bytes] = (b"", b"")
        """What people say as the books have it, and with the items it is about."""
        self._sections: Sections = {}
        self._savings, self._saved_until = b"null", 0.0
        self._n_stops = 0
        self.n_listeners = 0

    def keep_aside(self) -> None:
        """From now on the figures are made by another process, for a server with people who must not wait."""
        self.books.close()
        self.books = CacheProcess(self._site.place, self._site.study, self._site.number)

    async def fresh(self) -> Sections:
        """Every part of the page, not older than a second."""
        return await asyncio.wrap_future(self._thread.submit(self.made))

    async def at_once(self) -> Sections:
        """The same, or nothing where that takes longer than a moment: whoever opens the page then sees it fill."""
        made = asyncio.ensure_future(self.fresh())
        done, _ = await asyncio.wait({made}, timeout=PROMPT_SECONDS)
        return made.result() if done else {}

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
                sent = sections
                if news or time.monotonic() - spoke_at > QUIET_SECONDS:
                    yield b"".join(news) or b": nothing new\n\n"
                    spoke_at = time.monotonic()
                waited_until = time.monotonic() + EVERY_SECONDS
                while time.monotonic() < waited_until and goes_on():
                    await asyncio.sleep(0.1)
            yield _event("ended", b"{}")
        finally:
            self.n_listeners -= 1

    def made(self) -> Sections:
        """The same as `fresh`, in this thread."""
        with self._lock:
            try:
                sections = self._sections = {"trouble": b"null"} | self.books.made()
                if "opinions" in sections:
                    sections["opinions"] = self._with_items(sections["opinions"])
                if self._site.guide is not None:
                    sections["adaptive"] = self._saved()
            except (sa.exc.SQLAlchemyError, SfumatoError):
                self._sections["trouble"] = ENCODE({"found": "the store cannot be read at the moment"})
            return dict(self._sections)

    def stop(self) -> None:
        """End every stream that there is."""
        self._n_stops += 1

    def close(self) -> None:
        """End, once what is being made is done."""
        self.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)
        self.books.close()

    def _with_items(self, opinions: bytes) -> bytes:
        """What people say, with the text of each disputed item or that it has a picture."""
        if self._told[0] != opinions:
            said = msgspec.json.decode(opinions)
            disputed = [each | self._site.desk.told_of(each["number"]) for each in said.get("disputed", [])]
            self._told = (opinions, ENCODE(said | {"disputed": disputed}))
        return self._told[1]

    def _saved(self) -> bytes:
        """What an adaptive study saves; its writer is asked now and then, and not at every look."""
        now = time.monotonic()
        if now >= self._saved_until:
            self._savings, self._saved_until = ENCODE(saved(self._site)), now + SAVED_EVERY_SECONDS
        return self._savings


def _event(name: str, text: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + text + b"\n\n"
