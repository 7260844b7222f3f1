"""Opening a store: an SQLite file beside the study, or a PostgreSQL database by its URL.

SQLite: one connection writes *and* checkpoints (releases before 3.51.3 can lose committed rows when another one does),
readers open the file read-only, and a lock file keeps a second server away. PostgreSQL must be set to keep what it
acknowledges; otherwise we refuse to start.

What the failure of a store means: no room, a disk that cannot be relied on, or one request that went wrong.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import StaticPool

from sfumato.store.location import StoreLocation
from sfumato.store.queries import broken_ends, lock_store
from sfumato.tables.errors import BadFile, BadSetting, ErrorLocation, SfumatoError, StoreDown

LATEST = "0004"
"""The version of the tables this release works with, the last file under `migrations/versions`."""


def writing_engine(place: StoreLocation) -> sa.Engine:
    """An engine with exactly one connection, the one that writes; tables are made or brought up to date.

    What a statement that fails was given stays out of its error, and so out of logs: it may be an answer.
    """
    if place.file is None:
        engine = sa.create_engine(place.url, pool_size=1, max_overflow=0, pool_pre_ping=True, hide_parameters=True)
    else:
        make_private(place.file)
        engine = sa.create_engine(
            place.url,
            poolclass=StaticPool,
            connect_args={"isolation_level": None, "check_same_thread": False},
            hide_parameters=True,
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    with _explained(engine, place):
        if place.file is None:
            check_durable(engine)
        migrate(engine, place)
    return engine


def reading_engine(place: StoreLocation, *, any_version: bool = False) -> sa.Engine:
    """An engine that can only read, for exports and look-ups beside a running server.

    A store of an older release is refused, unless whoever reads it needs no column that came later.
    """
    if place.file is None:
        engine = sa.create_engine(
            place.url,
            # Said of each transaction: poolers take no such setting when a connection is opened.
            execution_options={"postgresql_readonly": True},
            isolation_level="REPEATABLE READ",
            pool_size=2,
            pool_pre_ping=True,
            hide_parameters=True,
        )
    elif place.file.exists():
        name = f"file:{quote(str(place.file.absolute()))}"
        url = sa.URL.create("sqlite", database=name, query={"mode": "ro", "uri": "true"})
        engine = sa.create_engine(
            url, connect_args={"isolation_level": None, "check_same_thread": False}, hide_parameters=True
        )
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    else:
        raise _no_store(place)
    with _explained(engine, place):
        version = _version(engine)
        if version is None:
            raise _no_store(place)
        _check_not_newer(version, place)
        if version != LATEST and not any_version:
            raise _older(version, place)
    return engine


def is_store(place: StoreLocation) -> bool:
    """Whether there is a store; raises if something else is there, or one that a later release made."""
    try:
        reading_engine(place, any_version=True).dispose()
    except BadFile as error:
        if error.code == "no-store":
            return False
        raise
    return True


def is_latest(place: StoreLocation) -> bool:
    """Whether the tables of a store are those of this release."""
    engine = reading_engine(place, any_version=True)
    try:
        return _version(engine) == LATEST
    finally:
        engine.dispose()


@contextlib.contextmanager
def only_server(place: StoreLocation) -> Iterator[None]:
    """Hold the lock against a second server on the same file; PostgreSQL keeps order itself."""
    if place.file is None:
        yield
        return
    path = place.file.with_name(place.file.name + ".lock")
    try:
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unwritable(place.file, error) from error
    with open(opened, "r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadSetting(
                f"found another server at work on this store (process {lock.read().strip() or 'unknown'})",
                expected="one server a file",
                fix="stop the other one first, or use PostgreSQL for several",
                code="store-in-use",
                where=ErrorLocation(str(place.file)),
            ) from None
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def check_durable(engine: sa.Engine) -> None:
    """Refuse a PostgreSQL server that may forget what it has acknowledged."""
    with engine.connect() as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            value = connection.exec_driver_sql(f"SHOW {setting}").scalar_one()
            if value == "off":
                raise BadSetting(
                    f"found {setting} = off in PostgreSQL",
                    expected="a database that keeps what it acknowledges",
                    fix=f"set {setting} = on in postgresql.conf and reload it",
                    code="not-durable",
                )


def check_whole(engine: sa.Engine) -> None:
    """Refuse an SQLite store that is not as it was left: its pages, and the last answer of every study, which the store
    notes beside it. For after a failure of the disk; `verify` looks at every answer.

    Then all of the -wal is written into the database anew and synced, and the -wal begun anew: parts of it may be known
    to the system and yet not be on the disk, and what is written behind such a hole is lost when the power goes.
    """
    with engine.begin() as connection:
        said = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
        if said != "ok":
            raise _damaged(str(said))
        for study in broken_ends(connection):
            raise _damaged(f"the last answers of study {study}")
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        row = cursor.fetchone()
        is_busy = row is None or bool(row[0])
        cursor.close()
    finally:
        raw.close()
    if is_busy:
        raise StoreDown(
            "found others reading the store, which has to be written anew after a failure of the disk",
            expected="a moment without readers",
            fix="try again in a moment; nothing was acknowledged, so nothing is lost",
            code="store-down",
        )


def migrate(engine: sa.Engine, place: StoreLocation) -> None:
    """Bring the tables to `LATEST` in one transaction; a store made by a later release is refused."""
    version = _version(engine)
    if version == LATEST:
        return
    _check_not_newer(version, place)
    # Alembic is needed once in the life of a store, so starting does not wait for it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection:
        lock_store(connection)
        # Another server may have made them while we waited.
        if _version_in(connection) != LATEST:
            config.attributes["connection"] = connection
            command.upgrade(config, LATEST)


def _version(engine: sa.Engine) -> str | None:
    with engine.connect() as connection:
        return _version_in(connection)


def _version_in(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(sa.select(sa.text("version_num")).select_from(sa.text("alembic_version")))
    return found.scalar_one_or_none()


def make_private(file: Path) -> None:
    """Make the file readable by its owner alone, before anything is in it; -wal and -shm take its mode over."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        os.fchmod(number, 0o600)
        os.close(number)
    except OSError as error:
        raise _unwritable(file, error) from error


def _prepare_sqlite(connection: Any, _record: object) -> None:
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "busy_timeout = 5000",
        "trusted_schema = OFF",
        "recursive_triggers = ON",  # a row that replaces another must pass the trigger that refuses deletions
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextlib.contextmanager
def _explained(engine: sa.Engine, place: StoreLocation) -> Iterator[None]:
    """Errors of the database as errors of ours; the engine is let go of."""
    try:
        yield
    except sa.exc.DatabaseError as error:
        engine.dispose()
        raise _unreadable(place, error) from error
    except SfumatoError:
        engine.dispose()
        raise


def _check_not_newer(version: str | None, place: StoreLocation) -> None:
    if version is not None and version > LATEST:
        raise BadFile(
            f"found a store of version {version}",
            expected=f"at most version {LATEST}, which this release knows",
            fix="use the newer sfumato that made it; nothing was changed",
            code="newer-store",
            where=ErrorLocation(str(place)),
        )


def _older(version: str, place: StoreLocation) -> BadFile:
    return BadFile(
        f"found a store of version {version}",
        expected=f"version {LATEST}, which this release works with",
        fix="serve the study once with this release, which brings it up to date (sfumato backup works before, too)",
        code="older-store",
        where=ErrorLocation(str(place)),
    )


def _no_store(place: StoreLocation) -> BadFile:
    return BadFile(
        "found no answers yet",
        expected="the store of a study that was served",
        fix="run sfumato serve, or name the store with --store",
        code="no-store",
        where=ErrorLocation(str(place)),
    )


def _damaged(what: str) -> StoreDown:
    return StoreDown(
        f"found a store that is damaged ({what})",
        expected="a store that is whole",
        fix="stop the server, look with sfumato verify, and go on from a backup",
        code="store-damaged",
    )


def _unwritable(file: Path, error: OSError) -> BadSetting:
    return BadSetting(
        f"found a store that cannot be written ({error.strerror})",
        expected="a file in a folder of yours",
        fix="name another place with --store",
        code="bad-store",
        where=ErrorLocation(str(file)),
    )


def _unreadable(place: StoreLocation, error: Exception) -> BadFile:
    return BadFile(
        f"found a store that cannot be opened ({type(error).__name__}: {str(error).splitlines()[0]})",
        expected="an SQLite file or PostgreSQL database of sfumato",
        fix="name another place with --store; nothing was changed",
        code="bad-store",
        where=ErrorLocation(str(place)),
    )


NO_ROOM = 13
"""SQLITE_FULL."""
UNRELIABLE = {8, 10, 11, 14, 26}
"""SQLITE_READONLY, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_CANTOPEN and SQLITE_NOTADB."""
POSTGRESQL_NO_ROOM = "53100"


class Failure(Enum):
    """What failed. What was being written is undone in any case, and nothing of it was acknowledged."""

    NO_ROOM = "no room"
    """The store is whole, and goes on as soon as there is room."""
    DISK = "disk"
    """A write or a sync failed. Who tries the same again may be told of a success that is none (the system may count
    pages as clean that never reached the disk), so the store is opened and looked at anew before the next write."""
    REQUEST = "request"
    """Anything else: other requests may do better."""


def failure_of(error: BaseException) -> Failure:
    """What an error that came while writing means."""
    if not isinstance(error, sa.exc.DBAPIError):
        return Failure.REQUEST
    # SQLite's extended codes keep the kind of failure in their last byte.
    number = (getattr(error.orig, "sqlite_errorcode", None) or 0) & 0xFF
    if number == NO_ROOM or getattr(error.orig, "sqlstate", None) == POSTGRESQL_NO_ROOM:
        return Failure.NO_ROOM
    return Failure.DISK if number in UNRELIABLE else Failure.REQUEST


def down_because(error: BaseException) -> StoreDown:
    """The error that people hear of, who may try again."""
    if isinstance(error, StoreDown):
        return error
    if failure_of(error) is Failure.NO_ROOM:
        return StoreDown(
            "found no room left where answers are kept",
            expected="room for more answers",
            fix="free some space; nothing was acknowledged, so nothing is lost, and it goes on by itself",
            code="storage-full",
        )
    return down(f"the store failed ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})")


def down(found: str) -> StoreDown:
    """The error for a store that cannot write at the moment."""
    return StoreDown(
        f"found that {found}",
        expected="a store that can write",
        fix="try again in a moment; nothing was acknowledged, so nothing is lost",
        code="store-down",
    )
