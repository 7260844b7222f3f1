"""A server on a small disk that becomes full or loses power: it replies 503, recovers by itself, and loses nothing.

Needs root to mount the disk; `failing_disk_trial` simulates the same without root.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from crowd import write_crowd_study
from disk_trials import disk_full_trial, ext4_cut_trial
from small_disk import skip_reason

BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))
pytestmark = pytest.mark.skipif(skip_reason() is not None, reason=skip_reason() or "")


def test_a_full_disk_is_reported_and_the_server_recovers(tmp_path: Path) -> None:
    report = disk_full_trial(write_crowd_study(tmp_path / "study"), 1, seed=1)
    print(report)
    assert report.clean, (report, report.other)


@pytest.mark.slow
def test_control_ignored_commit_errors_are_detected(tmp_path: Path) -> None:
    study = write_crowd_study(tmp_path / "study")
    report = disk_full_trial(study, 1, seed=1, program=(BROKEN_SERVER, "ignore-commit-errors"))
    print(report)
    assert report.found.lost > 0


@pytest.mark.slow
def test_power_cuts_of_a_real_file_system_lose_nothing(tmp_path: Path) -> None:
    study = write_crowd_study(tmp_path / "study")
    report = ext4_cut_trial(lambda: study, 2, seed=1)
    print(report)
    assert report.clean, report
