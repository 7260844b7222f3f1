"""Backups: a store as one SQLite file, made while a server goes on with its work, and a store made from such a file.

A copy is one snapshot: it holds every answer that was acknowledged before it was begun. It is read by a connection that
cannot write, so it checkpoints nothing (`database.py` says why only the writer may), and it takes its name only once it
is whole, looked at and on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from sfumato.store.database import is_latest, is_store, make_private, only_server, reading_engine, writing_engine
from sfumato.store.location import StoreLocation
from sfumato.store.queries import ROWS_PER_FETCH
from sfumato.store.schema import METADATA
from sfumato.store.verification import Verified, verify
from sfumato.tables.errors import BadFile, BadSetting, ErrorLocation
from sfumato.tables.files.atomic_write import atomic_write


@dataclass(frozen=True)
class BackupResult:
    """A copy that was made: its size, and what `verify` finds in each study; of an older release's store, nothing."""

    n_bytes: int
    studies: tuple[Verified, ...]

    @property
    def n_answers(self) -> int:
        return sum(study.n_answers for study in self.studies)

    @property
    def n_faults(self) -> int:
        return sum(len(study.faults) for study in self.studies)


def backup(place: StoreLocation, output: Path) -> BackupResult:
    """Copy the store into the file `output`, which only its owner can read. A server may be at work meanwhile."""
    _check_other(place, output)
    with atomic_write(output) as part:
        make_private(part)
        if place.file is not None:
            copy_file(reading_engine(place, any_version=True), part)
        else:
            _copy_rows(place, StoreLocation.of(part))
        return _looked_at(StoreLocation.of(part), output)


def restore(file: Path, place: StoreLocation) -> BackupResult:
    """Make the store `place` from a backup. What is there already is never overwritten."""
    source = StoreLocation.of(file)
    if place.file is None:
        _check_free(place)
        _copy_rows(source, place)
        return BackupResult(file.stat().st_size, tuple(verify(place)))
    make_private(place.file)
    with only_server(place):
        _check_free(place)
        with atomic_write(place.file) as part:
            make_private(part)
            copy_file(reading_engine(source, any_version=True), part)
            return _looked_at(StoreLocation.of(part), place.file)


def copy_file(engine: sa.Engine, part: Path) -> None:
    """Copy an SQLite store into the empty file `part`, one snapshot; without a -wal beside it."""
    try:
        # Outside of any transaction: the statement is one by itself.
        connection = engine.raw_connection()
        try:
            connection.cursor().execute("VACUUM INTO ?", (str(part),))
        finally:
            connection.close()
    finally:
        engine.dispose()


def _copy_rows(source: StoreLocation, target: StoreLocation) -> None:
    """Copy every row, where one of the stores is in PostgreSQL: one snapshot read, one transaction written."""
    reader = reading_engine(source)
    try:
        writer = writing_engine(target)
        try:
            with reader.connect() as rows, rows.begin(), writer.begin() as copy:
                for table in METADATA.sorted_tables:
                    for part in _parts(rows, table):
                        copy.execute(sa.insert(table), part)
            if target.file is not None:
                raw = writer.raw_connection()
                raw.cursor().execute("PRAGMA journal_mode = DELETE")
                raw.close()
        finally:
            writer.dispose()
    finally:
        reader.dispose()


def _parts(connection: sa.Connection, table: sa.Table) -> Iterator[list[dict[str, object]]]:
    """The rows of a table, some thousand at a time."""
    found = sa.select(table).order_by(table.c.id)
    result = connection.execution_options(stream_results=True, yield_per=ROWS_PER_FETCH).execute(found)
    for part in result.partitions():
        yield [dict(row._mapping) for row in part]


def _looked_at(copy: StoreLocation, named: Path) -> BackupResult:
    """What is in a copy; raises unless it is whole."""
    assert copy.file is not None
    engine = reading_engine(copy, any_version=True)
    try:
        with engine.connect() as connection:
            said = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
    except sa.exc.DatabaseError as error:
        said = str(error.orig)
    finally:
        engine.dispose()
    if said != "ok":
        raise BadFile(
            f"found a damaged store ({said})",
            expected="a store that is whole",
            fix="use an earlier backup",
            code="damaged-store",
            where=ErrorLocation(str(named)),
        )
    return BackupResult(copy.file.stat().st_size, tuple(verify(copy)) if is_latest(copy) else ())


def _check_other(place: StoreLocation, output: Path) -> None:
    if place.file is None or place.file.resolve() != output.resolve():
        return
    raise BadSetting(
        "found the store itself as the place of its copy",
        expected="another file",
        fix="name another output, best on another disk",
        code="output-is-input",
        where=ErrorLocation(str(output)),
    )


def _check_free(place: StoreLocation) -> None:
    if (place.file is not None and place.file.stat().st_size == 0) or not is_store(place):
        return
    raise BadSetting(
        "found a store here already",
        expected="a place without one: nothing is overwritten",
        fix="name another place, or move this store away first",
        code="store-exists",
        where=ErrorLocation(str(place)),
    )
