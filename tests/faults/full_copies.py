"""Exports, backups, migrations and tampering (T14, T15, T16, T21)."""

from __future__ import annotations

import time
from pathlib import Path

from big_store import write_big_store, write_big_study
from copies_trials import backup_trial, copy_of_the_file, export_trial
from migration_kill_trial import migration_kill_trial
from tamper_trial import tamper_trial
from trial import Bench, Control, Measured, Sizes, Trial

from sfumato.store.backup import backup, restore
from sfumato.store.location import StoreLocation

N_BACKUPS = 20
N_KILLS = 50
N_TAMPERED = 150
MOST_MEGABYTES = 200
MOST_RESTORE_SECONDS = 120


def _big(bench: Bench) -> tuple[Path, str]:
    """A study, and its store with a million answers or as many as asked for."""
    folder = bench.folder()
    store = folder / "answers.sqlite"
    write_big_store(store, bench.sizes.n_rows)
    return write_big_study(folder / "study"), str(store)


def _export(bench: Bench, until: float) -> Measured:
    study, store = _big(bench)
    with bench.serving(study, store) as server:
        report = export_trial(server, study, store, bench.folder(), 1, seed=1)
    return Measured(report, report.clean and report.megabytes <= MOST_MEGABYTES)


def _one_after_the_other(bench: Bench) -> Control:
    study, store = bench.crowd_study(), bench.file()
    with bench.serving(study, store) as server:
        report = export_trial(server, study, store, bench.folder(), 1, seed=1, at_once=False)
    return Control(f"two snapshots for one export: {report.damaged} of {report.copies} found out", report.damaged > 0)


def _backups(bench: Bench, until: float) -> Measured:
    store = bench.file()
    with bench.serving(bench.crowd_study(), store) as server:
        report = backup_trial(server, store, bench.folder(), N_BACKUPS, seed=1)
    return Measured(report, report.clean, report.copies, N_BACKUPS)


def _file_alone(bench: Bench) -> Control:
    store = bench.file()
    with bench.serving(bench.crowd_study(), store) as server:
        report = backup_trial(server, store, bench.folder(), 3, seed=2, copy=copy_of_the_file)
    return Control(f"a copy of the file without its -wal: {report.lacking:,} lacking", report.lacking > 0)


def _drill(bench: Bench, until: float) -> Measured:
    """Back a big store up and make a store of it again."""
    _, store = _big(bench)
    copy, place = bench.folder() / "backup.sqlite", bench.folder() / "answers.sqlite"
    begun = time.monotonic()
    backup(StoreLocation.of(store), copy)
    made_at = time.monotonic()
    back = restore(copy, StoreLocation.of(place))
    seconds = time.monotonic() - made_at
    clean = back.n_answers == bench.sizes.n_rows and not back.n_faults and seconds <= MOST_RESTORE_SECONDS
    return Measured(
        f"{back.n_answers:,} answers, {back.n_bytes / 1e6:,.0f} MB: backed up in {made_at - begun:.0f} s, "
        f"restored and verified in {seconds:.0f} s, {back.n_faults} faults",
        clean,
    )


def _migration(bench: Bench, until: float) -> Measured:
    report = migration_kill_trial(bench.folder(), bench.sizes.n_rows, N_KILLS, seed=1, until=until)
    return Measured(report, report.clean, report.kills, N_KILLS)


def _in_parts(bench: Bench) -> Control:
    report = migration_kill_trial(bench.folder(), 2_000, 10, seed=2, in_parts=True)
    return Control(f"a migration in parts: {report.broken} of {report.kills} stores broken", report.broken > 0)


def _tampered(bench: Bench, until: float) -> Measured:
    reports = [tamper_trial(store, N_TAMPERED, seed=1) for store in (bench.file(), bench.postgres.new_database())]
    return Measured("; ".join(map(str, reports)), all(report.clean for report in reports))


def _unchained(bench: Bench) -> Control:
    report = tamper_trial(bench.file(), 5, seed=2, unseen=("payload",))
    return Control(f"a chain without the payload: {report.n - report.named} of {report.n} missed", report.named == 0)


def _rows(sizes: Sizes) -> str:
    return f"{sizes.n_rows:,} answers"


TRIALS = (
    Trial(
        "T14",
        "export",
        4,
        lambda sizes: f"export of {_rows(sizes)} under load: one moment, at most {MOST_MEGABYTES} MB",
        _export,
        _one_after_the_other,
    ),
    Trial(
        "T15",
        "backup",
        1,
        lambda _: f"{N_BACKUPS} backups under load: each whole, with all acknowledged before it",
        _backups,
        _file_alone,
    ),
    Trial("T15", "restore", 4, lambda sizes: f"{_rows(sizes)} restored within 2 min", _drill),
    Trial(
        "T16",
        "migration",
        14,
        lambda sizes: f"{N_KILLS} kills during the upgrade of {_rows(sizes)}: old or new, lost 0; newer refused",
        _migration,
        _in_parts,
    ),
    Trial(
        "T21",
        "tamper",
        0.5,
        lambda _: f"{N_TAMPERED} rows changed, deleted or put in, on each database: each named, and no other",
        _tampered,
        _unchained,
    ),
)
