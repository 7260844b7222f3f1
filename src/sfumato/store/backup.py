"""Backups: a store copied into one SQLite file while a server runs, and a store restored from such a file.

A copy is one snapshot with every answer acknowledged before it began. It is read by a read-only connection, which does
not checkpoint (`database.py` says why only the writer may), and gets its final name after it was verified and synced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from sfumato.store import database
from sfumato.store.location import StoreLocation
from sfumato.store.queries import STREAMED
from sfumato.store.schema import METADATA
from sfumato.store.verification import Verified, verify
from sfumato.tables.errors import BadFile, BadSetting
from sfumato.tables.files.atomic_write import atomic_write


@dataclass(frozen=True)
class BackupResult:
    """A finished copy: its size, and the verification of each study (none for an older release's store)."""

    n_bytes: int
    studies: tuple[Verified, ...]

    @property
    def n_answers(self) -> int:
        return sum(study.n_answers for study in self.studies)

    @property
    def n_faults(self) -> int:
        return sum(len(study.faults) for study in self.studies)


def backup(place: StoreLocation, output: Path) -> BackupResult:
    """Copy the store into the file `output`, readable by its owner only. A server may be running."""
    if place.file is not None and place.file.resolve() == output.resolve():
        fix = "choose another output, preferably on another disk"
        raise BadSetting("the store itself as the output", "another file", fix, "output-is-input", output)
    with atomic_write(output) as part:
        database.make_private(part)
        if place.file is not None:
            copy_file(database.reading_engine(place, any_version=True), part)
        else:
            _copy_rows(place, StoreLocation.of(part))
        return _checked(StoreLocation.of(part), output)


def restore(file: Path, place: StoreLocation) -> BackupResult:
    """Create the store `place` from a backup. An existing store is never overwritten."""
    source = StoreLocation.of(file)
    if place.file is None:
        _check_free(place)
        _copy_rows(source, place)
        return BackupResult(file.stat().st_size, tuple(verify(place)))
    database.make_private(place.file)
    with database.only_server(place):
        _check_free(place)
        with atomic_write(place.file) as part:
            database.make_private(part)
            copy_file(database.reading_engine(source, any_version=True), part)
            return _checked(StoreLocation.of(part), place.file)


def copy_file(engine: sa.Engine, part: Path) -> None:
    """Copy a snapshot of an SQLite store into the empty file `part`, without a -wal file."""
    try:
        # VACUUM cannot run inside a transaction.
        with closing(engine.raw_connection()) as connection:
            connection.cursor().execute("VACUUM INTO ?", (str(part),))
    finally:
        engine.dispose()


def _copy_rows(source: StoreLocation, target: StoreLocation) -> None:
    """Copy every row, where one of the stores is in PostgreSQL: one snapshot read, one transaction written."""
    with database.reading(source) as rows:
        writer = database.writing_engine(target)
        try:
            with writer.begin() as copy:
                for table in METADATA.sorted_tables:
                    for part in _parts(rows, table):
                        copy.execute(sa.insert(table), part)
            if target.file is not None:
                with closing(writer.raw_connection()) as raw:
                    raw.cursor().execute("PRAGMA journal_mode = DELETE")
        finally:
            writer.dispose()


def _parts(connection: sa.Connection, table: sa.Table) -> Iterator[list[dict[str, object]]]:
    """The rows of a table, some thousand at a time."""
    found = sa.select(table).order_by(table.c.id)
    result = connection.execute(found, execution_options=STREAMED)
    for part in result.partitions():
        yield [dict(row._mapping) for row in part]


def _checked(copy: StoreLocation, named: Path) -> BackupResult:
    """The contents of a copy; raises if it is damaged."""
    assert copy.file is not None
    try:
        with database.reading(copy, any_version=True) as connection:
            result = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
    except sa.exc.DatabaseError as error:
        result = str(error.orig)
    if result != "ok":
        raise BadFile(f"a damaged store ({result})", "an intact store", "use an earlier backup", "damaged-store", named)
    return BackupResult(copy.file.stat().st_size, tuple(verify(copy)) if database.is_latest(copy) else ())


def _check_free(place: StoreLocation) -> None:
    if (place.file is not None and place.file.stat().st_size == 0) or not database.is_store(place):
        return
    found, expected = "an existing store", "a location without a store: nothing is overwritten"
    raise BadSetting(found, expected, "choose another location, or move this store first", "store-exists", str(place))
