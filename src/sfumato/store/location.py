"""Where a study's store is: an SQLite file next to the study by default, any other file, or a PostgreSQL database."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, ErrorLocation, show
from sfumato.tables.text_file import path_inside


@dataclass(frozen=True)
class StoreLocation:
    """Where a store is: a file, or a PostgreSQL URL."""

    url: sa.URL
    file: Path | None = None

    @classmethod
    def of(cls, store: str | Path) -> StoreLocation:
        """From a path or `postgresql://user@host/database`."""
        text = str(store)
        if text.startswith(("postgresql://", "postgres://")):
            with contextlib.suppress(ValueError, sa.exc.ArgumentError):
                return cls(_encrypted(sa.make_url(text).set(drivername="postgresql+psycopg")))
        elif "://" not in text and not Path(text).is_dir():
            return cls(sa.URL.create("sqlite", database=text), Path(text))
        expected = "the path of a file, or postgresql://user@host:port/database"
        fix = "give a file for SQLite, or the URL of a PostgreSQL database"
        raise BadSetting(f"the store {show(text)}", expected, fix, "bad-store", ErrorLocation(text))

    @classmethod
    def of_study(cls, study: Study, store: str | Path | None = None) -> StoreLocation:
        """The store of a study: `store`, or its default."""
        return cls.of(store or default_location(study))

    def __str__(self) -> str:
        return str(self.file) if self.file else self.url.render_as_string(hide_password=True)


THIS_MACHINE = ("", "localhost", "127.0.0.1", "::1")


def _encrypted(url: sa.URL) -> sa.URL:
    """The address of a database on another machine asks for TLS with a verified certificate, unless it says otherwise
    itself. A host that begins with a slash is a socket of this machine."""
    hosts = url.query.get("host", url.host or "")
    named = [hosts] if isinstance(hosts, str) else list(hosts)
    is_here = all(each in THIS_MACHINE or each.startswith("/") for host in named for each in host.split(","))
    if is_here or "sslmode" in url.query or "PGSSLMODE" in os.environ:
        return url
    return url.update_query_dict({"sslmode": "verify-full"})


def default_location(study: Study) -> Path:
    """The default store of a study: `store/answers.sqlite` next to its file."""
    assert study.path is not None
    file = study.path.parent / "store" / "answers.sqlite"
    if path_inside(file, (study.path.parent,)) is None:
        found, expected = "a link to a place outside the study's folder", "a store in the study's folder"
        fix = "remove the link; to store the answers elsewhere, name the file with --store"
        raise BadSetting(found, expected, fix, "outside-folder", ErrorLocation(str(file)))
    return file
