"""Kill -9 under load, on both stores: nothing acknowledged is lost and nothing is stored twice."""

from __future__ import annotations

from pathlib import Path

from kill_trial import kill_trial
from study_server import StudyServer, write_texts_study

BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))
N_KILLS = 20


def study_for_crowds(folder: Path) -> Path:
    """A study that a crowd does not come to the end of."""
    return write_texts_study(folder, 4_000, answers_per_item=8, batch_size=4_000)


def test_nothing_acknowledged_is_lost_or_doubled(tmp_path: Path, store: str) -> None:
    with StudyServer(study_for_crowds(tmp_path / "study"), store=store) as server:
        report = kill_trial(server, store, N_KILLS, seed=1)
    print(report)
    assert report.clean, report
    assert report.kills == N_KILLS
    # Two seconds on a machine of one's own.
    assert report.restart_seconds < 20


def test_five_copies_of_each_answer_are_one(tmp_path: Path, store: str) -> None:
    with StudyServer(study_for_crowds(tmp_path / "study"), store=store) as server:
        report = kill_trial(server, store, 3, seed=2, copies=5)
    print(report)
    assert report.clean, report


def test_a_server_that_acknowledges_before_the_commit_is_found_out(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    broken = StudyServer(
        study_for_crowds(tmp_path / "study"), store=store, program=(BROKEN_SERVER, "acknowledge-early")
    )
    with broken as server:
        report = kill_trial(server, store, 3, seed=3, patience=2.0)
    print(report)
    assert report.lost > 0


def test_a_store_without_keys_is_found_out(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(
        study_for_crowds(tmp_path / "study"), store=store, program=(BROKEN_SERVER, "forget-keys")
    ) as server:
        report = kill_trial(server, store, 1, seed=4, copies=2, patience=5.0)
    print(report)
    assert report.doubled > 0
