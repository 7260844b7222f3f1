"""Opening a store (an SQLite file or a PostgreSQL database), migrating it, and classifying its failures.

SQLite: one connection writes *and* checkpoints (releases before 3.51.3 can lose committed rows when another one does),
readers open the file read-only, and a lock file keeps a second server out. PostgreSQL must have durable commits;
otherwise we refuse to start.
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

from sfumato.store.export_queries import broken_ends
from sfumato.store.location import StoreLocation
from sfumato.store.queries import lock_store
from sfumato.tables.errors import BadFile, BadSetting, SfumatoError, StoreDown

LATEST = "0006"
"""The schema version of this release, the last file under `migrations/versions`."""
SQLITE = {"isolation_level": None, "check_same_thread": False}
"""How SQLite files are opened: transactions begin only where we say so."""


def writing_engine(place: StoreLocation) -> sa.Engine:
    """An engine with exactly one connection for writing; tables are created or migrated.

    Parameters of failed statements are hidden from errors and logs: they may be answers.
    """
    if place.file is None:
        engine = sa.create_engine(place.url, pool_size=1, max_overflow=0, pool_pre_ping=True, hide_parameters=True)
    else:
        make_private(place.file)
        engine = sa.create_engine(place.url, poolclass=StaticPool, connect_args=SQLITE, hide_parameters=True)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with _explained(engine, place):
        if place.file is None:
            check_durable(engine)
        migrate(engine, place)
    return engine


def reading_engine(place: StoreLocation, *, any_version: bool = False) -> sa.Engine:
    """A read-only engine, for exports and queries next to a running server.

    A store of an older release is refused unless `any_version`.
    """
    if place.file is None:
        engine = sa.create_engine(
            place.url,
            # Set per transaction: connection poolers do not accept it when a connection is opened.
            execution_options={"postgresql_readonly": True},
            isolation_level="REPEATABLE READ",
            pool_size=2,
            pool_pre_ping=True,
            hide_parameters=True,
        )
    elif place.file.exists():
        name = f"file:{quote(str(place.file.absolute()))}"
        url = sa.URL.create("sqlite", database=name, query={"mode": "ro", "uri": "true"})
        engine = sa.create_engine(url, connect_args=SQLITE, hide_parameters=True)
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


@contextlib.contextmanager
def reading(place: StoreLocation, *, any_version: bool = False) -> Iterator[sa.Connection]:
    """A read-only connection in one transaction, that is one snapshot."""
    engine = reading_engine(place, any_version=any_version)
    try:
        with engine.connect() as connection, connection.begin():
            yield connection
    finally:
        engine.dispose()


def is_store(place: StoreLocation) -> bool:
    """Whether there is a store; raises if there is something else, or a store of a later release."""
    try:
        reading_engine(place, any_version=True).dispose()
    except BadFile as error:
        if error.code == "no-store":
            return False
        raise
    return True


def is_latest(place: StoreLocation) -> bool:
    """Whether the store has the schema version of this release."""
    with reading(place, any_version=True) as connection:
        return _version_in(connection) == LATEST


@contextlib.contextmanager
def only_server(place: StoreLocation) -> Iterator[None]:
    """Hold a lock against a second server on the same file; PostgreSQL needs none."""
    if place.file is None:
        yield
        return
    path = place.file.with_name(place.file.name + ".lock")
    try:
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unwritable(place.file, error) from error
    with open(opened, "r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            found = f"another server running on this store (process {lock.read().strip() or 'unknown'})"
            fix = "stop the other one first, or use PostgreSQL for several"
            raise BadSetting(found, "one server per file", fix, "store-in-use", place.file) from None
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def check_durable(engine: sa.Engine) -> None:
    """Refuse a PostgreSQL server whose commits are not durable."""
    with engine.connect() as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            value = connection.exec_driver_sql(f"SHOW {setting}").scalar_one()
            if value == "off":
                found, expected = f"{setting} = off in PostgreSQL", "a database with durable commits"
                raise BadSetting(found, expected, f"set {setting} = on in postgresql.conf and reload it", "not-durable")


def check_whole(engine: sa.Engine) -> None:
    """After a disk failure, refuse an SQLite store with damaged pages or with another last answer than recorded in
    `studies` (`verify` checks every answer).

    Then the whole -wal is checkpointed, synced and truncated: the system may hold parts of it in its cache that never
    reached the disk, and anything written after such a gap would be lost in a power failure.
    """
    with engine.begin() as connection:
        result = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
        if result != "ok":
            raise _damaged(str(result))
        for study in broken_ends(connection):
            raise _damaged(f"the last answers of study {study}")
    with contextlib.closing(engine.raw_connection()) as raw, contextlib.closing(raw.cursor()) as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        row = cursor.fetchone()
    if row is None or row[0]:
        found = "other readers of the store, which must be rewritten after a disk failure"
        fix = "try again in a moment; the request was not acknowledged, and no answer is lost"
        raise StoreDown(found, "a moment without readers", fix)


def migrate(engine: sa.Engine, place: StoreLocation) -> None:
    """Migrate the tables to `LATEST` in one transaction; a store of a later release is refused."""
    version = _version(engine)
    if version == LATEST:
        return
    _check_not_newer(version, place)
    # Imported only when needed, so that starting a server is fast.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection:
        lock_store(connection)
        # Another server may have migrated it while we waited.
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
    """Create the file readable by its owner only, before anything is in it; -wal and -shm inherit its mode."""
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
        "recursive_triggers = ON",  # so that REPLACE also fires the trigger that forbids deletions
    ):
        connection.execute(f"PRAGMA {pragma}")


@contextlib.contextmanager
def _explained(engine: sa.Engine, place: StoreLocation) -> Iterator[None]:
    """Convert database errors into ours, and dispose of the engine."""
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
        found, fix = f"a store of version {version}", "use the newer sfumato that created it; nothing was changed"
        raise BadFile(found, f"at most version {LATEST}, the latest of this release", fix, "newer-store", str(place))


def _older(version: str, place: StoreLocation) -> BadFile:
    found = f"a store of version {version}"
    fix = "serve the study once with this release, which migrates it (sfumato backup works before that, too)"
    return BadFile(found, f"version {LATEST}, the version of this release", fix, "older-store", str(place))


def _no_store(place: StoreLocation) -> BadFile:
    fix = "run sfumato serve, or name the store with --store"
    return BadFile("no answers yet", "the store of a study that was served", fix, "no-store", str(place))


def _damaged(what: str) -> StoreDown:
    fix = "stop the server, check with sfumato verify, and restore a backup"
    return StoreDown(f"a damaged store ({what})", "an intact store", fix, "store-damaged")


def _unwritable(file: Path, error: OSError) -> BadSetting:
    found, expected = f"a store that cannot be written ({error.strerror})", "a file in a folder you can write to"
    return BadSetting(found, expected, "name another place with --store", "bad-store", file)


def _unreadable(place: StoreLocation, error: Exception) -> BadFile:
    found = f"a store that cannot be opened ({type(error).__name__}: {str(error).splitlines()[0]})"
    expected = "an SQLite file or PostgreSQL database of sfumato"
    return BadFile(found, expected, "name another place with --store; nothing was changed", "bad-store", str(place))


NO_ROOM = 13
"""SQLITE_FULL."""
UNRELIABLE = {8, 10, 11, 14, 26}
"""SQLITE_READONLY, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_CANTOPEN and SQLITE_NOTADB."""
POSTGRESQL_NO_ROOM = "53100"


class Failure(Enum):
    """What failed. The transaction is rolled back in any case, and nothing of it was acknowledged."""

    NO_ROOM = "no room"
    """The disk is full; the store is intact and continues as soon as there is space."""
    DISK = "disk"
    """A write or a sync failed. A retry could report success wrongly (the system may mark pages as clean that never
    reached the disk), so the store is opened and checked before the next write."""
    REQUEST = "request"
    """Anything else; other requests may succeed."""


def failure_of(error: BaseException) -> Failure:
    """What kind of failure an error during writing is."""
    if not isinstance(error, sa.exc.DBAPIError):
        return Failure.REQUEST
    # The last byte of SQLite's extended codes is the primary code.
    number = (getattr(error.orig, "sqlite_errorcode", None) or 0) & 0xFF
    if number == NO_ROOM or getattr(error.orig, "sqlstate", None) == POSTGRESQL_NO_ROOM:
        return Failure.NO_ROOM
    return Failure.DISK if number in UNRELIABLE else Failure.REQUEST


def down_because(error: BaseException) -> StoreDown:
    """The error that clients get; they may retry."""
    if isinstance(error, StoreDown):
        return error
    if failure_of(error) is Failure.NO_ROOM:
        fix = "free some space; the server then continues, and no acknowledged answer is lost"
        return StoreDown("no disk space left for answers", "disk space for more answers", fix, "storage-full")
    return down(f"the store failed ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})")


def down(found: str) -> StoreDown:
    """The error for a store that cannot write at the moment."""
    fix = "try again in a moment; the request was not acknowledged, and no answer is lost"
    return StoreDown(f"that {found}", "a store that can write", fix)
