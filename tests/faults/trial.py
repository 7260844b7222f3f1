"""Definitions for the fault trials of `make faults`. Each trial has a requirement and a control that must fail it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crowd import write_crowd_study
from postgres_cluster import Cluster
from study_server import StudyServer

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ANSWERS_PER_KILL = 1_000
"""More answers than the clients send between two kills."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of the trials."""

    n_kills: int = 200
    n_seeds: int = 20
    n_cuts: int = 5_000
    n_rows: int = 1_000_000


@dataclass(frozen=True)
class Measured:
    """The result of a trial. A trial that ran out of time has not passed, even without errors so far."""

    summary: object
    clean: bool
    n_done: int = 1
    n_required: int = 1

    @property
    def passed(self) -> bool:
        return self.clean and self.n_done >= self.n_required

    def __str__(self) -> str:
        short = f"**stopped at {self.n_done:,} of {self.n_required:,}:** " if self.n_done < self.n_required else ""
        return f"{short}{self.summary}"


@dataclass(frozen=True)
class Control:
    """The result of the same trial for a version that is broken on purpose."""

    summary: str
    detected: bool


@dataclass(frozen=True)
class Trial:
    """A fault trial: `number` is its number in our list of faults, `--only` accepts both `number` and `name`."""

    number: str
    name: str
    share: float
    """Share of the total time, relative to the other trials."""
    requirement: Callable[[Sizes], str]
    run: Callable[[Resources, float], Measured]
    """Called with the time on the monotonic clock at which it should end."""
    control: Callable[[Resources], Control] | None = None
    """None if another trial with the same check has the control."""
    skip_reason: Callable[[], str | None] = lambda: None
    """Why it cannot run on this machine, or None."""


class Resources:
    """Folders, databases and servers for the trials."""

    def __init__(self, folder: Path, postgres: Cluster, sizes: Sizes) -> None:
        self._folder, self.postgres, self.sizes = folder, postgres, sizes
        self._n_folders = 0

    def folder(self) -> Path:
        """A new folder."""
        self._n_folders += 1
        made = self._folder / f"trial{self._n_folders}"
        made.mkdir()
        return made

    def file(self) -> str:
        """The path of a new store."""
        return str(self.folder() / "answers.sqlite")

    def crowd_study(self, n_kills: int = 0) -> Path:
        """A study with more items than the clients can answer within this many kills."""
        return write_crowd_study(self.folder() / "study", max(30_000, ANSWERS_PER_KILL * n_kills))

    @contextlib.contextmanager
    def serving(self, study: Path, store: str, fault: str | None = None, pace: float = 0) -> Iterator[StudyServer]:
        """Serve the study; `pace` limits the requests per person (0: no limit)."""
        with StudyServer(study, store=store, program=program(fault), python=sys.executable, pace=pace) as server:
            yield server


def program(fault: str | None = None) -> tuple[str, ...]:
    """The arguments that start a server, with a fault if one is named."""
    return (str(HERE / "broken_server.py"), fault) if fault else ("-m", "sfumato")


def run_tests(file: Path, until: float, n_required: int, **environment: str) -> Measured:
    """The result of a test file without its control tests; `n_required` is the number of cases they try."""
    try:
        passed, output = _run_pytest(file, "not found", max(until - time.monotonic(), 1.0), environment)
    except TimeoutError:
        return Measured("no errors so far", True, 0, n_required)
    return Measured(output, passed, n_required, n_required)


def run_control_tests(file: Path) -> Control:
    """The result of the control tests of a test file: those with `found` in their names."""
    passed, output = _run_pytest(file, "found", None, {})
    return Control(f"each planted fault is found: {output}" if passed else output, passed)


def _run_pytest(file: Path, which: str, seconds: float | None, environment: dict[str, str]) -> tuple[bool, str]:
    """Whether all tests selected by `which` passed, and the last line of the output."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", which, str(file)]
    with subprocess.Popen(
        command, env=os.environ | environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # SIGINT first, so that the tests can end the processes they started.
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise TimeoutError from None
        finally:
            process.kill()
    if process.returncode:
        print(output)
    return process.returncode == 0, (output.strip().splitlines() or ["no output"])[-1]
