"""Downloads of the researcher's page: a snapshot of the answers, made as a file beside, handed out once, removed.

The researcher's desk: who may sit at it, what may be done how often, and what lies on it.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from sfumato.elicitation import researcher_actions
from sfumato.server.dashboard_feed import Feed
from sfumato.server.rate_limit import SlidingWindow
from sfumato.server.researcher_sessions import NotLoggedIn, Session, Sessions
from sfumato.store import researcher_queries
from sfumato.tables.errors import NotNow, NotThere, StoreDown

if TYPE_CHECKING:
    from sfumato.server.site import Site


KEPT_SECONDS = 600


@dataclass(frozen=True)
class Download:
    """A file that is ready: what it is called, how many answers it holds, and where it lies until it was fetched."""

    name: str
    n_answers: int
    path: Path
    made_at: float


class Downloads:
    """For one site: two a minute, each a file in a folder that only this user can read."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._ready: dict[str, Download] = {}
        self.rate = SlidingWindow("downloads", 2)

    def make(self, what: str, suffix: str) -> str:
        """Write the `annotations` or `records` as `parquet` or `csv`; returns the handle of the file. In a thread."""
        try:
            from sfumato.store.export import export
        except ImportError as error:
            raise NotNow(
                f"found no {error.name} on this machine, which only serves",
                expected="the package's own requirements, for tables",
                fix="run sfumato export elsewhere, on a copy of the store or on its PostgreSQL database",
                code="only-serves",
            ) from error
        self._forget_old()
        folder = Path(tempfile.mkdtemp(prefix="sfumato-"))
        try:
            paths = {each: folder / f"{each}.{suffix}" for each in ("annotations", "records")}
            records = paths["records"] if what == "records" else None
            written = export(self._site.place, self._site.study.name, paths["annotations"], records)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        handle = secrets.token_urlsafe(16)
        name = f"{self._site.study.name}-{what}.{suffix}"
        self._ready[handle] = Download(name, written.n_answers, paths[what], time.monotonic())
        return handle

    def ready(self, handle: str) -> Download:
        """The file that was made."""
        if handle not in self._ready:
            raise NotThere(
                "found no such file", expected="one that was just made", fix="ask for it again", code="unknown-file"
            )
        return self._ready[handle]

    def remove(self, handle: str) -> None:
        """Let go of a file."""
        if made := self._ready.pop(handle, None):
            shutil.rmtree(made.path.parent, ignore_errors=True)

    def close(self) -> None:
        """Let go of all of them."""
        for handle in list(self._ready):
            self.remove(handle)

    def _forget_old(self) -> None:
        for handle, made in list(self._ready.items()):
            if time.monotonic() - made.made_at > KEPT_SECONDS:
                self.remove(handle)


COOKIE = "sfumato"
TEXT_SHOWN = 280


class Dashboard:
    """For one site. `say_link` is told the path of each new link that works once: print it where the researcher sits.

    Who reaches a `public` server does so by https: cookies are then sent in no other way.
    """

    def __init__(self, site: Site, *, public: bool, sessions: Sessions | None = None) -> None:
        self._site = site
        self.public = public
        file = site.place.file
        self.sessions = sessions or Sessions(file=file.with_name(f"{file.name}.sessions") if file else None)
        self.say_link: Callable[[str], None] = lambda _path: None
        self.tries = SlidingWindow("tries", 5)
        self.tries_of_address = SlidingWindow("tries", 20)
        self.downloads = Downloads(site)
        self.feed = Feed(site)

    @property
    def cookie(self) -> str:
        """The name of the cookie; `__Host-` makes browsers insist on https, this host and no other."""
        return f"__Host-{COOKIE}" if self.public else COOKIE

    def new_link(self) -> str:
        """The path of a link that works once; the one before works no more."""
        return f"/studio/enter/{self.sessions.new_link()}"

    def researcher(self, request: Request, *, is_person: bool = True) -> Session:
        """Whose request it is; raises `NotLoggedIn` unless it is the researcher's."""
        session = self.sessions.find(request.cookies.get(self.cookie), is_person=is_person)
        if session is None:
            raise NotLoggedIn
        return session

    async def note(self, who: str, what: str, about: Mapping[str, Any] | None = None) -> None:
        """Note what happened, if it can be: a researcher must get in when the disk is full."""
        with contextlib.suppress(StoreDown):
            await self._site.writer.ask(lambda running: researcher_actions.log_event(running, who, what, about))

    def told_of(self, number: int) -> dict[str, Any]:
        """What the page says of an item: its id, its text or that there is a picture."""
        with self._site.reader.connect() as connection:
            stimulus = researcher_queries.item_numbered(connection, self._site.number, number)
        if stimulus is None:
            raise NotThere("found no such item", expected="an item", fix="reload the page", code="unknown-item")
        item = self._site.items.get(stimulus.item)
        text = item.text if item is not None else None
        return {
            "item": stimulus.item,
            "text": text if text is None or len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}…",
            "has_picture": text is None and (item is not None or "of" in stimulus.context),
        }

    def close(self) -> None:
        """End every stream, finish what is being made, remove what was made for downloading."""
        self.feed.close()
        self.downloads.close()
