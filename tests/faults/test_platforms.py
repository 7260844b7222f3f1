"""T20: platforms whose APIs fail, repeat themselves and answer out of order. The whole trial is in `make faults`."""

from __future__ import annotations

import pytest
from platform_trial import platform_trial

from sfumato.recruitment.reconciliation import MISMATCHES


@pytest.mark.parametrize("platform", ["prolific", "mturk"])
def test_everything_happens_once_and_every_mismatch_is_told(platform: str) -> None:
    report = platform_trial(platform, n_people=16, seed=1)
    assert report.passed, report
    assert report.n_requests > 2 * 16  # there were faults to get over


@pytest.mark.parametrize("platform", ["prolific", "mturk"])
def test_retries_without_a_key_are_found_out(platform: str) -> None:
    report = platform_trial(platform, n_people=8, seed=1, keys=False)
    assert not report.passed
    assert report.asked_twice > 0
    assert report.paid_twice > 0


def test_a_table_that_leaves_one_mismatch_out_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(MISMATCHES, "wrong-code")
    report = platform_trial("prolific", n_people=8, seed=1)
    assert not report.passed
    assert report.missed == 2  # in neither the API nor the export
