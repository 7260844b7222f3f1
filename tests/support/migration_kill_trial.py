"""Trial: the migration of an older store is killed repeatedly."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from big_store import OLDER, write_older_store
from sqlalchemy import event

from sfumato.store.database import LATEST, reading_engine, writing_engine
from sfumato.store.location import StoreLocation
from sfumato.store.verification import verify
from sfumato.tables.errors import SfumatoError


@dataclass
class MigrationReport:
    """The result after each kill and at the end."""

    kills: int = 0
    during: int = 0
    """Kills before the end of the migration."""
    answers: int = 0
    lost: int = 0
    broken: int = 0
    """Stores with neither the old nor the new version, or that cannot be opened."""
    refused_newer: bool = False
    """Whether a store of a newer release was refused and not changed."""

    @property
    def clean(self) -> bool:
        return self.lost == self.broken == 0 and self.during > 0 and self.refused_newer

    def __str__(self) -> str:
        kills = f"{self.kills} kills ({self.during} during the migration) of the upgrade of {self.answers:,} answers"
        newer = "refused" if self.refused_newer else "NOT refused"
        return f"{kills}, {self.lost} lost, {self.broken} broken, a newer store is {newer}"


def migration_kill_trial(
    folder: Path, n_answers: int, n_kills: int, *, seed: int, in_parts: bool = False, until: float = float("inf")
) -> MigrationReport:
    """Kill the upgrade of a store with `n_answers` at random moments.

    Control: `in_parts` commits after each ALTER statement, which a migration must not do.
    """
    rng, report = random.Random(seed), MigrationReport(answers=n_answers)
    first, file = folder / "first.sqlite", folder / "answers.sqlite"
    write_older_store(first, n_answers)
    _copy(first, file)
    begun = time.monotonic()
    os.waitpid(_fork(lambda: _migrate(file)), 0)
    whole_seconds = time.monotonic() - begun
    _copy(first, file)
    while report.kills < n_kills and (report.kills == 0 or time.monotonic() < until):
        pid = _fork(lambda: _migrate(file, in_parts))
        time.sleep(rng.uniform(0.02, 0.98) * whole_seconds)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        report.kills += 1
        was_killed = os.WIFSIGNALED(status)
        report.during += was_killed
        if _version(file) not in (OLDER, LATEST) or not _is_whole(file, n_answers, report):
            report.broken += 1
            _copy(first, file)
        elif not was_killed or _version(file) == LATEST:
            _copy(first, file)
    if not in_parts:
        _migrate(file)
        (found,) = verify(StoreLocation.of(file))
        report.lost += n_answers - found.n_answers
        report.broken += bool(found.faults)
        report.refused_newer = _refuses_newer(file)
    return report


def _migrate(file: Path, in_parts: bool = False) -> None:
    if in_parts:
        event.listen(sa.Engine, "after_cursor_execute", _commit)
    writing_engine(StoreLocation.of(file)).dispose()


def _commit(connection: sa.Connection, _cursor: Any, statement: str, *_: object) -> None:
    if statement.lstrip().startswith("ALTER"):
        connection.connection.cursor().execute("COMMIT")
        connection.connection.cursor().execute("BEGIN IMMEDIATE")


def _fork(do: Callable[[], None]) -> int:
    """The id of a forked process that runs `do` and exits; it need not import anything."""
    pid = os.fork()
    if pid:
        return pid
    try:
        do()
    finally:
        # A store that cannot be opened is found by the next check.
        os._exit(0)


def _copy(first: Path, file: Path) -> None:
    for name in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm"))):
        name.unlink(missing_ok=True)
    file.write_bytes(b"")
    os.chmod(file, 0o600)
    with first.open("rb") as source, file.open("wb") as target:
        while part := source.read(2**22):
            target.write(part)


def _version(file: Path) -> str | None:
    connection = sqlite3.connect(file)
    try:
        return connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    except sqlite3.Error:
        return None
    finally:
        connection.close()


def _is_whole(file: Path, n_answers: int, report: MigrationReport) -> bool:
    """Whether all answers are there, and all tables have the same version."""
    connection = sqlite3.connect(file)
    try:
        (n_found,) = connection.execute("SELECT count(*) FROM answers").fetchone()
        columns = {row[1] for row in connection.execute("PRAGMA table_info(answers)")}
        (version,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        studies = {row[1] for row in connection.execute("PRAGMA table_info(studies)")}
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    report.lost += n_answers - n_found
    is_newer = {"chain" in columns, "head" in studies}
    return is_newer == {version != OLDER}


def _refuses_newer(file: Path) -> bool:
    connection = sqlite3.connect(file)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    codes = []
    for open_it in (writing_engine, reading_engine):
        try:
            open_it(StoreLocation.of(file)).dispose()
        except SfumatoError as error:
            codes.append(error.code)
    return codes == ["newer-store"] * 2 and _version(file) == "9999"
