"""Clocks that are set forward and back: no lease ends early, and answers stay in the order they came."""

from __future__ import annotations

from pathlib import Path

import pytest
from clock_trial import WallClock, clock_trial, faketime_trial, why_not


def test_jumps_of_the_clock_change_nothing(tmp_path: Path) -> None:
    report = clock_trial(tmp_path, rounds=1)
    print(report)
    assert report.clean, report


def test_leases_by_the_time_of_day_are_found_out(tmp_path: Path) -> None:
    report = clock_trial(tmp_path, WallClock, rounds=1)
    print(report)
    assert report.lost_early > 0
    assert report.kept_long > 0


@pytest.mark.slow
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_a_server_whose_clock_jumps_keeps_every_quota_and_lease(tmp_path: Path) -> None:
    report = faketime_trial(tmp_path, seed=1)
    print(report)
    assert report.clean, report
