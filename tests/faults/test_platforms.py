"""T20: platform APIs that fail, repeat rows and return them out of order."""

from __future__ import annotations

import pytest
from platform_trial import platform_trial

from sfumato.recruitment.reconciliation import MISMATCHES


@pytest.mark.parametrize("platform", ["prolific", "mturk"])
def test_requests_take_effect_once_and_all_mismatches_are_listed(platform: str) -> None:
    report = platform_trial(platform, n_people=16, seed=1)
    assert report.passed, report
    assert report.n_requests > 2 * 16  # failed requests were repeated


@pytest.mark.parametrize("platform", ["prolific", "mturk"])
def test_control_retries_without_a_key_are_detected(platform: str) -> None:
    report = platform_trial(platform, n_people=8, seed=1, keys=False)
    assert not report.passed
    assert report.asked_twice > 0
    assert report.paid_twice > 0


def test_control_a_missing_kind_of_mismatch_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(MISMATCHES, "wrong-code")
    report = platform_trial("prolific", n_people=8, seed=1)
    assert not report.passed
    assert report.missed == 2  # in neither the API nor the export
