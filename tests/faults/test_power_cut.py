"""Power cuts, on a disk that forgets what was not synced: nothing acknowledged is lost, and every store opens again."""

from __future__ import annotations

from power_cut_trial import backup_cut_trial, migration_cut_trial, power_cut_trial

N_CUTS = 300
"""In all, over commits, checkpoints, migrations and backups."""


def test_no_acknowledged_answer_is_lost() -> None:
    report = power_cut_trial(N_CUTS - 100, seed=1)
    print(report)
    assert report.clean, report
    assert report.cuts == N_CUTS - 100


def test_a_migration_that_is_cut_leaves_the_old_store_or_the_new() -> None:
    report = migration_cut_trial(60, seed=2)
    print(report)
    assert report.clean, report


def test_a_backup_that_is_cut_leaves_the_old_one_or_the_new() -> None:
    report = backup_cut_trial(40, seed=4)
    print(report)
    assert report.clean, report


def test_a_backup_written_in_place_is_found_out() -> None:
    report = backup_cut_trial(15, seed=5, in_place=True)
    print(report)
    assert report.lost + report.corrupt > 0


def test_a_store_that_does_not_wait_for_the_disk_is_found_out() -> None:
    report = power_cut_trial(40, seed=3, synchronous="NORMAL")
    print(report)
    assert report.lost > 0
    assert report.corrupt == 0
