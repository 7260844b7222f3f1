"""Downloads of the researcher's page: a snapshot of the answers, made as a file beside, handed out once, removed."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.server.rates import SlidingWindow
from sfumato.tables.errors import NotNow, NotThere

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
