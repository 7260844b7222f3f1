"""Trial: a server with few file descriptors, little memory or little CPU time must lose nothing and recover."""

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
    """The result of limiting one resource of a server for a while."""

    resource_name: str
    acknowledged: int
    limited: int
    """Answers acknowledged under the limit."""
    lost: int
    duplicated: int
    integrity: str
    same_process: bool
    recovery_seconds: float

    @property
    def clean(self) -> bool:
        return (
            self.lost == self.duplicated == 0
            and self.integrity == "ok"
            and self.same_process
            and self.acknowledged > self.limited
        )

    def __str__(self) -> str:
        up = "stayed up" if self.same_process else "DIED"
        return (
            f"{self.resource_name}: {up}, {self.limited:,} of {self.acknowledged:,} acknowledged under the limit, "
            f"{self.lost} lost, "
            f"{self.duplicated} duplicated, integrity {self.integrity}, recovered within {self.recovery_seconds:.1f} s"
        )


def starvation_trial(
    study: Path, store: str, resource_name: str, *, seed: int, seconds: float = 5.0
) -> StarvationReport:
    """Limit the `files`, `memory` or `processor` of a server for a while; 100 clients if it is the files."""
    n_clients = 100 if resource_name == "files" else 16
    # Files and memory are limited from the start, before the server can use more.
    limits = {"files": [f"--nofile={N_FILES}:4096"], "memory": [f"--as={MEGABYTES * 2**20}:unlimited"]}.get(
        resource_name, []
    )
    with StudyServer(
        study, store=store, python="prlimit", program=(*limits, sys.executable, "-m", "sfumato")
    ) as server:
        crowd = Crowd(server.url, n_clients, seed, patience=WAIT_SECONDS)
        limited, recovery = asyncio.run(_run_limited(server, crowd, resource_name, seconds))
        same_process = _is_alive(server.pid)
        server.kill()
    found = check_store(store, crowd.sent)
    return StarvationReport(
        resource_name,
        crowd.n_acknowledged,
        limited,
        found.lost,
        found.duplicated,
        found.integrity,
        same_process,
        recovery,
    )


async def _run_limited(server: StudyServer, crowd: Crowd, resource_name: str, seconds: float) -> tuple[int, float]:
    """Answers acknowledged under the limit, and the seconds until it recovered."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd.run())
        try:
            with (
                _limited_cpu(server.pid) if resource_name == "processor" else contextlib.nullcontext(iter(())) as ticks
            ):
                ends_at = time.monotonic() + seconds
                while time.monotonic() < ends_at:
                    next(ticks, None)
                    await asyncio.sleep(TICK_SECONDS)
            limited = crowd.n_acknowledged
            _remove_limits(server.pid)
            return limited, await crowd.wait_for_answers(WAIT_SECONDS)
        finally:
            crowd.stop()


@contextlib.contextmanager
def _limited_cpu(pid: int) -> Iterator[Iterator[None]]:
    """Let the process run for a twentieth of each tick."""

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


def _remove_limits(pid: int) -> None:
    """Remove the limits of the process."""
    for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
        _, most = resource.prlimit(pid, kind)
        resource.prlimit(pid, kind, (most, most))


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
