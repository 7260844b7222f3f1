"""Changes of the system clock: no lease ends early, and answers keep their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from clock_trial import WallClock, clock_trial, faketime_trial, skip_reason


def test_clock_jumps_have_no_effect(tmp_path: Path) -> None:
    report = clock_trial(tmp_path, rounds=1)
    print(report)
    assert report.clean, report


def test_control_leases_by_wall_clock_are_detected(tmp_path: Path) -> None:
    report = clock_trial(tmp_path, WallClock, rounds=1)
    print(report)
    assert report.lost_early > 0
    assert report.kept_long > 0


@pytest.mark.slow
@pytest.mark.skipif(skip_reason() is not None, reason=skip_reason() or "")
def test_quotas_and_leases_hold_while_the_server_clock_jumps(tmp_path: Path) -> None:
    report = faketime_trial(tmp_path, seed=1)
    print(report)
    assert report.clean, report
