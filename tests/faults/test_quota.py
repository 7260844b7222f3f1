"""Two hundred people at once: every item gets exactly its quota of answers, and no valid lease is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgres_cluster import Cluster
from quota_trial import LEASE_SECONDS, quota_trial, write_quota_study
from study_server import StudyServer

RETURN_SECONDS = 4 * LEASE_SECONDS
"""Time limit for returning the item of a person who left: twice the lease, and more on a busy machine."""
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
    # Without a target, adaptive assignment fills every item up to its quota, so the trial is the same.
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(write_quota_study(tmp_path / "study", 3, assignment="adaptive"), store=store) as server:
        report = quota_trial(server, store, seed=8, n_kills=2)
    print(report)
    assert report.clean, report


def test_control_assignment_without_leases_is_detected(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(
        write_quota_study(tmp_path / "study", 3), store=store, program=(BROKEN_SERVER, "no-leases")
    ) as server:
        report = quota_trial(server, store, seed=7, patience=30)
    print(report)
    assert report.over_quota > 0
