"""Exports, backups, migrations and tampering (T14, T15, T16, T21)."""

from __future__ import annotations

import time
from pathlib import Path

from big_store import write_big_store, write_big_study
from copies_trials import backup_trial, copy_file_only, export_trial
from migration_kill_trial import migration_kill_trial
from tamper_trial import tamper_trial
from trial import Control, Measured, Resources, Sizes, Trial

from sfumato.store.backup import backup, restore
from sfumato.store.location import StoreLocation

N_BACKUPS = 20
N_KILLS = 50
N_TAMPERED = 150
MEMORY_LIMIT_MB = 200
RESTORE_LIMIT_SECONDS = 120


def _big_store(resources: Resources) -> tuple[Path, str]:
    """A study, and its store with `n_rows` answers."""
    folder = resources.folder()
    store = folder / "answers.sqlite"
    write_big_store(store, resources.sizes.n_rows)
    return write_big_study(folder / "study"), str(store)


def _export(resources: Resources, until: float) -> Measured:
    study, store = _big_store(resources)
    with resources.serving(study, store) as server:
        report = export_trial(server, study, store, resources.folder(), 1, seed=1)
    return Measured(report, report.clean and report.megabytes <= MEMORY_LIMIT_MB)


def _two_snapshots(resources: Resources) -> Control:
    study, store = resources.crowd_study(), resources.file()
    with resources.serving(study, store) as server:
        report = export_trial(server, study, store, resources.folder(), 1, seed=1, at_once=False)
    return Control(f"two snapshots for one export: {report.damaged} of {report.copies} detected", report.damaged > 0)


def _backups(resources: Resources, until: float) -> Measured:
    store = resources.file()
    with resources.serving(resources.crowd_study(), store) as server:
        report = backup_trial(server, store, resources.folder(), N_BACKUPS, seed=1)
    return Measured(report, report.clean, report.copies, N_BACKUPS)


def _plain_file_copy(resources: Resources) -> Control:
    store = resources.file()
    with resources.serving(resources.crowd_study(), store) as server:
        report = backup_trial(server, store, resources.folder(), 3, seed=2, copy=copy_file_only)
    return Control(f"a copy of the file without its -wal: {report.missing:,} answers missing", report.missing > 0)


def _restore(resources: Resources, until: float) -> Measured:
    """Back up a large store and restore it."""
    _, store = _big_store(resources)
    copy, place = resources.folder() / "backup.sqlite", resources.folder() / "answers.sqlite"
    begun = time.monotonic()
    backup(StoreLocation.of(store), copy)
    made_at = time.monotonic()
    back = restore(copy, StoreLocation.of(place))
    seconds = time.monotonic() - made_at
    clean = back.n_answers == resources.sizes.n_rows and not back.n_faults and seconds <= RESTORE_LIMIT_SECONDS
    return Measured(
        f"{back.n_answers:,} answers, {back.n_bytes / 1e6:,.0f} MB: backed up in {made_at - begun:.0f} s, "
        f"restored and verified in {seconds:.0f} s, {back.n_faults} faults",
        clean,
    )


def _migration(resources: Resources, until: float) -> Measured:
    report = migration_kill_trial(resources.folder(), resources.sizes.n_rows, N_KILLS, seed=1, until=until)
    return Measured(report, report.clean, report.kills, N_KILLS)


def _partial_commits(resources: Resources) -> Control:
    report = migration_kill_trial(resources.folder(), 2_000, 10, seed=2, in_parts=True)
    return Control(
        f"a migration with several commits: {report.broken} of {report.kills} stores broken", report.broken > 0
    )


def _tamper(resources: Resources, until: float) -> Measured:
    reports = [
        tamper_trial(store, N_TAMPERED, seed=1) for store in (resources.file(), resources.postgres.new_database())
    ]
    return Measured("; ".join(map(str, reports)), all(report.clean for report in reports))


def _incomplete_chain(resources: Resources) -> Control:
    report = tamper_trial(resources.file(), 5, seed=2, ignored=("payload",))
    return Control(
        f"a chain without the payload: {report.n - report.listed} of {report.n} not detected", report.listed == 0
    )


def _rows(sizes: Sizes) -> str:
    return f"{sizes.n_rows:,} answers"


TRIALS = (
    Trial(
        "T14",
        "export",
        4,
        lambda sizes: f"export of {_rows(sizes)} under load: one consistent snapshot, at most {MEMORY_LIMIT_MB} MB",
        _export,
        _two_snapshots,
    ),
    Trial(
        "T15",
        "backup",
        1,
        lambda _: f"{N_BACKUPS} backups under load: each intact, with all answers acknowledged before it",
        _backups,
        _plain_file_copy,
    ),
    Trial("T15", "restore", 4, lambda sizes: f"{_rows(sizes)} restored within 2 min", _restore),
    Trial(
        "T16",
        "migration",
        14,
        lambda sizes: (
            f"{N_KILLS} kills during the upgrade of {_rows(sizes)}: old or new version, 0 lost; newer version refused"
        ),
        _migration,
        _partial_commits,
    ),
    Trial(
        "T21",
        "tamper",
        0.5,
        lambda _: f"{N_TAMPERED} rows changed, deleted or inserted, on each database: exactly these are listed",
        _tamper,
        _incomplete_chain,
    ),
)
