"""A server with few files, little memory or little CPU time: nothing is lost, and it recovers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from crowd import write_crowd_study
from starvation_trial import starvation_trial


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit is not installed")
@pytest.mark.parametrize("resource", ["files", "memory", "processor"])
def test_a_server_with_limited_resources_loses_nothing_and_recovers(tmp_path: Path, resource: str) -> None:
    report = starvation_trial(write_crowd_study(tmp_path / "study"), str(tmp_path / "answers.sqlite"), resource, seed=1)
    print(report)
    assert report.clean, report
