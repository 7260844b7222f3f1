"""A disk that is full, read-only, or fails to write or to sync: 503 until it is well again, and nothing is lost."""

from __future__ import annotations

from failing_disk import Fault
from failing_disk_trial import failing_disk_trial


def test_nothing_acknowledged_is_lost_whatever_fails() -> None:
    report = failing_disk_trial(32, seed=1)
    print(report)
    assert report.clean, report
    assert report.codes == {"storage-full", "store-down"}


def test_who_tries_a_failed_sync_again_and_goes_on_is_found_out() -> None:
    report = failing_disk_trial(15, seed=2, faults=(Fault.SYNC,), tries_again=True)
    print(report)
    assert report.refused == 0
    assert report.lost + report.corrupt > 0


def test_a_writer_that_does_not_look_after_a_failure_is_found_out() -> None:
    # The -wal may have a hole that only the system knows: what was acknowledged behind it is gone with the power.
    report = failing_disk_trial(30, seed=1, faults=(Fault.SYNC,), looks=False)
    print(report)
    assert report.lost > 0
