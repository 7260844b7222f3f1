"""Quotas, leases and clocks; two servers at once (T4, T4b, T10, T19)."""

from __future__ import annotations

import time
from collections.abc import Callable

from clock_trial import WallClock, clock_trial, faketime_trial
from clock_trial import why_not as no_faketime
from quota_trial import LEASE_SECONDS, QuotaReport, quota_trial, write_quota_study
from trial import ROOT, Bench, Control, Measured, Sizes, Trial, found_by_tests, program, tried_by_tests
from two_servers_trial import second_server_says, two_servers_quota_trial, two_servers_trial

STATE_MACHINE = ROOT / "tests" / "elicitation" / "test_state_machine.py"
N_EXAMPLES = 20_000


def _quota_3(bench: Bench, until: float) -> Measured:
    return _quota(bench, 3, bench.file, until)


def _quota_10(bench: Bench, until: float) -> Measured:
    return _quota(bench, 10, bench.file, until)


def _quota_postgresql(bench: Bench, until: float) -> Measured:
    return _quota(bench, 3, bench.postgres.new_database, until)


def _quota_kills(bench: Bench, until: float) -> Measured:
    return _quota(bench, 3, bench.file, until, n_kills=4)


def _quota(bench: Bench, quota: int, new_store: Callable[[], str], until: float, n_kills: int = 0) -> Measured:
    reports: list[QuotaReport] = []
    n_seeds = bench.sizes.n_seeds
    for seed in range(n_seeds):
        if reports and time.monotonic() > until:
            break
        store = new_store()
        with bench.serving(write_quota_study(bench.folder(), quota), store) as server:
            reports.append(quota_trial(server, store, seed=seed, n_kills=n_kills))
    returned = max(report.return_seconds for report in reports)
    bad = next((report for report in reports if not report.clean), None)
    found = f"seed {reports.index(bad)}: {bad}" if bad else f"{len(reports)} seeds clean"
    late = sum(report.refused_late for report in reports)
    said = (
        f"{found}; {sum(report.answers for report in reports):,} answers, 0 over quota, {late} refused late, "
        f"leases of leavers back within {returned:.2f} s"
    )
    # A server that is down gives nothing back.
    in_time = returned <= 2 * LEASE_SECONDS or n_kills > 0
    return Measured(said if bad is None else found, bad is None and in_time, len(reports), n_seeds)


def _hold_nothing(bench: Bench) -> Control:
    store = bench.file()
    with bench.serving(write_quota_study(bench.folder(), 3), store, "hold-nothing") as server:
        over = quota_trial(server, store, seed=1, patience=30).over_quota
    return Control(f"items without leases: {over} over quota", over > 0)


def _state_machine(_bench: Bench, until: float) -> Measured:
    return tried_by_tests(STATE_MACHINE, until, N_EXAMPLES, SFUMATO_EXAMPLES=str(N_EXAMPLES))


def _mistakes(_bench: Bench) -> Control:
    return found_by_tests(STATE_MACHINE)


def _clock(bench: Bench, until: float) -> Measured:
    report = clock_trial(bench.folder(), rounds=5)
    return Measured(report, report.clean)


def _wall_clock(bench: Bench) -> Control:
    report = clock_trial(bench.folder(), WallClock, rounds=1)
    return Control(f"leases by the time of day: {report.lost_early} lost early", report.lost_early > 0)


def _faketime(bench: Bench, until: float) -> Measured:
    report = faketime_trial(bench.folder(), seed=1)
    return Measured(report, report.clean)


def _faketime_wall_clock(bench: Bench) -> Control:
    report = faketime_trial(bench.folder(), seed=1, program=program("lease-by-wall-clock"))
    wrong = report.refused_after_valid_lease + report.not_at_quota + report.starved
    return Control(
        f"leases by the time of day: {report.refused_after_valid_lease} refused within their lease, "
        f"{report.not_at_quota} items not at quota",
        wrong > 0,
    )


def _second(bench: Bench, until: float) -> Measured:
    said = second_server_says(bench.crowd_study(), bench.file())
    is_refused = "error[store-in-use]" in said
    return Measured("refused, with the number of the first" if is_refused else "it started", is_refused)


def _lock_nothing(bench: Bench) -> Control:
    said = second_server_says(bench.crowd_study(), bench.file(), program("lock-nothing"))
    return Control("a server without the lock: " + ("refused" if said else "starts"), not said)


def _two(bench: Bench, until: float) -> Measured:
    once = two_servers_trial(bench.crowd_study(), bench.postgres.new_database(), seed=1, n_answers=5_000)
    quotas = two_servers_quota_trial(bench.folder(), bench.postgres.new_database(), seed=1)
    return Measured(f"{once}; quotas: {quotas}", once.clean and quotas.clean)


def _seeds(quota: int, more: str = "") -> Callable[[Sizes], str]:
    return lambda sizes: (
        f"{sizes.n_seeds} seeds, 200 people, 500 items x {quota}{more}: over quota 0, refused within a lease 0, "
        "every item at its quota"
    )


TRIALS = (
    Trial("T4", "quota-3", 5, _seeds(3), _quota_3, _hold_nothing),
    Trial("T4", "quota-10", 8, _seeds(10), _quota_10),
    Trial("T4", "quota-postgresql", 5, _seeds(3, ", PostgreSQL"), _quota_postgresql),
    Trial("T4", "quota-kills", 4, _seeds(3, ", 4 kills each"), _quota_kills),
    Trial(
        "T4b",
        "state-machine",
        10,
        lambda _: f"{N_EXAMPLES:,} examples agree with the model",
        _state_machine,
        _mistakes,
    ),
    Trial("T10", "clock", 1, lambda _: "60 jumps by an hour, a day, a year: leases lost early 0", _clock, _wall_clock),
    Trial(
        "T10",
        "faketime",
        1,
        lambda _: "the quota trial while the server's clock jumps: clean",
        _faketime,
        _faketime_wall_clock,
        no_faketime,
    ),
    Trial("T19", "second-server", 0.5, lambda _: "a second server on one file: refused", _second, _lock_nothing),
    Trial("T19", "two-servers", 2, lambda _: "two servers on one PostgreSQL: as T3 and T4", _two),
)
