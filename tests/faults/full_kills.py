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
from pooler import skip_reason as no_pooler
from trial import ANSWERS_PER_KILL, Control, Measured, Resources, Sizes, Trial

RECOVERY_SECONDS = 10
N_RESUME_KILLS = 20
N_COPIES_KILLS, N_EXACTLY_ONCE = 15, 50_000
RESTART_SECONDS = 2


def _kill_sqlite(resources: Resources, until: float) -> Measured:
    return _run_kills(resources, resources.file(), resources.sizes.n_kills, until)


def _kill_postgresql(resources: Resources, until: float) -> Measured:
    return _run_kills(resources, resources.postgres.new_database(), resources.sizes.n_kills, until)


def _run_kills(resources: Resources, store: str, n_kills: int, until: float) -> Measured:
    with resources.serving(resources.crowd_study(n_kills), store) as server:
        report = kill_trial(server, store, n_kills, seed=n_kills, until=until)
    in_time = report.median_restart_seconds <= RESTART_SECONDS
    return Measured(report, report.clean and in_time, report.kills, n_kills)


def _exactly_once_sqlite(resources: Resources, until: float) -> Measured:
    return _run_copies(resources, resources.file(), until)


def _exactly_once_postgresql(resources: Resources, until: float) -> Measured:
    return _run_copies(resources, resources.postgres.new_database(), until)


def _run_copies(resources: Resources, store: str, until: float) -> Measured:
    """Every answer is sent five times at once; the server is killed after each fifteenth of the answers."""
    with resources.serving(resources.crowd_study(2 * N_EXACTLY_ONCE // ANSWERS_PER_KILL), store) as server:
        report = kill_trial(
            server,
            store,
            N_COPIES_KILLS,
            seed=N_COPIES_KILLS,
            copies=5,
            answers_per_kill=-(-N_EXACTLY_ONCE // N_COPIES_KILLS),
            until=until,
        )
    return Measured(report, report.clean, report.acknowledged, N_EXACTLY_ONCE)


def _run_broken(resources: Resources, fault: str, n_kills: int, copies: int, patience: float) -> KillReport:
    store = resources.file()
    with resources.serving(resources.crowd_study(), store, fault) as server:
        return kill_trial(server, store, n_kills, seed=1, copies=copies, patience=patience)


def _acknowledge_early(resources: Resources) -> Control:
    lost = _run_broken(resources, "acknowledge-early", 5, 1, 4.0).lost
    return Control(f"acknowledgment before the commit: {lost} lost", lost > 0)


def _ignore_keys(resources: Resources) -> Control:
    duplicated = _run_broken(resources, "ignore-keys", 2, 2, 5.0).duplicated
    return Control(f"no keys, no unique constraints: {duplicated} duplicated", duplicated > 0)


def _n_database_kills(sizes: Sizes) -> int:
    return max(1, sizes.n_kills // 4)


def _backend(resources: Resources, until: float) -> Measured:
    store, n_kills = resources.postgres.new_database(), _n_database_kills(resources.sizes)
    with resources.serving(resources.crowd_study(n_kills), store) as server:
        return _measured(backend_kill_trial(server, store, n_kills, seed=1, until=until), n_kills)


def _postmaster(resources: Resources, until: float) -> Measured:
    store, n_kills = resources.postgres.new_database(), _n_database_kills(resources.sizes)
    with resources.serving(resources.crowd_study(n_kills), store) as server:
        report = postmaster_kill_trial(server, resources.postgres, store, n_kills, seed=2, until=until)
    return _measured(report, n_kills)


def _pooler(resources: Resources, until: float) -> Measured:
    n_kills = _n_database_kills(resources.sizes)
    with (
        pooler(resources.postgres.new_database()) as proxy,
        resources.serving(resources.crowd_study(n_kills), proxy.url) as server,
    ):
        return _measured(pooler_kill_trial(server, proxy, n_kills, seed=3, until=until), n_kills)


def _measured(report: DatabaseKillReport, n_kills: int) -> Measured:
    in_time = report.recovery_seconds <= RECOVERY_SECONDS
    return Measured(report, report.clean and in_time, report.crowd.kills, n_kills)


def _not_durable(resources: Resources) -> Control:
    """A PostgreSQL without durable commits is refused at startup."""
    refused = []
    for setting in ("fsync", "synchronous_commit"):
        store = resources.postgres.new_database()
        resources.postgres.stop()
        resources.postgres.start(f"-c {setting}=off")
        try:
            with resources.serving(resources.crowd_study(), store):
                pass
        except RuntimeError as error:
            refused.append("error[not-durable]" in str(error))
        finally:
            resources.postgres.stop()
            resources.postgres.start()
    return Control(f"fsync or synchronous_commit off: {sum(refused)} of 2 refused at startup", refused == [True] * 2)


def _resume(resources: Resources, until: float) -> Measured:
    """Kill and resume each training job, with one thread and with two."""
    from resume_trial import resume_trial  # imports PyTorch, which no other trial needs

    cases = [(job, threads) for job in ("conv", "ffn") for threads in (1, 2)]
    reports = []
    for i, (job, threads) in enumerate(cases):
        now = time.monotonic()
        ends_at = now + max(until - now, 0) / (len(cases) - i)
        reports.append(resume_trial(job, resources.folder(), N_RESUME_KILLS, seed=i, threads=threads, until=ends_at))
    n_done = sum(report.kills for report in reports)
    clean = all(report.clean and report.during_a_save for report in reports)
    return Measured("; ".join(map(str, reports)), clean, n_done, N_RESUME_KILLS * len(cases))


def _incomplete_checkpoints(resources: Resources) -> Control:
    from resume_trial import resume_trial

    faults = ("restart-draws", "forget-optimiser")
    found = sum(bool(resume_trial("conv", resources.folder(), 2, seed=9, fault=fault).different) for fault in faults)
    return Control(f"{found} of {len(faults)} incomplete checkpoints detected", found == len(faults))


def _kills_required(sizes: Sizes) -> str:
    return f"{sizes.n_kills} kills with 32 clients: 0 lost or duplicated, intact, restart within {RESTART_SECONDS} s"


def _exactly_once(_sizes: Sizes) -> str:
    return (
        f"{N_COPIES_KILLS} kills, 32 clients that send each of {N_EXACTLY_ONCE:,} answers 5 times at once: "
        "0 duplicated, 0 missing"
    )


TRIALS = (
    Trial("T1", "kill-sqlite", 8, _kills_required, _kill_sqlite, _acknowledge_early),
    Trial("T1", "kill-postgresql", 9, _kills_required, _kill_postgresql),
    Trial(
        "T1b",
        "backend",
        4,
        lambda sizes: f"{_n_database_kills(sizes)} kills of a PostgreSQL process: as T1, 503, recovery within 10 s",
        _backend,
        _not_durable,
    ),
    Trial(
        "T1b",
        "postmaster",
        6,
        lambda sizes: (
            f"{_n_database_kills(sizes)} kills of the whole PostgreSQL server: as T1, 503, recovery within 10 s"
        ),
        _postmaster,
    ),
    Trial(
        "T1b",
        "pooler",
        4,
        lambda sizes: (
            f"{_n_database_kills(sizes)} kills of PgBouncer in front of PostgreSQL: as T1, 503, recovery within 10 s"
        ),
        _pooler,
        None,
        no_pooler,
    ),
    Trial("T3", "exactly-once-sqlite", 4, _exactly_once, _exactly_once_sqlite, _ignore_keys),
    Trial("T3", "exactly-once-postgresql", 6, _exactly_once, _exactly_once_postgresql),
    Trial(
        "T8",
        "resume",
        3,
        lambda _: (
            f"{N_RESUME_KILLS} kills of each training with 1 and 2 threads, also during a save: bit-identical results"
        ),
        _resume,
        _incomplete_checkpoints,
    ),
)
