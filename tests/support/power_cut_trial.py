"""The trial: people answer, the power goes at a moment that chance picks, and the disk is looked at."""

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
from study_at_work import items_named, plain_study, sent

from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.running_study import RunningStudy
from sfumato.elicitation.session import hash_of
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
"""Answers that are sent before a run ends without a cut."""
OLDER = "0002"
"""The version of a store whose migration is cut."""
CHECKPOINTS = (1000, 20, 4)
"""Pages after which SQLite checkpoints: hardly ever here, now and then, all the time."""


@dataclass
class CutReport:
    """What came of so many cuts."""

    cuts: int = 0
    acknowledged: int = 0
    lost: int = 0
    corrupt: int = 0
    """Stores that could not be opened, whose integrity check failed, or whose chain of answers is broken."""

    @property
    def clean(self) -> bool:
        return self.lost == self.corrupt == 0 and self.acknowledged > 0

    def __str__(self) -> str:
        return f"{self.cuts} cuts, {self.acknowledged:,} acknowledged, {self.lost} lost, {self.corrupt} corrupt"


def power_cut_trial(n_cuts: int, *, seed: int, synchronous: str = "FULL", until: float | None = None) -> CutReport:
    """So many cuts while people answer: some during a commit, some during a checkpoint."""
    report, rng = CutReport(), random.Random(seed)
    with in_memory() as place:
        first = place / "first.sqlite"
        begun(first)
        n_operations = {each: _operations(first, place, synchronous, each) for each in CHECKPOINTS}
        for _ in range(n_cuts):
            if until is not None and time.monotonic() > until:
                break
            every = rng.choice(CHECKPOINTS)
            cut = rng.randrange(1, n_operations[every])
            _cut(first, place / "cut", cut, every, synchronous, rng, report)
    return report


def migration_cut_trial(n_cuts: int, *, seed: int, until: float | None = None) -> CutReport:
    """So many cuts while the tables are made, or an older store with answers is brought up to date."""
    report, rng = CutReport(), random.Random(seed)
    with in_memory() as place:
        older = place / "older.sqlite"
        known = older_store(older)
        n_operations = {each: _migrated(each, place / "whole").n_operations for each in (None, older)}
        for number in range(n_cuts):
            if until is not None and time.monotonic() > until:
                break
            store = None if number % 2 == 0 else older
            _cut_migration(store, place / "cut", rng.randrange(1, n_operations[store]), rng, report, known)
    return report


def backup_cut_trial(n_cuts: int, *, seed: int, in_place: bool = False, until: float | None = None) -> CutReport:
    """So many cuts while a store is backed up over an older backup: store and backup are whole, the old one or the new.

    One that is written `in_place` is to be found out.
    """
    report, rng = CutReport(), random.Random(seed)
    with in_memory() as place:
        first = place / "first.sqlite"
        begun(first)
        known = _answers_of(first)
        whole = Disk(uuid.uuid4().hex)
        _backed_up(whole, copied(first, place / "whole"), in_place)
        for _ in range(n_cuts):
            if until is not None and time.monotonic() > until:
                break
            cut = rng.randrange(1, whole.n_operations + 2)
            _cut_backup(copied(first, place / "cut"), cut, in_place, rng, report, known)
    return report


# --- one cut ---


def begun(file: Path) -> None:
    """A store that knows the study."""
    writer = Writer(writing_engine(StoreLocation.of(str(file))), running_study())
    writer.start()
    writer.stop()


def running_study() -> RunningStudy:
    study = plain_study(people=People(answers_per_item=50, batch_size=40))
    return RunningStudy(study, kinds_of(study), items_named(40), rng=random.Random(1))


def copied(first: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file = folder / "answers.sqlite"
    shutil.copy(first, file)
    return file


def _operations(first: Path, place: Path, synchronous: str, every: int) -> int:
    """How often something reaches the disk in a run without a cut."""
    disk = Disk(uuid.uuid4().hex)
    assert len(_answered(disk, copied(first, place / "whole"), synchronous, every)) == N_ANSWERS
    return disk.n_operations


def _answered(disk: Disk, file: Path, synchronous: str, every: int) -> list[str]:
    """The handles of the answers that were acknowledged before the power went."""
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
    file = copied(first, folder)
    disk = Disk(uuid.uuid4().hex, cut_before=at)
    acknowledged = _answered(disk, file, synchronous, every)
    found = folder / "found"
    found.mkdir()
    disk.found(rng, found)
    report.cuts += 1
    report.acknowledged += len(acknowledged)
    handles = handles_of(found / file.name)
    if handles is None:
        report.corrupt += 1
    else:
        report.lost += len(set(acknowledged) - handles)


def handles_of(file: Path) -> set[str] | None:
    """The answers of a store that is opened as after any crash; None where it is damaged."""
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
    """A store of the release before, with answers; returns their handles."""
    begun(file)
    handles = _answers_of(file)
    _made_older(file)
    return handles


def _answers_of(file: Path) -> set[str]:
    """Answer in a store on a disk that does not fail; the handles of the answers."""
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


def _made_older(file: Path) -> None:
    """Take out what later migrations put in, as a release of version `OLDER` left it."""
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
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    connection.execute("UPDATE alembic_version SET version_num = ?", (OLDER,))
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _columns(file: Path) -> dict[str, set[str]]:
    """The tables of a store, and their columns."""
    connection = sqlite3.connect(file)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: {row[1] for row in connection.execute(f"PRAGMA table_info({name})")} for name in tables}
    connection.close()
    return found


def _cut_migration(
    older: Path | None, folder: Path, cut: int, rng: random.Random, report: CutReport, known: set[str]
) -> None:
    disk = _migrated(older, folder, cut, rng.choice(CHECKPOINTS))
    report.cuts += 1
    _look(disk, folder / "answers.sqlite", rng, report, known if older is not None else set())


def _migrated(older: Path | None, folder: Path, cut: int | None = None, every: int = 1000) -> Disk:
    """The disk on which tables were made, or those of `older` brought up to date, as far as the power lasted."""
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


def _look(disk: Disk, file: Path, rng: random.Random, report: CutReport, expected: set[str]) -> None:
    """Count what is not as it should be in the store `file` when the power is back."""
    found = file.parent / "found"
    found.mkdir(exist_ok=True)
    disk.found(rng, found)
    report.acknowledged += len(expected)
    handles = handles_of(found / file.name)
    if handles is None:
        report.corrupt += 1
    else:
        report.lost += len(expected - handles)


def _backed_up(disk: Disk, file: Path, in_place: bool) -> Path:
    """Back the store up as `backup` does, over a backup of before; returns where the new one is, if there is one."""
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
            # What `replacing` syncs before the new one takes its name.
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
        written = _backed_up(disk, file, in_place)
    disk.is_over = True
    report.cuts += 1
    _look(disk, file, rng, report, known)
    # A backup that was not finished never took its name: the one of before is there, which no cut has touched.
    copy = file.parent / "found" / written.name
    if written == output and not in_place:
        shutil.copy(output, copy)
    handles = handles_of(copy)
    report.corrupt += handles is None
    report.lost += len(known - (handles or set())) if handles is not None else 0


@contextlib.contextmanager
def in_memory() -> Iterator[Path]:
    """A folder in memory: what is tried here is what SQLite asks of a disk, not the disk."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as made:
        yield Path(made)
