"""A server on a disk of its own that fills up, or whose power goes: it says so, goes on by itself, and loses nothing.

These need root, to mount the disk; `failing_disk_trial` tries the same without.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from crowd import write_crowd_study
from disk_trials import disk_full_trial, ext4_cut_trial
from small_disk import why_not

BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))
pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def test_a_full_disk_is_said_survived_and_left_behind(tmp_path: Path) -> None:
    report = disk_full_trial(write_crowd_study(tmp_path / "study"), 1, seed=1)
    print(report)
    assert report.clean, (report, report.other)


@pytest.mark.slow
def test_a_server_that_does_not_listen_to_the_disk_is_found_out(tmp_path: Path) -> None:
    study = write_crowd_study(tmp_path / "study")
    report = disk_full_trial(study, 1, seed=1, program=(BROKEN_SERVER, "ignore-commit-errors"))
    print(report)
    assert report.found.lost > 0


@pytest.mark.slow
def test_the_power_of_a_real_file_system_goes(tmp_path: Path) -> None:
    study = write_crowd_study(tmp_path / "study")
    report = ext4_cut_trial(lambda: study, 2, seed=1)
    print(report)
    assert report.clean, report
