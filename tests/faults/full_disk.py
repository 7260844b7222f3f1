"""Power cuts, the order of syncs, full and failing disks, starvation (T2, T2b, T9, T9b, T17)."""

from __future__ import annotations

import shutil
import time

from disk_trials import disk_full_trial, ext4_cut_trial
from failing_disk import Fault
from failing_disk_trial import failing_disk_trial
from power_cut_trial import backup_cut_trial, migration_cut_trial, power_cut_trial
from small_disk import SmallDisk
from small_disk import why_not as no_disk
from starvation_trial import starvation_trial
from sync_order_trial import sync_order_trial
from sync_order_trial import why_not as no_strace
from trial import Bench, Control, Measured, Sizes, Trial, program

N_ORDERED = 1_000
N_FULL = 5
N_EXT4_CUTS = 20
N_SPELLS = 200
N_READ_ONLY = 10
STARVED_OF = ("files", "memory", "processor")


def _power_cuts(bench: Bench, until: float) -> Measured:
    """Two thirds while people answer, the rest while tables change and backups are made."""
    n, begun = bench.sizes.n_cuts, time.monotonic()
    parts = ((power_cut_trial, n - n // 5 - n // 8), (migration_cut_trial, n // 5), (backup_cut_trial, n // 8))
    reports, n_gone = [], 0
    for trial, n_cuts in parts:
        n_gone += n_cuts
        reports.append(trial(n_cuts, seed=n_cuts, until=begun + (until - begun) * n_gone / n))
    answering, migrating, backing_up = reports
    said = f"answering: {answering}; migrating: {migrating}; backing up: {backing_up}"
    return Measured(said, all(report.clean for report in reports), sum(report.cuts for report in reports), n)


def _sync_normal(_bench: Bench) -> Control:
    report = power_cut_trial(100, seed=3, synchronous="NORMAL")
    in_place = backup_cut_trial(20, seed=5, in_place=True)
    return Control(
        f"WAL with synchronous NORMAL: {report.lost} of {report.acknowledged:,} lost; "
        f"a backup written in place: {in_place.lost + in_place.corrupt} lost or corrupt",
        report.lost > 0 and in_place.lost + in_place.corrupt > 0,
    )


def _ext4_cuts(bench: Bench, until: float) -> Measured:
    report = ext4_cut_trial(bench.crowd_study, N_EXT4_CUTS, seed=1, until=until)
    return Measured(report, report.clean, report.cuts, N_EXT4_CUTS)


def _ext4_sync_seldom(bench: Bench) -> Control:
    report = ext4_cut_trial(bench.crowd_study, 3, seed=2, program=program("sync-seldom"))
    return Control(f"syncing seldom: {report.lost} of {report.acknowledged:,} lost", report.lost > 0)


def _order(bench: Bench, until: float) -> Measured:
    store = bench.file()
    with bench.serving(bench.crowd_study(), store) as server:
        report = sync_order_trial(server, N_ORDERED, seed=1)
    return Measured(report, report.clean, report.acknowledged, N_ORDERED)


def _order_seldom(bench: Bench) -> Control:
    store = bench.file()
    with bench.serving(bench.crowd_study(), store, "sync-seldom") as server:
        report = sync_order_trial(server, 100, seed=1)
    return Control(
        f"synchronous NORMAL: {report.unsynced} of {report.acknowledged:,} before a sync", report.unsynced > 0
    )


def _full(bench: Bench, until: float) -> Measured:
    report = disk_full_trial(bench.crowd_study(), N_FULL, seed=1)
    return Measured(report, report.clean, report.times, N_FULL)


def _ignore(bench: Bench) -> Control:
    report = disk_full_trial(bench.crowd_study(), 1, seed=1, program=program("ignore-commit-errors"))
    return Control(f"ignoring errors of COMMIT: {report.found.lost} lost", report.found.lost > 0)


def _failing(_bench: Bench, until: float) -> Measured:
    report = failing_disk_trial(N_SPELLS, seed=1, until=until)
    return Measured(report, report.clean, report.spells, N_SPELLS)


def _try_again(_bench: Bench) -> Control:
    again = failing_disk_trial(40, seed=2, faults=(Fault.SYNC,), tries_again=True)
    blind = failing_disk_trial(40, seed=1, faults=(Fault.SYNC,), looks=False)
    return Control(
        f"a failed sync tried again: {again.lost} of {again.acknowledged} lost; "
        f"going on without looking: {blind.lost} of {blind.acknowledged} lost",
        again.lost > 0 and blind.lost > 0,
    )


def _read_only(bench: Bench, until: float) -> Measured:
    report = ext4_cut_trial(bench.crowd_study, N_READ_ONLY, seed=3, until=until, harm=SmallDisk.turn_read_only)
    return Measured(report, report.clean, report.cuts, N_READ_ONLY)


def _ignore_read_only(bench: Bench) -> Control:
    report = ext4_cut_trial(
        bench.crowd_study, 1, seed=4, program=program("ignore-commit-errors"), harm=SmallDisk.turn_read_only
    )
    return Control(f"ignoring errors of COMMIT: {report.lost} lost", report.lost > 0)


def _starved(bench: Bench, until: float) -> Measured:
    reports = [starvation_trial(bench.crowd_study(), bench.file(), of, seed=1) for of in STARVED_OF]
    return Measured("; ".join(map(str, reports)), all(report.clean for report in reports))


def _no_prlimit() -> str | None:
    return None if shutil.which("prlimit") else "prlimit is not installed"


def _cuts(sizes: Sizes) -> str:
    return f"{sizes.n_cuts:,} cuts over commit, checkpoint, migration, backup: lost 0, corrupt 0"


TRIALS = (
    Trial("T2", "power-cut", 8, _cuts, _power_cuts, _sync_normal),
    Trial(
        "T2",
        "power-cut-ext4",
        3,
        lambda _: f"{N_EXT4_CUTS} cuts of a real file system under load: lost 0, corrupt 0",
        _ext4_cuts,
        _ext4_sync_seldom,
        no_disk,
    ),
    Trial(
        "T2b",
        "sync-order",
        0.5,
        lambda _: f"{N_ORDERED:,} answers: a sync of the -wal between reading each and its 201",
        _order,
        _order_seldom,
        no_strace,
    ),
    Trial(
        "T9",
        "disk-full",
        1,
        lambda _: f"an ext4 filled {N_FULL} times under load: 503 storage-full, lost 0, reads work, warns, goes on",
        _full,
        _ignore,
        no_disk,
    ),
    Trial(
        "T9b",
        "failing-disk",
        2,
        lambda _: f"{N_SPELLS} spells of full, read-only, failing writes and syncs, then a cut: lost 0, goes on",
        _failing,
        _try_again,
    ),
    Trial(
        "T9b",
        "read-only",
        1,
        lambda _: f"an ext4 turned read-only {N_READ_ONLY} times under load: 503, stays up, lost 0",
        _read_only,
        _ignore_read_only,
        no_disk,
    ),
    Trial(
        "T17",
        "starvation",
        1,
        lambda _: "64 files, 256 MB, 5 % of a core: lost 0, stays up, well again",
        _starved,
        None,
        _no_prlimit,
    ),
)
