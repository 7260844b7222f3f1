"""Resume trials: a training is killed again and again, also while it saves, and must end as if it had not been."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import time
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from resume_job import Outcome, work

PATIENCE_SECONDS = 120.0
LONGEST_LIFE_SECONDS = 0.4
"""How long a process is left at work, at most, once it has begun."""

_context = multiprocessing.get_context("forkserver")
# Loaded once, so that a process that is to be killed soon takes a moment to start and not seconds.
_context.set_forkserver_preload(
    ["__main__", "torch._dynamo", "sfumato.training.resumable_run", "sfumato.training.networks"]
)


def _nursery() -> None:
    """Where processes are forked from. Their threads wait without turning: what else runs here leaves few cores."""
    before = os.environ.get("OMP_WAIT_POLICY")
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["OMP_WAIT_POLICY"]
        if before is not None:
            os.environ["OMP_WAIT_POLICY"] = before


class Worker:
    """A process that carries a job out, and what it has said so far."""

    def __init__(self, job: str, folder: Path, *, threads: int, fault: str | None = None, spacing: float = 0.0) -> None:
        _nursery()
        self._ear, mouth = _context.Pipe(duplex=False)
        self.said: list[tuple[str, Any]] = []
        self.process: ForkServerProcess = _context.Process(
            target=work, args=(mouth, job, folder, threads, fault, spacing)
        )
        self.process.start()
        mouth.close()

    def hears(self) -> tuple[str, Any] | None:
        """The next thing said; nothing when the process is at its end."""
        ear: Connection = self._ear
        if not ear.poll(PATIENCE_SECONDS):
            self.process.kill()
            raise RuntimeError(f"the process has gone quiet after {self.said[-3:]}")
        try:
            self.said.append(ear.recv())
        except (EOFError, OSError):
            return None
        return self.said[-1]

    def hears_of(self, what: str, times: int = 1) -> bool:
        """Wait until it has said `what` so often from now on; whether it came to that."""
        for _ in range(times):
            while (heard := self.hears()) is not None and heard[0] != what:
                pass
            if heard is None:
                return False
        return True

    def end(self) -> int:
        """Wait for the end of the process; its exit code."""
        while self.hears() is not None:
            pass
        self.process.join(PATIENCE_SECONDS)
        self._ear.close()
        assert self.process.exitcode is not None
        return self.process.exitcode

    def last(self, what: str) -> Any:
        return next((value for name, value in reversed(self.said) if name == what), None)


def uninterrupted(job: str, folder: Path, *, threads: int) -> Outcome:
    """What the job comes to when nobody disturbs it, and it never saves."""
    worker = Worker(job, folder, threads=threads, spacing=float("inf"))
    code = worker.end()
    assert code == 0, f"the undisturbed process ended with {code}"
    outcome: Outcome = worker.last("done")
    return outcome


@dataclass
class ResumeReport:
    """What a resume trial found. Every training must end as the undisturbed one, to the last bit."""

    job: str
    threads: int
    kills: int = 0
    during_a_save: int = 0
    finished: int = 0
    """Trainings that came to their end; when one does before the last kill, another begins."""
    different: set[str] = field(default_factory=set)
    """What was not as it should be, of weights, history, dynamics and predictions."""
    went_back: int = 0
    """Times that a process began before what had been saved."""
    failed: int = 0
    """Processes that ended otherwise than by our hand."""
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        return self.finished > 0 and not (self.different or self.went_back or self.failed)

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        differing = ", ".join(sorted(self.different)) or "none"
        return (
            f"{self.job}, {threads}: {self.kills} kills, {self.during_a_save} during a save, {self.finished} trainings "
            f"ended, parts that differ: {differing}, {self.went_back} went back, {self.failed} failed"
        )


def resume_trial(
    job: str,
    folder: Path,
    n_kills: int,
    *,
    seed: int,
    threads: int = 1,
    fault: str | None = None,
    until: float = float("inf"),
) -> ResumeReport:
    """Kill `job` `n_kills` times, every other time during a save, and hold what it comes to against an undisturbed run.

    After the first, no kill is begun later than `until` on the monotonic clock.
    """
    begun, rng, report = time.monotonic(), random.Random(seed), ResumeReport(job, threads)
    expected = uninterrupted(job, folder / "undisturbed", threads=threads)
    saved, save_seconds = 0, 0.005
    while True:
        worker = Worker(job, folder / "killed", threads=threads, fault=fault)
        will_kill = report.kills < n_kills and (not report.kills or time.monotonic() < until)
        if will_kill:
            save_seconds = _kill(worker, rng, in_a_save=bool(report.kills % 2), save_seconds=save_seconds)
        code = worker.end()
        if worker.last("began") is not None and worker.last("began") < saved:
            report.went_back += 1
        saved = max(saved, worker.last("saved") or 0)
        if outcome := worker.last("done"):
            report.finished += 1
            report.different |= {part for part, value in vars(expected).items() if getattr(outcome, part) != value}
            shutil.rmtree(folder / "killed")
            saved = 0
            if not will_kill:
                break
        elif code == -signal.SIGKILL:
            report.kills += 1
            report.during_a_save += worker.said[-1:] != [] and worker.said[-1][0] == "saving"
        else:
            report.failed += 1
            break
    report.seconds = time.monotonic() - begun
    return report


def _kill(worker: Worker, rng: random.Random, *, in_a_save: bool, save_seconds: float) -> float:
    """Kill the worker at some moment; returns how long a save takes, as far as one was heard."""
    if in_a_save and worker.hears_of("saving", rng.randint(1, 3)):
        # One more, watched from its beginning to its end, says how long the next will take.
        at = time.monotonic()
        if worker.hears_of("saved"):
            save_seconds = time.monotonic() - at
            if worker.hears_of("saving"):
                time.sleep(rng.uniform(0.0, save_seconds))
    elif worker.hears_of("began"):
        time.sleep(rng.uniform(0.0, LONGEST_LIFE_SECONDS))
    worker.process.kill()
    return save_seconds
