"""Kill -9 during training, also during a save: the resumed training gives bit-identical results.

The trial `resume` of `run.py` runs 20 kills of each job with 1 and 2 threads.
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
EXIT_LIMIT_SECONDS = 10


@pytest.mark.parametrize(("job", "threads"), [("conv", 1), ("conv", 2)])
def test_a_killed_and_resumed_training_gives_the_same_result(tmp_path: Path, job: str, threads: int) -> None:
    report = resume_trial(job, tmp_path, N_KILLS, seed=threads, threads=threads)
    print(report)
    assert report.clean, report
    assert report.kills == N_KILLS
    assert report.during_a_save > 0


@pytest.mark.parametrize("fault", ["restart-draws", "forget-optimiser"])
def test_control_incomplete_checkpoints_are_detected(tmp_path: Path, fault: str) -> None:
    # The second kill comes after a save, so that there is a checkpoint to resume from.
    report = resume_trial("conv", tmp_path, 2, seed=3, fault=fault)
    print(report)
    assert report.different == {"weights", "history", "dynamics", "predictions"}
    assert not report.failed


def test_a_stopped_and_terminated_training_gives_the_same_result(tmp_path: Path) -> None:
    expected = uninterrupted("conv", tmp_path / "undisturbed", threads=1)
    rng = random.Random(4)
    for epoch in (3, 8):
        worker = Worker("conv", tmp_path / "left", threads=1, spacing=float("inf"))
        assert worker.wait_for("epoch", epoch - (worker.last("began") or 0))
        pid = worker.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        time.sleep(rng.uniform(0.05, 0.1))
        os.kill(pid, signal.SIGCONT)
        time.sleep(rng.uniform(0.0, 0.05))
        signaled_at = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        assert worker.end() == 75
        assert time.monotonic() - signaled_at < EXIT_LIMIT_SECONDS
        assert worker.last("saved") >= epoch
    worker = Worker("conv", tmp_path / "left", threads=1)
    assert worker.end() == 0
    assert worker.last("done") == expected
