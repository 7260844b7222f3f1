"""A disk that is full, read-only, or fails to write or sync: 503 until it works again, and nothing is lost."""

from __future__ import annotations

from failing_disk import Fault
from failing_disk_trial import failing_disk_trial


def test_disk_failures_lose_no_acknowledged_answer() -> None:
    report = failing_disk_trial(32, seed=1)
    print(report)
    assert report.clean, report
    assert report.codes == {"storage-full", "store-down"}


def test_control_repeating_a_failed_sync_is_detected() -> None:
    report = failing_disk_trial(15, seed=2, faults=(Fault.SYNC,), retries_sync=True)
    print(report)
    assert report.refused == 0
    assert report.lost + report.corrupt > 0


def test_control_continuing_without_a_check_is_detected() -> None:
    # The -wal file may have a hole; answers acknowledged after it are lost in a power cut.
    report = failing_disk_trial(30, seed=1, faults=(Fault.SYNC,), checks=False)
    print(report)
    assert report.lost > 0
