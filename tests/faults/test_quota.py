"""Two hundred people at once: every item gets the answers it needs, never more, and nobody loses their turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgres_cluster import Cluster
from quota_trial import LEASE_SECONDS, quota_trial, write_quota_study
from study_server import StudyServer

RETURN_SECONDS = 4 * LEASE_SECONDS
"""When an item must be back whose holder has left: twice its lease on a machine of one's own, more on a busy one."""
BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))


@pytest.mark.parametrize(("quota", "n_items"), [(3, 500), (10, 150)])
def test_every_item_ends_exactly_at_its_quota(tmp_path: Path, quota: int, n_items: int) -> None:
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(write_quota_study(tmp_path / "study", quota, n_items=n_items), store=store) as server:
        report = quota_trial(server, store, seed=quota)
    print(report)
    assert report.clean, report
    assert report.return_seconds <= RETURN_SECONDS


def test_every_item_ends_exactly_at_its_quota_in_postgresql(tmp_path: Path, postgres: Cluster) -> None:
    store = postgres.new_database()
    with StudyServer(write_quota_study(tmp_path / "study", 3), store=store) as server:
        report = quota_trial(server, store, seed=5)
    print(report)
    assert report.clean, report
    assert report.return_seconds <= RETURN_SECONDS


def test_quotas_hold_through_kills(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(write_quota_study(tmp_path / "study", 3), store=store) as server:
        report = quota_trial(server, store, seed=6, n_kills=2)
    print(report)
    assert report.clean, report


@pytest.mark.slow
def test_quotas_hold_through_kills_in_an_adaptive_study(tmp_path: Path) -> None:
    # Without a target every item is asked about until it is full: the same trial, guided.
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(write_quota_study(tmp_path / "study", 3, assignment="adaptive"), store=store) as server:
        report = quota_trial(server, store, seed=8, n_kills=2)
    print(report)
    assert report.clean, report


def test_an_assignment_that_holds_nothing_is_found_out(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(
        write_quota_study(tmp_path / "study", 3), store=store, program=(BROKEN_SERVER, "hold-nothing")
    ) as server:
        report = quota_trial(server, store, seed=7, patience=30)
    print(report)
    assert report.over_quota > 0
