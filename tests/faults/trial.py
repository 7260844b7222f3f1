"""What `make faults` runs: trials in their full form, each with its figure and with something broken to be found."""

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
ANSWERS_A_KILL = 1_000
"""More than a crowd gives between two kills."""


@dataclass(frozen=True)
class Sizes:
    """How much is asked of the trials."""

    n_kills: int = 200
    n_seeds: int = 20
    n_cuts: int = 5_000
    n_rows: int = 1_000_000


@dataclass(frozen=True)
class Measured:
    """What a trial found. What was cut short has not shown what was asked, however clean it was so far."""

    said: object
    clean: bool
    n_done: int = 1
    n_asked: int = 1

    @property
    def passed(self) -> bool:
        return self.clean and self.n_done >= self.n_asked

    def __str__(self) -> str:
        short = f"**cut short at {self.n_done:,} of {self.n_asked:,}:** " if self.n_done < self.n_asked else ""
        return f"{short}{self.said}"


@dataclass(frozen=True)
class Control:
    """What the same trial says of something that is broken on purpose."""

    said: str
    found_out: bool


@dataclass(frozen=True)
class Trial:
    """A trial of FAULTS: `number` is its own there, `name` what `--only` knows it by."""

    number: str
    name: str
    share: float
    """Of the time that all of them have."""
    asked: Callable[[Sizes], str]
    run: Callable[[Bench, float], Measured]
    """Given the time on the monotonic clock at which it should come to its end."""
    control: Callable[[Bench], Control] | None = None
    """None where another trial's, with the same check, is the control."""
    why_not: Callable[[], str | None] = lambda: None
    """Why it cannot be run here."""


class Bench:
    """What trials are made with: places, databases, servers right and broken."""

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
        """Where a new store may be."""
        return str(self.folder() / "answers.sqlite")

    def crowd_study(self, n_kills: int = 0) -> Path:
        """A study that no crowd comes to the end of within so many kills."""
        return write_crowd_study(self.folder() / "study", max(30_000, ANSWERS_A_KILL * n_kills))

    @contextlib.contextmanager
    def serving(self, study: Path, store: str, fault: str | None = None, pace: float = 0) -> Iterator[StudyServer]:
        """The study served; without a limit on what one person may send, unless there is to be one."""
        with StudyServer(study, store=store, program=program(fault), python=sys.executable, pace=pace) as server:
            yield server


def program(fault: str | None = None) -> tuple[str, ...]:
    """How a server is started; with a fault put in, if one is named."""
    return (str(HERE / "broken_server.py"), fault) if fault else ("-m", "sfumato")


def tried_by_tests(file: Path, until: float, n_asked: int, **environment: str) -> Measured:
    """The result of a file's own tests without its controls; `n_asked` is how much they had to try."""
    try:
        passed, said = _tests(file, "not found", max(until - time.monotonic(), 1.0), environment)
    except TimeoutError:
        return Measured("nothing found so far", True, 0, n_asked)
    return Measured(said, passed, n_asked, n_asked)


def found_by_tests(file: Path) -> Control:
    """The control that is in a file of tests: those that say that something broken is found."""
    passed, said = _tests(file, "found", None, {})
    return Control(f"each fault put in is found: {said}" if passed else said, passed)


def _tests(file: Path, which: str, seconds: float | None, environment: dict[str, str]) -> tuple[bool, str]:
    """Whether all tests passed that `which` picks, and the last line that was said."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", which, str(file)]
    with subprocess.Popen(
        command, env=os.environ | environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # Asked kindly, so that what the tests have started is ended too.
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise TimeoutError from None
        finally:
            process.kill()
    if process.returncode:
        print(said)
    return process.returncode == 0, (said.strip().splitlines() or ["nothing said"])[-1]
