"""Kill -9 of the server, of PostgreSQL and of trainings; answers exactly once (T1, T1b, T3, T8)."""

from __future__ import annotations

import time

from database_kill_trial import (
    DatabaseKillReport,
    backend_kill_trial,
    pooler_kill_trial,
    postmaster_kill_trial,
)
from kill_trial import KillReport, kill_trial
from pooler import pooler
from pooler import why_not as no_pooler
from trial import ANSWERS_A_KILL, Bench, Control, Measured, Sizes, Trial

RECOVERY_SECONDS = 10
N_RESUME_KILLS = 20
N_COPIES_KILLS, N_ONCE = 15, 50_000
RESTART_SECONDS = 2


def _kill_sqlite(bench: Bench, until: float) -> Measured:
    return _killed(bench, bench.file(), bench.sizes.n_kills, until)


def _kill_postgresql(bench: Bench, until: float) -> Measured:
    return _killed(bench, bench.postgres.new_database(), bench.sizes.n_kills, until)


def _killed(bench: Bench, store: str, n_kills: int, until: float) -> Measured:
    with bench.serving(bench.crowd_study(n_kills), store) as server:
        report = kill_trial(server, store, n_kills, seed=n_kills, until=until)
    in_time = report.median_restart_seconds <= RESTART_SECONDS
    return Measured(report, report.clean and in_time, report.kills, n_kills)


def _copies_sqlite(bench: Bench, until: float) -> Measured:
    return _copied(bench, bench.file(), until)


def _copies_postgresql(bench: Bench, until: float) -> Measured:
    return _copied(bench, bench.postgres.new_database(), until)


def _copied(bench: Bench, store: str, until: float) -> Measured:
    """Every answer five times at once, and a kill whenever a fifteenth of them is there."""
    with bench.serving(bench.crowd_study(2 * N_ONCE // ANSWERS_A_KILL), store) as server:
        report = kill_trial(
            server,
            store,
            N_COPIES_KILLS,
            seed=N_COPIES_KILLS,
            copies=5,
            answers_a_kill=-(-N_ONCE // N_COPIES_KILLS),
            until=until,
        )
    return Measured(report, report.clean, report.acknowledged, N_ONCE)


def _broken(bench: Bench, fault: str, n_kills: int, copies: int, patience: float) -> KillReport:
    store = bench.file()
    with bench.serving(bench.crowd_study(), store, fault) as server:
        return kill_trial(server, store, n_kills, seed=1, copies=copies, patience=patience)


def _acknowledge_early(bench: Bench) -> Control:
    lost = _broken(bench, "acknowledge-early", 5, 1, 4.0).lost
    return Control(f"acknowledging before the commit: {lost} lost", lost > 0)


def _forget_keys(bench: Bench) -> Control:
    doubled = _broken(bench, "forget-keys", 2, 2, 5.0).doubled
    return Control(f"no keys, no unique constraints: {doubled} doubled", doubled > 0)


def _n_database_kills(sizes: Sizes) -> int:
    return max(1, sizes.n_kills // 4)


def _backend(bench: Bench, until: float) -> Measured:
    store, n_kills = bench.postgres.new_database(), _n_database_kills(bench.sizes)
    with bench.serving(bench.crowd_study(n_kills), store) as server:
        return _back_in_time(backend_kill_trial(server, store, n_kills, seed=1, until=until), n_kills)


def _postmaster(bench: Bench, until: float) -> Measured:
    store, n_kills = bench.postgres.new_database(), _n_database_kills(bench.sizes)
    with bench.serving(bench.crowd_study(n_kills), store) as server:
        report = postmaster_kill_trial(server, bench.postgres, store, n_kills, seed=2, until=until)
    return _back_in_time(report, n_kills)


def _pooler(bench: Bench, until: float) -> Measured:
    n_kills = _n_database_kills(bench.sizes)
    with (
        pooler(bench.postgres.new_database()) as between,
        bench.serving(bench.crowd_study(n_kills), between.url) as server,
    ):
        return _back_in_time(pooler_kill_trial(server, between, n_kills, seed=3, until=until), n_kills)


def _back_in_time(report: DatabaseKillReport, n_kills: int) -> Measured:
    in_time = report.recovery_seconds <= RECOVERY_SECONDS
    return Measured(report, report.clean and in_time, report.crowd.kills, n_kills)


def _not_durable(bench: Bench) -> Control:
    """A PostgreSQL that forgets is refused before anybody answers."""
    refused = []
    for setting in ("fsync", "synchronous_commit"):
        store = bench.postgres.new_database()
        bench.postgres.stop()
        bench.postgres.start(f"-c {setting}=off")
        try:
            with bench.serving(bench.crowd_study(), store):
                pass
        except RuntimeError as error:
            refused.append("error[not-durable]" in str(error))
        finally:
            bench.postgres.stop()
            bench.postgres.start()
    return Control(f"fsync or synchronous_commit off: {sum(refused)} of 2 refused at the start", refused == [True] * 2)


def _resume(bench: Bench, until: float) -> Measured:
    """Trainings killed and taken up, each job at one thread and at two."""
    from resume_trial import resume_trial  # PyTorch, which no other trial needs

    cases = [(job, threads) for job in ("conv", "ffn") for threads in (1, 2)]
    reports = []
    for i, (job, threads) in enumerate(cases):
        now = time.monotonic()
        ends_at = now + max(until - now, 0) / (len(cases) - i)
        reports.append(resume_trial(job, bench.folder(), N_RESUME_KILLS, seed=i, threads=threads, until=ends_at))
    n_done = sum(report.kills for report in reports)
    clean = all(report.clean and report.during_a_save for report in reports)
    return Measured("; ".join(map(str, reports)), clean, n_done, N_RESUME_KILLS * len(cases))


def _forgetful(bench: Bench) -> Control:
    from resume_trial import resume_trial

    faults = ("restart-draws", "forget-optimiser")
    found = sum(bool(resume_trial("conv", bench.folder(), 2, seed=9, fault=fault).different) for fault in faults)
    return Control(f"{found} of {len(faults)} trainings that forget found out", found == len(faults))


def _under_load(sizes: Sizes) -> str:
    return f"{sizes.n_kills} kills under 32 clients: lost 0, doubled 0, whole, restart within {RESTART_SECONDS} s"


def _once(_sizes: Sizes) -> str:
    return (
        f"{N_COPIES_KILLS} kills, 32 clients that send each of {N_ONCE:,} answers 5 times at once: doubled 0, missing 0"
    )


TRIALS = (
    Trial("T1", "kill-sqlite", 8, _under_load, _kill_sqlite, _acknowledge_early),
    Trial("T1", "kill-postgresql", 9, _under_load, _kill_postgresql),
    Trial(
        "T1b",
        "backend",
        4,
        lambda sizes: f"{_n_database_kills(sizes)} kills of a PostgreSQL process: the same, 503, back within 10 s",
        _backend,
        _not_durable,
    ),
    Trial(
        "T1b",
        "postmaster",
        6,
        lambda sizes: f"{_n_database_kills(sizes)} kills of all of PostgreSQL: the same, 503, back within 10 s",
        _postmaster,
    ),
    Trial(
        "T1b",
        "pooler",
        4,
        lambda sizes: (
            f"{_n_database_kills(sizes)} kills of PgBouncer before PostgreSQL: the same, 503, back within 10 s"
        ),
        _pooler,
        None,
        no_pooler,
    ),
    Trial("T3", "once-sqlite", 4, _once, _copies_sqlite, _forget_keys),
    Trial("T3", "once-postgresql", 6, _once, _copies_postgresql),
    Trial(
        "T8",
        "resume",
        3,
        lambda _: (
            f"{N_RESUME_KILLS} kills of each training at 1 and 2 threads, also during a save: the same to the bit"
        ),
        _resume,
        _forgetful,
    ),
)
