"""Trial: the power is cut at a random moment, and the store on the disk is checked."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import sqlalchemy as sa
from power_cut import Disk, engine_on
from study_instance import items_named, plain_study, sent

from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.participant_link import hash_of
from sfumato.elicitation.running_study import RunningStudy
from sfumato.store import database
from sfumato.store.backup import copy_file
from sfumato.store.database import writing_engine
from sfumato.store.location import StoreLocation
from sfumato.store.verification import verify
from sfumato.store.writer import Writer
from sfumato.study.study import People
from sfumato.tables.errors import SfumatoError, StoreDown
from sfumato.tables.files.atomic_write import atomic_write

N_ANSWERS = 12
"""Answers in a run without a cut."""
OLDER = "0002"
"""The store version before the migration."""
CHECKPOINTS = (1000, 20, 4)
"""Pages between SQLite checkpoints: rare, occasional and frequent checkpoints."""


@dataclass
class CutReport:
    """The result of a number of power cuts."""

    cuts: int = 0
    acknowledged: int = 0
    lost: int = 0
    corrupt: int = 0
    """Stores that cannot be opened, or whose integrity check or hash chain fails."""

    @property
    def clean(self) -> bool:
        return self.lost == self.corrupt == 0 and self.acknowledged > 0

    def __str__(self) -> str:
        return f"{self.cuts} cuts, {self.acknowledged:,} acknowledged, {self.lost} lost, {self.corrupt} corrupt"


def power_cut_trial(n_cuts: int, *, seed: int, synchronous: str = "FULL", until: float | None = None) -> CutReport:
    """Cut the power during answers: in some runs during a commit, in others during a checkpoint."""
    report, rng = CutReport(), random.Random(seed)
    with in_memory() as place:
        first = place / "first.sqlite"
        write_store(first)
        n_operations = {each: _operations(first, place, synchronous, each) for each in CHECKPOINTS}
        for _ in range(n_cuts):
            if until is not None and time.monotonic() > until:
                break
            every = rng.choice(CHECKPOINTS)
            cut = rng.randrange(1, n_operations[every])
            _cut(first, place / "cut", cut, every, synchronous, rng, report)
    return report


def migration_cut_trial(n_cuts: int, *, seed: int, until: float | None = None) -> CutReport:
    """Cut the power while tables are created or an older store with answers is migrated."""
    report, rng = CutReport(), random.Random(seed)
    with in_memory() as place:
        older = place / "older.sqlite"
        known = older_store(older)
        n_operations = {each: _migrate(each, place / "whole").n_operations for each in (None, older)}
        for number in range(n_cuts):
            if until is not None and time.monotonic() > until:
                break
            store = None if number % 2 == 0 else older
            _cut_migration(store, place / "cut", rng.randrange(1, n_operations[store]), rng, report, known)
    return report


def backup_cut_trial(n_cuts: int, *, seed: int, in_place: bool = False, until: float | None = None) -> CutReport:
    """Cut the power while a store is backed up over an older backup. Store and backup must be intact, old or new.

    Control: a backup that is written `in_place`.
    """
    report, rng = CutReport(), random.Random(seed)
    with in_memory() as place:
        first = place / "first.sqlite"
        write_store(first)
        known = _add_answers(first)
        whole = Disk(uuid.uuid4().hex)
        _back_up(whole, copy_store(first, place / "whole"), in_place)
        for _ in range(n_cuts):
            if until is not None and time.monotonic() > until:
                break
            cut = rng.randrange(1, whole.n_operations + 2)
            _cut_backup(copy_store(first, place / "cut"), cut, in_place, rng, report, known)
    return report


# --- one cut ---


def write_store(file: Path) -> None:
    """Write a store with the study."""
    writer = Writer(writing_engine(StoreLocation.of(str(file))), running_study())
    writer.start()
    writer.stop()


def running_study() -> RunningStudy:
    study = plain_study(people=People(answers_per_item=50, batch_size=40))
    return RunningStudy(study, kinds_of(study), items_named(40), rng=random.Random(1))


def copy_store(first: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file = folder / "answers.sqlite"
    shutil.copy(first, file)
    return file


def _operations(first: Path, place: Path, synchronous: str, every: int) -> int:
    """The number of disk operations in a run without a cut."""
    disk = Disk(uuid.uuid4().hex)
    assert len(_send_answers(disk, copy_store(first, place / "whole"), synchronous, every)) == N_ANSWERS
    return disk.n_operations


def _send_answers(disk: Disk, file: Path, synchronous: str, every: int) -> list[str]:
    """Send answers until the power is cut; returns the handles of the acknowledged ones."""
    acknowledged: list[str] = []
    with contextlib.suppress(StoreDown, Exception):
        engine = engine_on(disk, file, synchronous=synchronous, checkpoint_every=every)
        writer = Writer(engine, running_study())
        try:
            writer.start()
            token = writer.run(lambda running: running.sessions.join()).token
            state = writer.run(lambda running: running.sessions.finish_instructions(hash_of(token)))
            for _ in range(N_ANSWERS):
                answer = sent(state.trials[0].handle)
                outcome = writer.run(lambda running, answer=answer: running.sessions.submit(hash_of(token), answer))
                assert outcome.answer is not None
                acknowledged.append(outcome.answer)
                state = outcome.state
        finally:
            disk.is_over = True
            with contextlib.suppress(Exception):
                writer.stop()
    disk.is_over = True
    return acknowledged


def _cut(
    first: Path, folder: Path, at: int, every: int, synchronous: str, rng: random.Random, report: CutReport
) -> None:
    file = copy_store(first, folder)
    disk = Disk(uuid.uuid4().hex, cut_before=at)
    acknowledged = _send_answers(disk, file, synchronous, every)
    found = folder / "found"
    found.mkdir()
    disk.write_remains(rng, found)
    report.cuts += 1
    report.acknowledged += len(acknowledged)
    handles = handles_of(found / file.name)
    if handles is None:
        report.corrupt += 1
    else:
        report.lost += len(set(acknowledged) - handles)


def handles_of(file: Path) -> set[str] | None:
    """The handles of the answers in a store after a crash; None if it is damaged."""
    try:
        engine = writing_engine(StoreLocation.of(str(file)))
        with engine.begin() as connection:
            is_whole = connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
            handles = set(connection.exec_driver_sql("SELECT handle FROM answers").scalars())
        engine.dispose()
        faults = [fault for each in verify(StoreLocation.of(str(file))) for fault in each.faults]
    except (SfumatoError, sa.exc.SQLAlchemyError):
        return None
    return handles if is_whole and not faults else None


def older_store(file: Path) -> set[str]:
    """Write a store of an older release with answers; returns their handles."""
    write_store(file)
    handles = _add_answers(file)
    _downgrade(file)
    return handles


def _add_answers(file: Path) -> set[str]:
    """Add answers to a store on a normal disk; returns their handles."""
    disk_free = writing_engine(StoreLocation.of(str(file)))
    writer = Writer(disk_free, running_study())
    writer.start()
    token = writer.run(lambda running: running.sessions.join()).token
    state = writer.run(lambda running: running.sessions.finish_instructions(hash_of(token)))
    handles = set()
    for _ in range(N_ANSWERS):
        answer = sent(state.trials[0].handle)
        outcome = writer.run(lambda running, answer=answer: running.sessions.submit(hash_of(token), answer))
        handles.add(str(outcome.answer))
        state = outcome.state
    writer.stop()
    return handles


def _downgrade(file: Path) -> None:
    """Remove what later migrations added, to get a store of version `OLDER`."""
    scratch = file.with_name("scratch.sqlite")
    latest, database.LATEST = database.LATEST, OLDER
    try:
        writing_engine(StoreLocation.of(str(scratch))).dispose()
    finally:
        database.LATEST = latest
    was = _columns(scratch)
    connection = sqlite3.connect(file)
    for table, columns in _columns(file).items():
        if table not in was:
            connection.execute(f"DROP TABLE {table}")
            continue
        for column in sorted(columns - was[table]):
            indexes = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql LIKE ?"
            for (name,) in connection.execute(indexes, (table, f"%{column}%")).fetchall():
                connection.execute(f"DROP INDEX {name}")
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    connection.execute("UPDATE alembic_version SET version_num = ?", (OLDER,))
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _columns(file: Path) -> dict[str, set[str]]:
    """The columns of each table of a store."""
    connection = sqlite3.connect(file)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: {row[1] for row in connection.execute(f"PRAGMA table_info({name})")} for name in tables}
    connection.close()
    return found


def _cut_migration(
    older: Path | None, folder: Path, cut: int, rng: random.Random, report: CutReport, known: set[str]
) -> None:
    disk = _migrate(older, folder, cut, rng.choice(CHECKPOINTS))
    report.cuts += 1
    _check(disk, folder / "answers.sqlite", rng, report, known if older is not None else set())


def _migrate(older: Path | None, folder: Path, cut: int | None = None, every: int = 1000) -> Disk:
    """Create tables, or migrate `older`, until the power is cut; returns the disk."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file = folder / "answers.sqlite"
    if older is not None:
        shutil.copy(older, file)
    else:
        file.touch()
    disk = Disk(uuid.uuid4().hex, cut_before=cut)
    with contextlib.suppress(Exception):
        engine = engine_on(disk, file, checkpoint_every=every)
        disk.is_over = True
        engine.dispose()
    disk.is_over = True
    return disk


def _check(disk: Disk, file: Path, rng: random.Random, report: CutReport, expected: set[str]) -> None:
    """Check the store `file` after the cut and count the errors."""
    found = file.parent / "found"
    found.mkdir(exist_ok=True)
    disk.write_remains(rng, found)
    report.acknowledged += len(expected)
    handles = handles_of(found / file.name)
    if handles is None:
        report.corrupt += 1
    else:
        report.lost += len(expected - handles)


def _back_up(disk: Disk, file: Path, in_place: bool) -> Path:
    """Back up the store over an older backup, as `backup` does; returns the path of the new one."""
    output = file.with_name("backup.sqlite")
    shutil.copy(file, output)
    engine = engine_on(disk, file)
    try:
        if in_place:
            output.unlink()
            copy_file(engine, output)
            return output
        with atomic_write(output) as part:
            copy_file(engine, part)
            # As `atomic_write` does before it renames the file.
            disk.files[str(part)].synced()
        return part
    finally:
        disk.is_over = True
        engine.dispose()


def _cut_backup(file: Path, cut: int, in_place: bool, rng: random.Random, report: CutReport, known: set[str]) -> None:
    disk = Disk(uuid.uuid4().hex, cut_before=cut)
    output = file.with_name("backup.sqlite")
    written = output
    with contextlib.suppress(apsw.Error, Exception):
        written = _back_up(disk, file, in_place)
    disk.is_over = True
    report.cuts += 1
    _check(disk, file, rng, report, known)
    # An unfinished backup is never renamed: the older one is still there.
    copy = file.parent / "found" / written.name
    if written == output and not in_place:
        shutil.copy(output, copy)
    handles = handles_of(copy)
    report.corrupt += handles is None
    report.lost += len(known - (handles or set())) if handles is not None else 0


@contextlib.contextmanager
def in_memory() -> Iterator[Path]:
    """A folder in memory, because the disk is simulated."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as made:
        yield Path(made)
