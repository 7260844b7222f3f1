"""Backups and exports under load are intact and consistent snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest
from copies_trials import backup_trial, copy_file_only, export_trial
from crowd import write_crowd_study
from study_server import StudyServer


def test_backups_under_load_contain_all_acknowledged_answers(tmp_path: Path) -> None:
    """Control: a copy of only the database file misses answers."""
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(write_crowd_study(tmp_path / "study", 4_000), store=store) as server:
        report = backup_trial(server, store, tmp_path, 3, seed=1, n_clients=4)
        control = backup_trial(server, store, tmp_path, 2, seed=2, n_clients=4, copy=copy_file_only)
    print(report, control, sep="\n")
    assert report.clean, report
    assert control.missing > 0


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [True, False])
def test_an_export_under_load_is_one_snapshot(tmp_path: Path, at_once: bool) -> None:
    """Control: two files that are exported one after the other are not."""
    study, store = write_crowd_study(tmp_path / "study", 60_000), str(tmp_path / "answers.sqlite")
    with StudyServer(study, store=store) as server:
        report = export_trial(server, study, store, tmp_path, 2, seed=1, at_once=at_once)
    print(report)
    assert report.clean is at_once, report
