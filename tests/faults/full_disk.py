"""Power cuts, the order of syncs, full and failing disks, limited resources (T2, T2b, T9, T9b, T17)."""

from __future__ import annotations

import shutil
import time

from disk_trials import disk_full_trial, ext4_cut_trial
from failing_disk import Fault
from failing_disk_trial import failing_disk_trial
from power_cut_trial import backup_cut_trial, migration_cut_trial, power_cut_trial
from small_disk import SmallDisk
from small_disk import skip_reason as no_disk
from starvation_trial import starvation_trial
from sync_order_trial import skip_reason as no_strace
from sync_order_trial import sync_order_trial
from trial import Control, Measured, Resources, Sizes, Trial, program

N_SYNC_ANSWERS = 1_000
N_FULL = 5
N_EXT4_CUTS = 20
N_FAILURES = 200
N_READ_ONLY = 10
LIMITED = ("files", "memory", "processor")


def _power_cuts(resources: Resources, until: float) -> Measured:
    """Two thirds of the cuts during answers, the others during migrations and backups."""
    n, begun = resources.sizes.n_cuts, time.monotonic()
    parts = ((power_cut_trial, n - n // 5 - n // 8), (migration_cut_trial, n // 5), (backup_cut_trial, n // 8))
    reports, n_planned = [], 0
    for trial, n_cuts in parts:
        n_planned += n_cuts
        reports.append(trial(n_cuts, seed=n_cuts, until=begun + (until - begun) * n_planned / n))
    answering, migrating, backing_up = reports
    summary = f"answers: {answering}; migrations: {migrating}; backups: {backing_up}"
    return Measured(summary, all(report.clean for report in reports), sum(report.cuts for report in reports), n)


def _synchronous_normal(_resources: Resources) -> Control:
    report = power_cut_trial(100, seed=3, synchronous="NORMAL")
    in_place = backup_cut_trial(20, seed=5, in_place=True)
    return Control(
        f"WAL with synchronous NORMAL: {report.lost} of {report.acknowledged:,} lost; "
        f"a backup written in place: {in_place.lost + in_place.corrupt} lost or corrupt",
        report.lost > 0 and in_place.lost + in_place.corrupt > 0,
    )


def _ext4_cuts(resources: Resources, until: float) -> Measured:
    report = ext4_cut_trial(resources.crowd_study, N_EXT4_CUTS, seed=1, until=until)
    return Measured(report, report.clean, report.cuts, N_EXT4_CUTS)


def _ext4_synchronous_normal(resources: Resources) -> Control:
    report = ext4_cut_trial(resources.crowd_study, 3, seed=2, program=program("sync-normal"))
    return Control(f"synchronous NORMAL: {report.lost} of {report.acknowledged:,} lost", report.lost > 0)


def _sync_order(resources: Resources, until: float) -> Measured:
    store = resources.file()
    with resources.serving(resources.crowd_study(), store) as server:
        report = sync_order_trial(server, N_SYNC_ANSWERS, seed=1)
    return Measured(report, report.clean, report.acknowledged, N_SYNC_ANSWERS)


def _sync_order_control(resources: Resources) -> Control:
    store = resources.file()
    with resources.serving(resources.crowd_study(), store, "sync-normal") as server:
        report = sync_order_trial(server, 100, seed=1)
    return Control(
        f"synchronous NORMAL: {report.unsynced} of {report.acknowledged:,} acknowledged before a sync",
        report.unsynced > 0,
    )


def _disk_full(resources: Resources, until: float) -> Measured:
    report = disk_full_trial(resources.crowd_study(), N_FULL, seed=1)
    return Measured(report, report.clean, report.times, N_FULL)


def _ignored_commit_errors(resources: Resources) -> Control:
    report = disk_full_trial(resources.crowd_study(), 1, seed=1, program=program("ignore-commit-errors"))
    return Control(f"ignoring errors of COMMIT: {report.found.lost} lost", report.found.lost > 0)


def _failing_disk(_resources: Resources, until: float) -> Measured:
    report = failing_disk_trial(N_FAILURES, seed=1, until=until)
    return Measured(report, report.clean, report.periods, N_FAILURES)


def _wrong_recovery(_resources: Resources) -> Control:
    again = failing_disk_trial(40, seed=2, faults=(Fault.SYNC,), retries_sync=True)
    blind = failing_disk_trial(40, seed=1, faults=(Fault.SYNC,), checks=False)
    return Control(
        f"repeating a failed sync: {again.lost} of {again.acknowledged} lost; "
        f"continuing without a check: {blind.lost} of {blind.acknowledged} lost",
        again.lost > 0 and blind.lost > 0,
    )


def _read_only(resources: Resources, until: float) -> Measured:
    report = ext4_cut_trial(resources.crowd_study, N_READ_ONLY, seed=3, until=until, harm=SmallDisk.turn_read_only)
    return Measured(report, report.clean, report.cuts, N_READ_ONLY)


def _ignored_read_only(resources: Resources) -> Control:
    report = ext4_cut_trial(
        resources.crowd_study, 1, seed=4, program=program("ignore-commit-errors"), harm=SmallDisk.turn_read_only
    )
    return Control(f"ignoring errors of COMMIT: {report.lost} lost", report.lost > 0)


def _starvation(resources: Resources, until: float) -> Measured:
    reports = [starvation_trial(resources.crowd_study(), resources.file(), resource, seed=1) for resource in LIMITED]
    return Measured("; ".join(map(str, reports)), all(report.clean for report in reports))


def _no_prlimit_reason() -> str | None:
    return None if shutil.which("prlimit") else "prlimit is not installed"


def _cuts_required(sizes: Sizes) -> str:
    return f"{sizes.n_cuts:,} cuts during commits, checkpoints, migrations and backups: 0 lost, 0 corrupt"


TRIALS = (
    Trial("T2", "power-cut", 8, _cuts_required, _power_cuts, _synchronous_normal),
    Trial(
        "T2",
        "power-cut-ext4",
        3,
        lambda _: f"{N_EXT4_CUTS} power cuts of a real file system under load: 0 lost, 0 corrupt",
        _ext4_cuts,
        _ext4_synchronous_normal,
        no_disk,
    ),
    Trial(
        "T2b",
        "sync-order",
        0.5,
        lambda _: f"{N_SYNC_ANSWERS:,} answers: a sync of the -wal between reading each request and its reply 201",
        _sync_order,
        _sync_order_control,
        no_strace,
    ),
    Trial(
        "T9",
        "disk-full",
        1,
        lambda _: f"an ext4 filled {N_FULL} times under load: 503 storage-full, 0 lost, reads work, warning, recovery",
        _disk_full,
        _ignored_commit_errors,
        no_disk,
    ),
    Trial(
        "T9b",
        "failing-disk",
        2,
        lambda _: f"{N_FAILURES} failures (full, read-only, writes, syncs), then a power cut: 0 lost, recovery",
        _failing_disk,
        _wrong_recovery,
    ),
    Trial(
        "T9b",
        "read-only",
        1,
        lambda _: f"an ext4 turned read-only {N_READ_ONLY} times under load: 503, stays up, 0 lost",
        _read_only,
        _ignored_read_only,
        no_disk,
    ),
    Trial(
        "T17",
        "starvation",
        1,
        lambda _: "64 files, 256 MB or 5% of a core: 0 lost, stays up, recovers",
        _starvation,
        None,
        _no_prlimit_reason,
    ),
)
