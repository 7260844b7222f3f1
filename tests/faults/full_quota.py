"""Quotas, leases, clock changes and two servers (T4, T4b, T10, T19)."""

from __future__ import annotations

import time
from collections.abc import Callable

from clock_trial import WallClock, clock_trial, faketime_trial
from clock_trial import skip_reason as no_faketime
from quota_trial import LEASE_SECONDS, QuotaReport, quota_trial, write_quota_study
from trial import ROOT, Control, Measured, Resources, Sizes, Trial, program, run_control_tests, run_tests
from two_servers_trial import second_server_output, two_servers_quota_trial, two_servers_trial

STATE_MACHINE = ROOT / "tests" / "elicitation" / "test_state_machine.py"
N_EXAMPLES = 20_000


def _quota_3(resources: Resources, until: float) -> Measured:
    return _quota(resources, 3, resources.file, until)


def _quota_10(resources: Resources, until: float) -> Measured:
    return _quota(resources, 10, resources.file, until)


def _quota_postgresql(resources: Resources, until: float) -> Measured:
    return _quota(resources, 3, resources.postgres.new_database, until)


def _quota_kills(resources: Resources, until: float) -> Measured:
    return _quota(resources, 3, resources.file, until, n_kills=4)


def _quota(resources: Resources, quota: int, new_store: Callable[[], str], until: float, n_kills: int = 0) -> Measured:
    reports: list[QuotaReport] = []
    n_seeds = resources.sizes.n_seeds
    for seed in range(n_seeds):
        if reports and time.monotonic() > until:
            break
        store = new_store()
        with resources.serving(write_quota_study(resources.folder(), quota), store) as server:
            reports.append(quota_trial(server, store, seed=seed, n_kills=n_kills))
    returned = max(report.return_seconds for report in reports)
    bad = next((report for report in reports if not report.clean), None)
    found = f"seed {reports.index(bad)}: {bad}" if bad else f"{len(reports)} seeds clean"
    late = sum(report.refused_late for report in reports)
    summary = (
        f"{found}; {sum(report.answers for report in reports):,} answers, 0 over quota, {late} refused late, "
        f"expired leases returned within {returned:.2f} s"
    )
    # A server that is down returns no leases.
    in_time = returned <= 2 * LEASE_SECONDS or n_kills > 0
    return Measured(summary if bad is None else found, bad is None and in_time, len(reports), n_seeds)


def _no_leases(resources: Resources) -> Control:
    store = resources.file()
    with resources.serving(write_quota_study(resources.folder(), 3), store, "no-leases") as server:
        over = quota_trial(server, store, seed=1, patience=30).over_quota
    return Control(f"items without leases: {over} over quota", over > 0)


def _state_machine(_resources: Resources, until: float) -> Measured:
    return run_tests(STATE_MACHINE, until, N_EXAMPLES, SFUMATO_EXAMPLES=str(N_EXAMPLES))


def _state_machine_control(_resources: Resources) -> Control:
    return run_control_tests(STATE_MACHINE)


def _clock(resources: Resources, until: float) -> Measured:
    report = clock_trial(resources.folder(), rounds=5)
    return Measured(report, report.clean)


def _wall_clock(resources: Resources) -> Control:
    report = clock_trial(resources.folder(), WallClock, rounds=1)
    return Control(f"leases by the wall clock: {report.lost_early} lost early", report.lost_early > 0)


def _faketime(resources: Resources, until: float) -> Measured:
    report = faketime_trial(resources.folder(), seed=1)
    return Measured(report, report.clean)


def _faketime_wall_clock(resources: Resources) -> Control:
    report = faketime_trial(resources.folder(), seed=1, program=program("lease-by-wall-clock"))
    wrong = report.refused_after_valid_lease + report.not_at_quota + report.starved
    return Control(
        f"leases by the wall clock: {report.refused_after_valid_lease} refused within their lease, "
        f"{report.not_at_quota} items not at quota",
        wrong > 0,
    )


def _second_server(resources: Resources, until: float) -> Measured:
    output = second_server_output(resources.crowd_study(), resources.file())
    is_refused = "error[store-in-use]" in output
    return Measured("refused, with the process id of the first" if is_refused else "it started", is_refused)


def _no_lock(resources: Resources) -> Control:
    output = second_server_output(resources.crowd_study(), resources.file(), program("no-lock"))
    return Control("a server without the lock: " + ("refused" if output else "starts"), not output)


def _two_servers(resources: Resources, until: float) -> Measured:
    once = two_servers_trial(resources.crowd_study(), resources.postgres.new_database(), seed=1, n_answers=5_000)
    quotas = two_servers_quota_trial(resources.folder(), resources.postgres.new_database(), seed=1)
    return Measured(f"{once}; quotas: {quotas}", once.clean and quotas.clean)


def _quota_required(quota: int, more: str = "") -> Callable[[Sizes], str]:
    return lambda sizes: (
        f"{sizes.n_seeds} seeds, 200 people, 500 items x {quota}{more}: 0 over quota, 0 refused within a lease, "
        "every item at its quota"
    )


TRIALS = (
    Trial("T4", "quota-3", 5, _quota_required(3), _quota_3, _no_leases),
    Trial("T4", "quota-10", 8, _quota_required(10), _quota_10),
    Trial("T4", "quota-postgresql", 5, _quota_required(3, ", PostgreSQL"), _quota_postgresql),
    Trial("T4", "quota-kills", 4, _quota_required(3, ", 4 kills each"), _quota_kills),
    Trial(
        "T4b",
        "state-machine",
        10,
        lambda _: f"{N_EXAMPLES:,} examples agree with the model",
        _state_machine,
        _state_machine_control,
    ),
    Trial(
        "T10", "clock", 1, lambda _: "60 jumps by an hour, a day or a year: 0 leases lost early", _clock, _wall_clock
    ),
    Trial(
        "T10",
        "faketime",
        1,
        lambda _: "the quota trial while the server's clock jumps: clean",
        _faketime,
        _faketime_wall_clock,
        no_faketime,
    ),
    Trial("T19", "second-server", 0.5, lambda _: "a second server on the same file: refused", _second_server, _no_lock),
    Trial("T19", "two-servers", 2, lambda _: "two servers on one PostgreSQL database: as T3 and T4", _two_servers),
)
