"""The trial: a server with hardly any files, memory or processor to be had. It says so, loses nothing, and recovers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crowd import Crowd
from store_check import check_store
from study_server import StudyServer

N_FILES = 64
MEGABYTES = 256
SHARE_OF_A_CORE = 0.05
TICK_SECONDS = 0.1
WAIT_SECONDS = 120.0


@dataclass(frozen=True)
class StarvationReport:
    """What came of a server that lacked something for a while."""

    of: str
    acknowledged: int
    starved: int
    """Answers acknowledged meanwhile."""
    lost: int
    doubled: int
    integrity: str
    same_process: bool
    recovery_seconds: float

    @property
    def clean(self) -> bool:
        return (
            self.lost == self.doubled == 0
            and self.integrity == "ok"
            and self.same_process
            and self.acknowledged > self.starved
        )

    def __str__(self) -> str:
        up = "stayed up" if self.same_process else "DIED"
        return (
            f"{self.of}: {up}, {self.starved:,} of {self.acknowledged:,} acknowledged meanwhile, {self.lost} lost, "
            f"{self.doubled} doubled, integrity {self.integrity}, well again within {self.recovery_seconds:.1f} s"
        )


def starvation_trial(study: Path, store: str, of: str, *, seed: int, seconds: float = 5.0) -> StarvationReport:
    """Starve a server of `files`, `memory` or `processor` for a while, under more clients than it has files for."""
    n_clients = 100 if of == "files" else 16
    # Files and memory are limited from the start; what is taken away later would have been had already.
    limits = {"files": [f"--nofile={N_FILES}:4096"], "memory": [f"--as={MEGABYTES * 2**20}:unlimited"]}.get(of, [])
    with StudyServer(
        study, store=store, python="prlimit", program=(*limits, sys.executable, "-m", "sfumato")
    ) as server:
        crowd = Crowd(server.url, n_clients, seed, patience=WAIT_SECONDS)
        starved, recovery = asyncio.run(_starved(server, crowd, of, seconds))
        same_process = _is_alive(server.pid)
        server.kill()
    found = check_store(store, crowd.sent)
    return StarvationReport(
        of, crowd.n_acknowledged, starved, found.lost, found.doubled, found.integrity, same_process, recovery
    )


async def _starved(server: StudyServer, crowd: Crowd, of: str, seconds: float) -> tuple[int, float]:
    """Answers acknowledged while it starved, and how long it took to be well again."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd.run())
        try:
            with _slowed(server.pid) if of == "processor" else contextlib.nullcontext(iter(())) as ticks:
                ends_at = time.monotonic() + seconds
                while time.monotonic() < ends_at:
                    next(ticks, None)
                    await asyncio.sleep(TICK_SECONDS)
            starved = crowd.n_acknowledged
            _lift(server.pid)
            return starved, await crowd.hears_more(WAIT_SECONDS)
        finally:
            crowd.stop()


@contextlib.contextmanager
def _slowed(pid: int) -> Iterator[Iterator[None]]:
    """The process runs for a twentieth of each tick."""

    def ticks() -> Iterator[None]:
        while True:
            os.kill(pid, signal.SIGCONT)
            time.sleep(SHARE_OF_A_CORE * TICK_SECONDS)
            os.kill(pid, signal.SIGSTOP)
            yield

    try:
        yield ticks()
    finally:
        os.kill(pid, signal.SIGCONT)


def _lift(pid: int) -> None:
    """Let the process have what it asks for."""
    for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
        _, most = resource.prlimit(pid, kind)
        resource.prlimit(pid, kind, (most, most))


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
