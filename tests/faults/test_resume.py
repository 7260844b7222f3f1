"""Kill -9 while networks are trained, also during a save: they end as if nothing had been, to the last bit.

The full form, 20 kills of each job at 1 and 2 threads, is the trial `resume` of `run.py`.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from resume_trial import Worker, resume_trial, uninterrupted

N_KILLS = 4
LEAVES_WITHIN_SECONDS = 10


@pytest.mark.parametrize(("job", "threads"), [("conv", 1), ("conv", 2)])
def test_killed_and_taken_up_it_ends_the_same(tmp_path: Path, job: str, threads: int) -> None:
    report = resume_trial(job, tmp_path, N_KILLS, seed=threads, threads=threads)
    print(report)
    assert report.clean, report
    assert report.kills == N_KILLS
    assert report.during_a_save > 0


@pytest.mark.parametrize("fault", ["restart-draws", "forget-optimiser"])
def test_what_is_dropped_on_the_way_is_found_out(tmp_path: Path, fault: str) -> None:
    # The second kill comes after a save, so that there is something to be taken up wrongly.
    report = resume_trial("conv", tmp_path, 2, seed=3, fault=fault)
    print(report)
    assert report.different == {"weights", "history", "dynamics", "predictions"}
    assert not report.failed


def test_asked_to_leave_and_stopped_for_a_while_it_ends_the_same(tmp_path: Path) -> None:
    expected = uninterrupted("conv", tmp_path / "undisturbed", threads=1)
    rng = random.Random(4)
    for epoch in (3, 8):
        worker = Worker("conv", tmp_path / "left", threads=1, spacing=float("inf"))
        assert worker.hears_of("epoch", epoch - (worker.last("began") or 0))
        pid = worker.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        time.sleep(rng.uniform(0.05, 0.1))
        os.kill(pid, signal.SIGCONT)
        time.sleep(rng.uniform(0.0, 0.05))
        asked_at = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        assert worker.end() == 75
        assert time.monotonic() - asked_at < LEAVES_WITHIN_SECONDS
        assert worker.last("saved") >= epoch
    worker = Worker("conv", tmp_path / "left", threads=1)
    assert worker.end() == 0
    assert worker.last("done") == expected
