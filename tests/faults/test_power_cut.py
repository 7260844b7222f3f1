"""Power cuts on a simulated disk that loses unsynced data: no acknowledged answer is lost, every store opens."""

from __future__ import annotations

from power_cut_trial import backup_cut_trial, migration_cut_trial, power_cut_trial

N_CUTS = 120
"""In total, during commits, checkpoints, migrations and backups. `make faults` runs thousands.

The controls show that 20 cuts detect a store that loses answers.
"""


def test_no_acknowledged_answer_is_lost() -> None:
    report = power_cut_trial(N_CUTS - 40, seed=1)
    print(report)
    assert report.clean, report
    assert report.cuts == N_CUTS - 40


def test_a_power_cut_during_a_migration_leaves_the_old_or_the_new_version() -> None:
    report = migration_cut_trial(24, seed=2)
    print(report)
    assert report.clean, report


def test_a_power_cut_during_a_backup_leaves_the_old_or_the_new_one() -> None:
    report = backup_cut_trial(16, seed=4)
    print(report)
    assert report.clean, report


def test_control_a_backup_written_in_place_is_detected() -> None:
    report = backup_cut_trial(15, seed=5, in_place=True)
    print(report)
    assert report.lost + report.corrupt > 0


def test_control_synchronous_normal_is_detected() -> None:
    report = power_cut_trial(20, seed=3, synchronous="NORMAL")
    print(report)
    assert report.lost > 0
    assert report.corrupt == 0
