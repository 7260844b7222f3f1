"""The researcher's desk: who may sit at it, what may be done how often, and what lies on it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from sfumato.elicitation import researcher_actions
from sfumato.server.rates import SlidingWindow
from sfumato.server.researcher_sessions import NotLoggedIn, Session, Sessions
from sfumato.server.studio_downloads import Downloads
from sfumato.server.studio_feed import Feed
from sfumato.store import researcher_queries
from sfumato.tables.errors import NotThere, StoreDown

if TYPE_CHECKING:
    from sfumato.server.site import Site

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
            await self._site.writer.ask(lambda work: researcher_actions.log_event(work, who, what, about))

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
            "has_picture": text is None and (item is not None or "of" in stimulus.told),
        }

    def close(self) -> None:
        """End every stream, finish what is being made, remove what was made for downloading."""
        self.feed.close()
        self.downloads.close()
