"""Power cuts: SQLite on a simulated disk that loses data that was not synced.

A VFS (apsw) passes everything on to real files and records, per file, what was synced and what was written since. A cut
may_write before a chosen write or sync. The disk then has the synced part and a random selection of the later writes,
some of them torn.
"""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import StaticPool

from sfumato.store import database

SECTOR = 512
NUMBERS = {
    apsw.ReadOnlyError: apsw.SQLITE_READONLY,
    apsw.IOError: apsw.SQLITE_IOERR,
    apsw.CorruptError: apsw.SQLITE_CORRUPT,
    apsw.FullError: apsw.SQLITE_FULL,
    apsw.CantOpenError: apsw.SQLITE_CANTOPEN,
    apsw.NotADBError: apsw.SQLITE_NOTADB,
}
"""SQLite's codes for these errors; errors raised by our disk do not contain them."""


@dataclass
class Content:
    """A file: the synced content and the writes since, as (offset, bytes); a truncation is (length, None)."""

    safe: bytearray = field(default_factory=bytearray)
    since: list[tuple[int, bytes | None]] = field(default_factory=list)

    def synced(self) -> None:
        for at, data in self.since:
            _apply(self.safe, at, data)
        self.since.clear()

    def after_power_cut(self, rng: random.Random) -> bytes:
        """The content after a power cut."""
        found = bytearray(self.safe)
        for at, data in self.since:
            if rng.random() < 0.5:
                continue
            if data is not None and len(data) > SECTOR and rng.random() < 0.3:
                # Torn write: only some whole sectors were stored.
                data = data[: SECTOR * rng.randrange(1, 1 + len(data) // SECTOR)]
            _apply(found, at, data)
        return bytes(found)


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        return
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


class Disk(apsw.VFS):
    """The disk. `cut_before` is the number of the write, truncation, sync or deletion before which power is cut."""

    def __init__(self, name: str, cut_before: int | None = None) -> None:
        self.name = name
        self.files: dict[str, Content] = {}
        self.n_operations = 0
        self.cut_before = cut_before
        self.is_cut = False
        self.is_over = False
        """The run has ended: operations of SQLite while it closes its files are ignored."""
        super().__init__(name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> DiskFile:  # noqa: N802
        if isinstance(name, apsw.URIFilename):
            name = name.filename()
        return DiskFile(self, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        if self.may_write():
            super().xDelete(name, syncdir)
            self.files.pop(name, None)

    def may_write(self) -> bool:
        """Count an operation; whether it reaches the disk. Raises an error after the power cut."""
        if self.is_over:
            return False
        if self.is_cut or self.n_operations == self.cut_before:
            self.is_cut = True
            raise apsw.IOError("power cut")
        self.n_operations += 1
        return True

    def fails(self, syncing: Content | None = None) -> None:
        """Called before a write, or before `syncing` is synced; subclasses may fail here."""

    def write_remains(self, rng: random.Random, folder: Path) -> None:
        """Write the files as they are after the cut to `folder`."""
        for name, content in self.files.items():
            (folder / Path(name).name).write_bytes(content.after_power_cut(rng))


class DiskFile(apsw.VFSFile):
    """An open file of the disk. The real file is only for SQLite to read before the cut."""

    def __init__(self, disk: Disk, name: str, flags: list[int]) -> None:
        self._disk = disk
        self._name = name
        if name not in disk.files:
            path = Path(name)
            disk.files[name] = Content(bytearray(path.read_bytes() if path.exists() else b""))
        super().__init__("", name, flags)

    @property
    def _content(self) -> Content:
        return self._disk.files.setdefault(self._name, Content())

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._disk.may_write():
            self._disk.fails()
            super().xWrite(data, offset)
            self._content.since.append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        if self._disk.may_write():
            super().xTruncate(size)
            self._content.since.append((size, None))

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._disk.may_write():
            self._disk.fails(self._content)
            super().xSync(flags)
            self._content.synced()


# --- SQLAlchemy on apsw: the part of the database interface that our statements need ---


class Cursor:
    """A cursor that has read all its rows."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid = None
        self.arraysize = 1
        self._rows: list[Any] = []

    def execute(self, statement: str, parameters: Any = ()) -> Cursor:
        cursor = self._connection.apsw.cursor()
        # Before the statement runs: without rows the columns are not available afterwards.
        cursor.exec_trace = self._described
        try:
            self._rows = [tuple(row) for row in cursor.execute(statement, parameters or ())]
        except apsw.ConstraintError as error:
            raise IntegrityError(error) from error
        except apsw.Error as error:
            raise OperationalError(error) from error
        self.rowcount = self._connection.apsw.changes()
        return self

    def _described(self, cursor: Any, _statement: str, _bindings: Any) -> bool:
        self.description = tuple((each[0], *(None,) * 6) for each in cursor.get_description()) or None
        return True

    def executemany(self, statement: str, many: Any) -> Cursor:
        for parameters in many:
            self.execute(statement, parameters)
        return self

    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[Any]:
        found, self._rows = self._rows, []
        return found

    def fetchmany(self, size: int = 1) -> list[Any]:
        found, self._rows = self._rows[:size], self._rows[size:]
        return found

    def close(self) -> None:
        self._rows = []


class Connection:
    """A connection to a database on a `Disk`."""

    isolation_level = None
    total_changes = 0

    def __init__(self, path: str, disk: Disk) -> None:
        self.apsw = apsw.Connection(path, vfs=disk.name)
        # Without shared memory, which a VFS of apsw does not have; the same data reaches the disk.
        self.apsw.execute("PRAGMA locking_mode = EXCLUSIVE")

    def cursor(self, *_: Any) -> Cursor:
        return Cursor(self)

    def execute(self, statement: str, parameters: Any = ()) -> Cursor:
        return self.cursor().execute(statement, parameters)

    def commit(self) -> None:
        if self.apsw.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        if self.apsw.in_transaction:
            self.execute("ROLLBACK")

    def create_function(self, *_: Any, **__: Any) -> None:
        """Not needed by our statements."""

    def close(self) -> None:
        # Closing the last connection runs a checkpoint, which may fail on a failing disk.
        with contextlib.suppress(apsw.Error):
            self.apsw.close(True)


class Error(Exception):
    """An error with SQLite's error code, as in Python's own driver."""

    def __init__(self, error: apsw.Error) -> None:
        super().__init__(str(error))
        self.sqlite_errorcode = NUMBERS.get(type(error), 0)


class DatabaseError(Error):
    """A database error."""


class OperationalError(DatabaseError):
    """The disk failed, or the statement could not be run."""


class IntegrityError(DatabaseError):
    """A constraint does not hold."""


class Interface:
    """The driver module for SQLAlchemy."""

    paramstyle = "qmark"
    sqlite_version_info = (3, 45, 0)
    sqlite_version = "3.45.0"
    Error, DatabaseError, OperationalError, IntegrityError = Error, DatabaseError, OperationalError, IntegrityError
    InterfaceError = InternalError = ProgrammingError = NotSupportedError = DataError = DatabaseError
    Binary = bytes


def engine_on(disk: Disk, file: Path, *, synchronous: str = "FULL", checkpoint_every: int = 1000) -> sa.Engine:
    """An engine like that of `writing_engine`, on the disk, with the current schema."""
    engine = sa.create_engine(
        "sqlite://",
        module=Interface,
        creator=lambda: Connection(str(file), disk),
        poolclass=StaticPool,
        native_datetime=True,
    )
    event.listen(engine, "connect", database._prepare_sqlite)
    event.listen(engine, "connect", lambda connection, _: connection.execute(f"PRAGMA synchronous = {synchronous}"))
    event.listen(
        engine, "connect", lambda connection, _: connection.execute(f"PRAGMA wal_autocheckpoint = {checkpoint_every}")
    )
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    database.migrate(engine, database.StoreLocation.of(str(file)))
    return engine
