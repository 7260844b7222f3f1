"""Steady load, overload, and answers during image requests, exports and slow clients (T12, T13, T14, T18)."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from big_store import write_big_store, write_big_study
from load_trials import (
    NORMAL,
    Disturbance,
    Disturbed,
    Overload,
    SlowClients,
    Steady,
    disturbance_trial,
    overload_trial,
    picture_requests,
    repeated_command,
    repeated_export,
    slow_clients,
    steady_trial,
    write_noise_study,
)
from study_server import write_texts_study
from trial import Control, Measured, Resources, Trial

from sfumato.server.rate_limit import PER_SECOND

TENFOLD_SECONDS, SOAK_SECONDS = 600, 7_200
OVERLOAD, OVERLOAD_SECONDS, AFTER_SECONDS = 30 * NORMAL, 20, 15
SLOW_OVERLOAD_SECONDS, RECOVERY_SECONDS = 10, 5
REPLY_MS = 2_000
"""Largest p99 of the replies under overload."""
DISTURBANCE_SECONDS = 20
BATCH_SIZE = 60
N_VIEWERS, N_SLOW = 200, 500
SLOW_SECONDS = 42
"""Longer than the timeout for slow clients."""
PATIENCE_SECONDS = 36
"""The timeout of 30 s, which is checked every 5 s."""
LOCKED = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
time.sleep(1)
connection.execute("ROLLBACK")
time.sleep(0.5)
"""
"""Holds the write lock, as a wrong export would."""


def large_study(resources: Resources) -> Path:
    """A study with more items than can be answered, and sixty answers per person."""
    return write_texts_study(resources.folder() / "study", 5_000, answers_per_item=1_000, batch_size=BATCH_SIZE)


def _steady(resources: Resources, per_second: float, seconds: float, fault: str | None = None) -> Steady:
    study, store = large_study(resources), resources.file()
    with resources.serving(study, store, fault, PER_SECOND) as server:
        return steady_trial(server, Path(store), per_second, seconds, BATCH_SIZE)


def _seconds_left(until: float, required: float) -> float:
    """The seconds to run: as required, or what is left of the time."""
    return max(5.0, min(required, until - time.monotonic()))


def _tenfold_load(resources: Resources, until: float) -> Measured:
    report = _steady(resources, 10 * NORMAL, _seconds_left(until, TENFOLD_SECONDS))
    clean = report.p99 <= 100 and report.refused == report.errors == report.lost == 0 and report.grown_mb <= 20
    return Measured(report, clean, round(report.seconds), TENFOLD_SECONDS)


def _memory_leak(resources: Resources) -> Control:
    report = _steady(resources, 10 * NORMAL, 30, "memory-leak")
    return Control(f"a memory leak: {report.grown_mb:+.0f} MB in 30 s", report.grown_mb > 20)


def _soak(resources: Resources, until: float) -> Measured:
    report = _steady(resources, NORMAL, _seconds_left(until, SOAK_SECONDS))
    clean = (
        report.refused == report.errors == report.lost == 0
        and report.grown_mb <= 20
        and report.wal_mb <= 64
        and report.p99_tenths[-1] <= 1.5 * report.p99_tenths[0]
    )
    return Measured(report, clean, round(report.seconds), SOAK_SECONDS)


def _run_overload(resources: Resources, fault: str | None = None, seconds: float = OVERLOAD_SECONDS) -> Overload:
    study, store = large_study(resources), resources.file()
    with resources.serving(study, store, fault, PER_SECOND) as server:
        return overload_trial(server, store, OVERLOAD, seconds, AFTER_SECONDS)


def _overload(resources: Resources, until: float) -> Measured:
    """At full speed, where all answers may fit, and at half the speed, where some must be refused."""
    here, slow = _run_overload(resources), _run_overload(resources, "slow-machine", SLOW_OVERLOAD_SECONDS)
    clean = all(
        report.safe and report.p99 <= REPLY_MS and report.recovered_seconds <= RECOVERY_SECONDS
        for report in (here, slow)
    )
    return Measured(f"{here}; at half speed: {slow}", clean and slow.refused > 0)


def _unbounded_queue(resources: Resources) -> Control:
    report = _run_overload(resources, "slow-machine,unbounded-queue", SLOW_OVERLOAD_SECONDS)
    return Control(
        f"an unbounded queue at half speed: {report.refused} refused with Retry-After, p99 of replies "
        f"{report.p99:,.0f} ms",
        report.p99 > REPLY_MS,
    )


def _pictures(resources: Resources, until: float) -> Measured:
    report = _answers_during_pictures(resources)
    return Measured(report, report.disturbed <= 150 and report.errors == 0)


def _answers_during_pictures(resources: Resources, fault: str | None = None) -> Disturbed:
    study = write_noise_study(resources.folder() / "study")
    with resources.serving(study, resources.file(), fault) as server:
        return disturbance_trial(server, picture_requests(server, N_VIEWERS), DISTURBANCE_SECONDS)


def _pictures_in_writer(resources: Resources) -> Control:
    report = _answers_during_pictures(resources, "pictures-in-writer")
    return Control(f"pictures in the writer thread: p99 {report.disturbed:,.0f} ms", report.disturbed > 150)


def _export(resources: Resources, until: float) -> Measured:
    report = _answers_during_exports(resources, resources.sizes.n_rows)
    return Measured(report, report.ratio <= 2 and report.errors == 0)


def _answers_during_exports(resources: Resources, n_rows: int, locks: bool = False) -> Disturbed:
    store = Path(resources.file())
    write_big_store(store, n_rows)
    study = write_big_study(resources.folder() / "study")
    disturbance: Disturbance = (
        repeated_command("locking exports", ["-c", LOCKED, str(store)])
        if locks
        else repeated_export(study, str(store), resources.folder())
    )
    with resources.serving(study, str(store)) as server:
        return disturbance_trial(server, disturbance, DISTURBANCE_SECONDS)


def _locking_export(resources: Resources) -> Control:
    report = _answers_during_exports(resources, 10_000, locks=True)
    return Control(f"an export with a write lock: {report.ratio:.0f}x", report.ratio > 2)


def _slow_clients(resources: Resources, until: float) -> Measured:
    report, slow = _answers_during_slow_clients(resources)
    disconnected = slow.closed == slow.opened == N_SLOW and slow.longest_seconds <= PATIENCE_SECONDS
    return Measured(report, report.ratio <= 2 and report.errors == 0 and disconnected and slow.refused_headers == 10)


def _answers_during_slow_clients(resources: Resources, fault: str | None = None) -> tuple[Disturbed, SlowClients]:
    slow = SlowClients()
    with resources.serving(large_study(resources), resources.file(), fault) as server:
        report = disturbance_trial(server, slow_clients(server, slow, N_SLOW), SLOW_SECONDS)
    return report, slow


def _no_timeouts(resources: Resources) -> Control:
    _, slow = _answers_during_slow_clients(resources, "no-timeouts")
    return Control(f"no timeouts: {slow.closed} of {slow.opened} disconnected", slow.closed == 0)


def _file_limit_reason() -> str | None:
    import resource

    limit, needed = resource.getrlimit(resource.RLIMIT_NOFILE)[0], 3 * OVERLOAD
    return None if limit >= needed else f"{limit:,} open files allowed, {needed:,} needed: ulimit -n {needed}"


def _no_proc_reason() -> str | None:
    return None if sys.platform == "linux" else "memory is read from /proc"


TRIALS = (
    Trial(
        "T12",
        "tenfold-load",
        11,
        lambda _: (
            f"{10 * NORMAL:,} answers per second for {TENFOLD_SECONDS // 60} min: "
            "p99 at most 100 ms, 0 errors, at most 20 MB more memory"
        ),
        _tenfold_load,
        _memory_leak,
        _no_proc_reason,
    ),
    Trial(
        "T12",
        "overload",
        2,
        lambda _: (
            f"{OVERLOAD:,} answers per second: 429 or 503 with Retry-After within 2 s, 0 lost, recovery within 5 s"
        ),
        _overload,
        _unbounded_queue,
        _file_limit_reason,
    ),
    Trial(
        "T12",
        "soak",
        15,
        lambda _: (
            f"{NORMAL} answers per second for {SOAK_SECONDS // 3600} h: constant memory, -wal at most 64 MB, "
            "p99 at the end at most 1.5x of the start"
        ),
        _soak,
        None,
        _no_proc_reason,
    ),
    Trial(
        "T13",
        "pictures",
        2,
        lambda _: f"{N_VIEWERS} clients that load pictures of 100 kB: p99 of answers at most 150 ms",
        _pictures,
        _pictures_in_writer,
    ),
    Trial(
        "T14",
        "answers-during-export",
        3,
        lambda sizes: f"answers during exports of {sizes.n_rows:,} answers: p99 at most 2x of undisturbed",
        _export,
        _locking_export,
    ),
    Trial(
        "T18",
        "slow-clients",
        5,
        lambda _: (
            f"{N_SLOW} clients with one byte per second, headers of 10 MB: p99 at most 2x, disconnected after 30 s"
        ),
        _slow_clients,
        _no_timeouts,
    ),
)
