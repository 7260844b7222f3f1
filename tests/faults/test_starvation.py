"""A server with hardly any files, memory or processor: nothing is lost, and it is well again when it has them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from crowd import write_crowd_study
from starvation_trial import starvation_trial


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit is not installed")
@pytest.mark.parametrize("of", ["files", "memory", "processor"])
def test_a_starved_server_loses_nothing_and_recovers(tmp_path: Path, of: str) -> None:
    report = starvation_trial(write_crowd_study(tmp_path / "study"), str(tmp_path / "answers.sqlite"), of, seed=1)
    print(report)
    assert report.clean, report
