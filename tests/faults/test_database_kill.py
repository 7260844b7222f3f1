"""PostgreSQL is killed under load: the server replies 503, recovers by itself, and loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from crowd import write_crowd_study
from database_kill_trial import backend_kill_trial, postmaster_kill_trial
from postgres_cluster import Cluster, cluster
from study_server import StudyServer

N_KILLS = 2
RECOVERY_SECONDS = 10


@pytest.fixture(scope="module")
def killable() -> Iterator[Cluster]:
    """A separate PostgreSQL cluster, because this module kills it."""
    with cluster() as running:
        yield running


def test_a_killed_backend_loses_nothing(tmp_path: Path, killable: Cluster) -> None:
    store = killable.new_database()
    with StudyServer(write_crowd_study(tmp_path / "study"), store=store) as server:
        report = backend_kill_trial(server, store, N_KILLS, seed=1)
    print(report)
    assert report.clean, report
    assert report.recovery_seconds < RECOVERY_SECONDS


def test_a_killed_postmaster_loses_nothing(tmp_path: Path, killable: Cluster) -> None:
    store = killable.new_database()
    with StudyServer(write_crowd_study(tmp_path / "study"), store=store) as server:
        report = postmaster_kill_trial(server, killable, store, N_KILLS, seed=2)
    print(report)
    assert report.clean, report
    assert report.n_unavailable > 0
    assert report.recovery_seconds < RECOVERY_SECONDS
