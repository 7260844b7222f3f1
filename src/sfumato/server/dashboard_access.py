"""The researcher's dashboard of one site: access, rate limits, event log and downloads."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from sfumato.elicitation import researcher_actions
from sfumato.server.dashboard_feed import Feed
from sfumato.server.login_attempts import LoginAttempts
from sfumato.server.login_links import LoginLinks, link_file
from sfumato.server.rate_limit import SlidingWindow
from sfumato.server.researcher_sessions import NotLoggedIn, Session, Sessions
from sfumato.store import queries, researcher_queries
from sfumato.store.credentials import Credentials
from sfumato.tables.errors import NotNow, NotThere, StoreDown

if TYPE_CHECKING:
    from sfumato.server.served_study import ServedStudy

FOLDER_PREFIX = "sfumato-downloads-"
DOWNLOAD_SECONDS = 600
"""A file that nobody fetched is deleted after this time."""
COOKIE = "sfumato"
CREDENTIALS_SECONDS = 10
"""With PostgreSQL, a password set by another server ends the sessions of this one after this time."""
TEXT_SHOWN = 280
"""Characters of an item's text on the page."""


@dataclass(frozen=True)
class Download:
    """A file that is ready to be fetched once."""

    name: str
    n_answers: int
    path: Path
    made_at: float


@dataclass(frozen=True)
class LockedFolder:
    """A temporary folder of this process, locked as long as the process lives."""

    path: Path
    lock: int

    @classmethod
    def new(cls) -> LockedFolder:
        """A new folder."""
        return cls._locked(Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX)))

    @classmethod
    def remove_left(cls) -> None:
        """Remove the folders that killed processes of this user left behind."""
        for left in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
            with contextlib.suppress(OSError):
                cls._locked(left).remove()

    @classmethod
    def _locked(cls, path: Path) -> LockedFolder:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(lock).st_uid != os.geteuid():
                raise PermissionError(path)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
        return cls(path, lock)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


class Downloads:
    """Snapshots of the answers as files, at most two per minute, in a folder that only this user can read.

    The folder is deleted at the end. If the process is killed, the next server deletes it: it is locked while in use.
    """

    def __init__(self, site: ServedStudy) -> None:
        self._site = site
        self._ready: dict[str, Download] = {}
        self._folder: LockedFolder | None = None
        self._lock = threading.Lock()
        self.rate = SlidingWindow("downloads", 2)

    def make(self, what: str, suffix: str) -> str:
        """Write `annotations` or `records` as `parquet` or `csv`, in the calling thread; returns the file's handle."""
        try:
            from sfumato.store.export import export
        except ImportError as error:
            found = f"no {error.name} on this server"
            fix = "run sfumato export on another machine, with a copy of the store or its PostgreSQL database"
            raise NotNow(found, "the packages for tables (pip install sfumato)", fix, "only-serves") from error
        for handle, made in list(self._ready.items()):
            if time.monotonic() - made.made_at > DOWNLOAD_SECONDS:
                self.remove(handle)
        with self._lock:
            self._folder = self._folder or LockedFolder.new()
        folder = Path(tempfile.mkdtemp(dir=self._folder.path))
        try:
            paths = {each: folder / f"{each}.{suffix}" for each in ("annotations", "records")}
            records = paths["records"] if what == "records" else None
            study = self._site.study
            written = export(self._site.place, study.name, paths["annotations"], records, ordered=study.ordered)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        handle = secrets.token_urlsafe(16)
        name = f"{self._site.study.name}-{what}.{suffix}"
        self._ready[handle] = Download(name, written.n_answers, paths[what], time.monotonic())
        return handle

    def ready(self, handle: str) -> Download:
        if handle not in self._ready:
            raise NotThere("no such file", "a file that was just made", "request the file again", "unknown-file")
        return self._ready[handle]

    def remove(self, handle: str) -> None:
        if made := self._ready.pop(handle, None):
            shutil.rmtree(made.path.parent, ignore_errors=True)

    def close(self) -> None:
        self._ready.clear()
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


class Dashboard:
    """Dashboard of one site. `on_new_link` is called with the path of each new login link, which works once.

    On a `public` server cookies are sent over https only.
    """

    def __init__(self, site: ServedStudy, *, public: bool, sessions: Sessions | None = None) -> None:
        self._site = site
        file = site.place.file
        with site.reader.connect() as connection:
            secret = queries.secret_of(connection, site.study.name)
        assert secret is not None, "a study that is served is in the store"
        self.secret = secret
        sessions_file = file.with_name(f"{file.name}.sessions") if file else None
        self.sessions = sessions or Sessions(file=sessions_file, credentials=self.credentials().fingerprint)
        self._read_at = time.monotonic()
        self.links = LoginLinks(link_file(site.study, site.place))
        self.on_new_link: Callable[[str], None] = lambda _path: None
        self.attempts = LoginAttempts()
        self.downloads = Downloads(site)
        self.feed = Feed(site)
        # With the prefix __Host- browsers require https and accept the cookie from this host only.
        self.cookie = f"__Host-{COOKIE}" if public else COOKIE
        self.device_cookie = f"{self.cookie}-device"

    def new_link(self) -> str:
        """The path of a new login link; the one printed before ends."""
        return self.links.new()

    def credentials(self) -> Credentials:
        """The researcher's stored credentials."""
        with self._site.reader.connect() as connection:
            return researcher_queries.credentials_of(connection, self._site.number)

    def set_password(self, hashed: str) -> None:
        """Set another password; every session ends, and no device is known any more."""
        self._site.writer.run(lambda running: researcher_actions.set_password(running, hashed, "terminal"))
        self.sessions.set_credentials(self.credentials().fingerprint)

    def session_of(self, request: Request, *, is_activity: bool = True) -> Session:
        """The researcher's session; raises `NotLoggedIn` if there is none."""
        if self._site.place.file is None and time.monotonic() - self._read_at > CREDENTIALS_SECONDS:
            # Another server may have set another password; a file has one server.
            self._read_at = time.monotonic()
            self.sessions.set_credentials(self.credentials().fingerprint)
        session = self.sessions.find(request.cookies.get(self.cookie), is_activity=is_activity)
        if session is None:
            raise NotLoggedIn
        return session

    async def log_event(self, who: str, what: str, about: Mapping[str, Any] | None = None) -> None:
        """Log an event if the store can write: a researcher must be able to log in when the disk is full."""
        with contextlib.suppress(StoreDown):
            await self._site.writer.ask(lambda running: researcher_actions.log_event(running, who, what, about))

    def item_summary(self, number: int) -> dict[str, Any]:
        """What the page shows of an item: its id, and its text or whether it has a picture."""
        with self._site.reader.connect() as connection:
            stimulus = researcher_queries.item_numbered(connection, self._site.number, number)
        if stimulus is None:
            raise NotThere("no such item", "an item of the study", "reload the page", "unknown-item")
        item = self._site.items.get(stimulus.item)
        text = item.text if item is not None else None
        return {
            "item": stimulus.item,
            "text": text if text is None or len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}…",
            "has_picture": text is None and (item is not None or "of" in stimulus.context),
        }

    def close(self) -> None:
        """End every stream and delete the downloads."""
        self.feed.close()
        self.downloads.close()
