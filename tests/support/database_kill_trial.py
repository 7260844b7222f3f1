"""Database kill trials: PostgreSQL is killed under load. The server must reply 503, recover, and lose nothing."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from crowd import Crowd
from kill_trial import FIRST_KILL_SECONDS, LAST_KILL_SECONDS, KillReport, kill_report
from pooler import Pooler
from postgres_cluster import Cluster
from store_check import check_store
from study_server import StudyServer

from sfumato.server.browser_client import BrowserClient
from sfumato.store.location import StoreLocation

BACKENDS = sa.text(
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database()"
    " AND pid <> pg_backend_pid() ORDER BY backend_start"
)
RECOVERY_SECONDS = 60.0
"""Timeout for a recovery; the requirement is ten seconds."""


@dataclass(frozen=True)
class DatabaseKillReport:
    """The result: lost answers, recovery times, and the replies during the outage."""

    crowd: KillReport
    recovery_seconds: float
    """The longest time from PostgreSQL's restart (or a backend's kill) to the next acknowledged answer."""
    n_unavailable: int
    """Replies 503 with Retry-After."""
    n_other: int
    """Other replies than 200 and 503 with Retry-After, and broken connections."""
    same_process: bool

    @property
    def clean(self) -> bool:
        return self.crowd.clean and self.same_process and self.n_other == 0

    def __str__(self) -> str:
        return (
            f"{self.crowd}, slowest recovery {self.recovery_seconds:.2f} s, {self.n_unavailable:,} replies 503, "
            f"{self.n_other} other replies"
        )


def backend_kill_trial(
    server: StudyServer, store: str, n_kills: int, *, seed: int, until: float = float("inf")
) -> DatabaseKillReport:
    """Repeatedly kill a PostgreSQL process that serves `server`; PostgreSQL then restarts all of them itself."""
    engine = sa.create_engine(StoreLocation.of(store).url, poolclass=sa.NullPool)
    rng = random.Random(seed)

    async def kill() -> None:
        with engine.connect() as connection:
            pids = list(connection.execute(BACKENDS).scalars())
        assert pids, "the server has no connection to kill"
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(pids), signal.SIGKILL)

    return _trial(server, store, kill, n_kills, seed, until)


def postmaster_kill_trial(
    server: StudyServer, cluster: Cluster, store: str, n_kills: int, *, seed: int, until: float = float("inf")
) -> DatabaseKillReport:
    """Repeatedly kill the postmaster, wait a moment, and start PostgreSQL again."""

    async def kill() -> None:
        postmaster = cluster.postmaster()
        pids = [str(postmaster), *Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()]
        os.kill(postmaster, signal.SIGKILL)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(_restart, cluster, pids)

    return _trial(server, store, kill, n_kills, seed, until)


def pooler_kill_trial(
    server: StudyServer, pooler: Pooler, n_kills: int, *, seed: int, until: float = float("inf")
) -> DatabaseKillReport:
    """Repeatedly kill the pooler in front of PostgreSQL, wait a moment, and start it again."""

    async def kill() -> None:
        pooler.kill()
        await asyncio.sleep(0.5)
        await asyncio.to_thread(pooler.start)

    return _trial(server, pooler.url, kill, n_kills, seed, until)


def _trial(
    server: StudyServer,
    store: str,
    kill: Callable[[], Awaitable[None]],
    n_kills: int,
    seed: int,
    until: float,
) -> DatabaseKillReport:
    begun, pid = time.monotonic(), server.pid
    crowd = Crowd(server.url, 32, seed)
    monitor = _Monitor(server.port)
    recoveries = asyncio.run(_run_kills(server, crowd, monitor, kill, n_kills, random.Random(seed), until))
    same_process = server.pid == pid and _is_alive(pid)
    server.kill()
    found = check_store(store, crowd.sent)
    report = kill_report(crowd, found, [0.0] * len(recoveries), time.monotonic() - begun)
    return DatabaseKillReport(
        report, max(recoveries, default=0.0), monitor.n_unavailable, monitor.n_other, same_process
    )


async def _run_kills(
    server: StudyServer,
    crowd: Crowd,
    monitor: _Monitor,
    kill: Callable[[], Awaitable[None]],
    n_kills: int,
    rng: random.Random,
    until: float,
) -> list[float]:
    recoveries: list[float] = []
    async with BrowserClient(server.url) as visitor:
        token = await visitor.join()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd.run())
        monitoring = tasks.create_task(asyncio.to_thread(monitor.run, token))
        while not recoveries or (len(recoveries) < n_kills and time.monotonic() < until):
            await crowd.wait_for_answers(RECOVERY_SECONDS)
            await asyncio.sleep(rng.uniform(FIRST_KILL_SECONDS, LAST_KILL_SECONDS))
            await kill()
            # Wait for replies that were sent before the kill, so that the next acknowledgment is a new one.
            await asyncio.sleep(0.05)
            recoveries.append(await crowd.wait_for_answers(RECOVERY_SECONDS))
        crowd.stop()
        monitor.is_done = True
        await monitoring
    return recoveries


@dataclass
class _Monitor:
    """Requests a participant's state repeatedly without retries, and counts the replies."""

    port: int
    n_unavailable: int = 0
    n_other: int = 0
    is_done: bool = False
    other_replies: list[str] = field(default_factory=list)

    def run(self, token: str) -> None:
        while not self.is_done:
            time.sleep(0.02)
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=RECOVERY_SECONDS)
            try:
                connection.request("POST", f"/s/{token}/api/state", b"{}", {"Content-Type": "application/json"})
                reply = connection.getresponse()
                body = reply.read()
            except OSError as error:
                self._other(repr(error))
                continue
            finally:
                connection.close()
            if reply.status == 503 and (reply.headers.get("Retry-After") or "").isdigit():
                self.n_unavailable += 1
            elif reply.status != 200:
                self._other(f"{reply.status} {body[:200]!r}")

    def _other(self, what: str) -> None:
        self.n_other += 1
        self.other_replies.append(what)


def _restart(cluster: Cluster, pids: Sequence[str]) -> None:
    """Start PostgreSQL after a crash, when all processes of the old one have exited."""
    # PostgreSQL refuses to start while an old process is in /proc, even as a zombie.
    for attempt in range(200):
        if attempt >= 50 or not any(Path("/proc", pid).exists() for pid in pids):
            try:
                cluster.start()
            except RuntimeError:
                if attempt == 199:
                    raise
            else:
                return
        time.sleep(0.1)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
