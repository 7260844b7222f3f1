"""Resume trials: a training is killed repeatedly, also while it saves, and must end with the same result."""

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
"""The longest time from a process's start to its kill."""

_context = multiprocessing.get_context("forkserver")
# Imported once, so that new processes start quickly.
_context.set_forkserver_preload(
    ["__main__", "torch._dynamo", "sfumato.training.resumable_run", "sfumato.training.networks"]
)


def _start_fork_server() -> None:
    """Start the fork server, with threads that wait passively because few cores are free."""
    before = os.environ.get("OMP_WAIT_POLICY")
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["OMP_WAIT_POLICY"]
        if before is not None:
            os.environ["OMP_WAIT_POLICY"] = before


class Worker:
    """A process that runs a job, and the messages it has sent."""

    def __init__(self, job: str, folder: Path, *, threads: int, fault: str | None = None, spacing: float = 0.0) -> None:
        _start_fork_server()
        self._receiver, sender = _context.Pipe(duplex=False)
        self.messages: list[tuple[str, Any]] = []
        self.process: ForkServerProcess = _context.Process(
            target=work, args=(sender, job, folder, threads, fault, spacing)
        )
        self.process.start()
        sender.close()

    def receive(self) -> tuple[str, Any] | None:
        """The next message; None when the process has ended."""
        receiver: Connection = self._receiver
        if not receiver.poll(PATIENCE_SECONDS):
            self.process.kill()
            raise RuntimeError(f"no message from the process after {self.messages[-3:]}")
        try:
            self.messages.append(receiver.recv())
        except (EOFError, OSError):
            return None
        return self.messages[-1]

    def wait_for(self, what: str, times: int = 1) -> bool:
        """Wait for `times` more messages `what`; False if the process ends before."""
        for _ in range(times):
            while (message := self.receive()) is not None and message[0] != what:
                pass
            if message is None:
                return False
        return True

    def end(self) -> int:
        """Wait until the process ends; returns its exit code."""
        while self.receive() is not None:
            pass
        self.process.join(PATIENCE_SECONDS)
        self._receiver.close()
        assert self.process.exitcode is not None
        return self.process.exitcode

    def last(self, what: str) -> Any:
        return next((value for name, value in reversed(self.messages) if name == what), None)


def uninterrupted(job: str, folder: Path, *, threads: int) -> Outcome:
    """The result of the job without kills or checkpoints."""
    worker = Worker(job, folder, threads=threads, spacing=float("inf"))
    code = worker.end()
    assert code == 0, f"the undisturbed process ended with {code}"
    outcome: Outcome = worker.last("done")
    return outcome


@dataclass
class ResumeReport:
    """The result of a resume trial. Every training must be bit-identical to an uninterrupted one."""

    job: str
    threads: int
    kills: int = 0
    during_a_save: int = 0
    finished: int = 0
    """Trainings that finished; if one finishes before the last kill, another starts."""
    different: set[str] = field(default_factory=set)
    """Which of weights, history, dynamics and predictions differ."""
    from_older_state: int = 0
    """Processes that started from an older state than the last saved one."""
    failed: int = 0
    """Processes that ended by an error."""
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        return self.finished > 0 and not (self.different or self.from_older_state or self.failed)

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        differing = ", ".join(sorted(self.different)) or "none"
        return (
            f"{self.job}, {threads}: {self.kills} kills, {self.during_a_save} during a save, {self.finished} trainings "
            f"finished, differences: {differing}, {self.from_older_state} from an older state, {self.failed} failed"
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
    """Kill `job` `n_kills` times, every second time during a save, and compare the result with an uninterrupted run.

    After the first kill, none starts later than `until` on the monotonic clock.
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
            report.from_older_state += 1
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
            report.during_a_save += worker.messages[-1:] != [] and worker.messages[-1][0] == "saving"
        else:
            report.failed += 1
            break
    report.seconds = time.monotonic() - begun
    return report


def _kill(worker: Worker, rng: random.Random, *, in_a_save: bool, save_seconds: float) -> float:
    """Kill the worker at a random moment; returns the duration of a save, if one was observed."""
    if in_a_save and worker.wait_for("saving", rng.randint(1, 3)):
        # Measure one more save, to choose a moment within the next one.
        at = time.monotonic()
        if worker.wait_for("saved"):
            save_seconds = time.monotonic() - at
            if worker.wait_for("saving"):
                time.sleep(rng.uniform(0.0, save_seconds))
    elif worker.wait_for("began"):
        time.sleep(rng.uniform(0.0, LONGEST_LIFE_SECONDS))
    worker.process.kill()
    return save_seconds
