"""Two servers on one store: refused on a file, with the process id of the first; allowed on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from crowd import write_crowd_study
from postgres_cluster import Cluster
from two_servers_trial import second_server_output, two_servers_quota_trial, two_servers_trial

BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))


def test_a_second_server_on_a_file_is_refused(tmp_path: Path) -> None:
    output = second_server_output(write_crowd_study(tmp_path / "study", 100), str(tmp_path / "answers.sqlite"))
    assert "error[store-in-use]" in output


@pytest.mark.slow
def test_control_a_server_without_a_lock_is_detected(tmp_path: Path) -> None:
    study, store = write_crowd_study(tmp_path / "study", 100), str(tmp_path / "answers.sqlite")
    assert not second_server_output(study, store, (BROKEN_SERVER, "no-lock"))


@pytest.mark.slow
def test_two_servers_on_postgresql_store_each_answer_once(tmp_path: Path, postgres: Cluster) -> None:
    report = two_servers_trial(write_crowd_study(tmp_path / "study"), postgres.new_database(), seed=1)
    print(report)
    assert report.clean, report


@pytest.mark.slow
def test_two_servers_on_postgresql_keep_every_quota(tmp_path: Path, postgres: Cluster) -> None:
    report = two_servers_quota_trial(tmp_path / "study", postgres.new_database(), seed=1)
    print(report)
    assert report.clean, report
