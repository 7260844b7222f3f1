"""Kill -9 under load, on both databases: no acknowledged answer is lost, and none is stored twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from crowd import write_crowd_study
from kill_trial import kill_trial
from study_server import StudyServer

BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))
N_KILLS = 4
"""Four kills detect a server that acknowledges too early; `make faults` runs 200 per database."""


def test_no_acknowledged_answer_is_lost_or_duplicated(tmp_path: Path, store: str) -> None:
    with StudyServer(write_crowd_study(tmp_path / "study"), store=store) as server:
        report = kill_trial(server, store, N_KILLS, seed=1)
    print(report)
    assert report.clean, report
    assert report.kills == N_KILLS
    # Less than two seconds on an idle machine; more while other tests run.
    assert report.median_restart_seconds < 15


@pytest.mark.slow
def test_five_copies_of_an_answer_are_stored_once(tmp_path: Path, store: str) -> None:
    with StudyServer(write_crowd_study(tmp_path / "study"), store=store) as server:
        report = kill_trial(server, store, 3, seed=2, copies=5)
    print(report)
    assert report.clean, report


def test_control_acknowledgment_before_the_commit_is_detected(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    broken = StudyServer(
        write_crowd_study(tmp_path / "study"), store=store, program=(BROKEN_SERVER, "acknowledge-early")
    )
    with broken as server:
        report = kill_trial(server, store, 4, seed=3, patience=4.0)
    print(report)
    assert report.lost > 0


def test_control_a_store_without_keys_is_detected(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(
        write_crowd_study(tmp_path / "study"), store=store, program=(BROKEN_SERVER, "ignore-keys")
    ) as server:
        report = kill_trial(server, store, 1, seed=4, copies=2, patience=5.0)
    print(report)
    assert report.duplicated > 0
