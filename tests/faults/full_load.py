"""Steady load, overload, and answers during image requests, exports and slow clients (T12, T13, T14, T18)."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from big_store import write_big_store, write_big_study
from load_trials import (
    NORMAL,
    Beside,
    Disturbance,
    Flood,
    Slowness,
    Steady,
    beside_trial,
    command_beside,
    export_beside,
    flood_trial,
    pictures_beside,
    slow_beside,
    steady_trial,
    write_noise_study,
)
from study_server import write_texts_study
from trial import Bench, Control, Measured, Trial

from sfumato.server.rate_limit import PER_SECOND

TENFOLD_SECONDS, SOAK_SECONDS = 600, 7_200
FLOOD, FLOOD_SECONDS, AFTER_SECONDS = 30 * NORMAL, 20, 15
SLOW_FLOOD_SECONDS, RECOVERY_SECONDS = 10, 5
REPLY_MS = 2_000
"""Nobody is left waiting in a flood."""
BESIDE_SECONDS = 20
BATCH_SIZE = 60
N_LOOKING, N_SLOW = 200, 500
SLOW_SECONDS = 42
"""Longer than a slow client is borne with."""
PATIENCE_SECONDS = 36
"""Thirty seconds, looked at every five."""
LOCKED = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
time.sleep(1)
connection.execute("ROLLBACK")
time.sleep(0.5)
"""
"""What an export that keeps others from writing would do."""


def roomy_study(bench: Bench) -> Path:
    """A study that no crowd comes to the end of, where everybody gives sixty answers."""
    return write_texts_study(bench.folder() / "study", 5_000, answers_per_item=1_000, batch_size=BATCH_SIZE)


def _steady(bench: Bench, a_second: float, seconds: float, fault: str | None = None) -> Steady:
    study, store = roomy_study(bench), bench.file()
    with bench.serving(study, store, fault, PER_SECOND) as server:
        return steady_trial(server, Path(store), a_second, seconds, BATCH_SIZE)


def _left(until: float, asked: float) -> float:
    """Seconds to go on for: as asked, or what is left of the time."""
    return max(5.0, min(asked, until - time.monotonic()))


def _tenfold(bench: Bench, until: float) -> Measured:
    report = _steady(bench, 10 * NORMAL, _left(until, TENFOLD_SECONDS))
    clean = report.p99 <= 100 and report.refused == report.errors == report.lost == 0 and report.grown_mb <= 20
    return Measured(report, clean, round(report.seconds), TENFOLD_SECONDS)


def _hoarding(bench: Bench) -> Control:
    report = _steady(bench, 10 * NORMAL, 30, "keep-every-request")
    return Control(f"keeping every request: {report.grown_mb:+.0f} MB in 30 s", report.grown_mb > 20)


def _soak(bench: Bench, until: float) -> Measured:
    report = _steady(bench, NORMAL, _left(until, SOAK_SECONDS))
    clean = (
        report.refused == report.errors == report.lost == 0
        and report.grown_mb <= 20
        and report.wal_mb <= 64
        and report.p99_tenths[-1] <= 1.5 * report.p99_tenths[0]
    )
    return Measured(report, clean, round(report.seconds), SOAK_SECONDS)


def _flooded(bench: Bench, fault: str | None = None, seconds: float = FLOOD_SECONDS) -> Flood:
    study, store = roomy_study(bench), bench.file()
    with bench.serving(study, store, fault, PER_SECOND) as server:
        return flood_trial(server, store, FLOOD, seconds, AFTER_SECONDS)


def _flood(bench: Bench, until: float) -> Measured:
    """Here, where all of them may find room, and on a machine of half the speed, where they do not."""
    here, slow = _flooded(bench), _flooded(bench, "slow-machine", SLOW_FLOOD_SECONDS)
    clean = all(
        report.safe and report.p99 <= REPLY_MS and report.recovered_seconds <= RECOVERY_SECONDS
        for report in (here, slow)
    )
    return Measured(f"{here}; at half the speed: {slow}", clean and slow.refused > 0)


def _shed_nothing(bench: Bench) -> Control:
    report = _flooded(bench, "slow-machine,shed-nothing", SLOW_FLOOD_SECONDS)
    return Control(
        f"a queue without end at half the speed: {report.refused} asked to come back, 99% of replies within "
        f"{report.p99:,.0f} ms",
        report.p99 > REPLY_MS,
    )


def _pictures(bench: Bench, until: float) -> Measured:
    report = _beside_pictures(bench)
    return Measured(report, report.beside <= 150 and report.errors == 0)


def _beside_pictures(bench: Bench, fault: str | None = None) -> Beside:
    study = write_noise_study(bench.folder() / "study")
    with bench.serving(study, bench.file(), fault) as server:
        return beside_trial(server, pictures_beside(server, N_LOOKING), BESIDE_SECONDS)


def _by_the_writer(bench: Bench) -> Control:
    report = _beside_pictures(bench, "pictures-by-the-writer")
    return Control(f"pictures by way of the writer: {report.beside:,.0f} ms", report.beside > 150)


def _export(bench: Bench, until: float) -> Measured:
    report = _beside_export(bench, bench.sizes.n_rows)
    return Measured(report, report.ratio <= 2 and report.errors == 0)


def _beside_export(bench: Bench, n_rows: int, locks: bool = False) -> Beside:
    store = Path(bench.file())
    write_big_store(store, n_rows)
    study = write_big_study(bench.folder() / "study")
    disturbance: Disturbance = (
        command_beside("exports that lock", ["-c", LOCKED, str(store)])
        if locks
        else export_beside(study, str(store), bench.folder())
    )
    with bench.serving(study, str(store)) as server:
        return beside_trial(server, disturbance, BESIDE_SECONDS)


def _locking(bench: Bench) -> Control:
    report = _beside_export(bench, 10_000, locks=True)
    return Control(f"an export that keeps others from writing: {report.ratio:.0f}x", report.ratio > 2)


def _slow(bench: Bench, until: float) -> Measured:
    report, slowness = _beside_slow(bench)
    gone = slowness.closed == slowness.opened == N_SLOW and slowness.longest_seconds <= PATIENCE_SECONDS
    return Measured(report, report.ratio <= 2 and report.errors == 0 and gone and slowness.refused_heads == 10)


def _beside_slow(bench: Bench, fault: str | None = None) -> tuple[Beside, Slowness]:
    slowness = Slowness()
    with bench.serving(roomy_study(bench), bench.file(), fault) as server:
        report = beside_trial(server, slow_beside(server, slowness, N_SLOW), SLOW_SECONDS)
    return report, slowness


def _endless_patience(bench: Bench) -> Control:
    _, slowness = _beside_slow(bench, "endless-patience")
    return Control(f"no timeouts: {slowness.closed} of {slowness.opened} hung up on", slowness.closed == 0)


def _too_few_files() -> str | None:
    import resource

    limit, needed = resource.getrlimit(resource.RLIMIT_NOFILE)[0], 3 * FLOOD
    return None if limit >= needed else f"{limit:,} open files allowed, {needed:,} needed: ulimit -n {needed}"


def _no_proc() -> str | None:
    return None if sys.platform == "linux" else "memory is read from /proc"


TRIALS = (
    Trial(
        "T12",
        "tenfold",
        11,
        lambda _: (
            f"{10 * NORMAL:,} answers per second for {TENFOLD_SECONDS // 60} min: "
            "99% within 100 ms, errors 0, memory within 20 MB"
        ),
        _tenfold,
        _hoarding,
        _no_proc,
    ),
    Trial(
        "T12",
        "flood",
        2,
        lambda _: f"{FLOOD:,} a second: 429 or 503 with Retry-After within 2 s, lost 0, well again within 5 s",
        _flood,
        _shed_nothing,
        _too_few_files,
    ),
    Trial(
        "T12",
        "soak",
        15,
        lambda _: (
            f"{NORMAL} answers per second for {SOAK_SECONDS // 3600} h: memory flat, -wal within 64 MB, "
            "99% at the end within 1.5x of the start"
        ),
        _soak,
        None,
        _no_proc,
    ),
    Trial(
        "T13",
        "pictures",
        2,
        lambda _: f"{N_LOOKING} clients that look at pictures of 100 kB: 99% of answers within 150 ms",
        _pictures,
        _by_the_writer,
    ),
    Trial(
        "T14",
        "beside-export",
        3,
        lambda sizes: f"answers during exports of {sizes.n_rows:,}: 99% within 2x of alone",
        _export,
        _locking,
    ),
    Trial(
        "T18",
        "slow-clients",
        5,
        lambda _: f"{N_SLOW} clients of a byte a second, heads of 10 MB: 99% within 2x, hung up on after 30 s",
        _slow,
        _endless_patience,
    ),
)
