"""Database kill trials: PostgreSQL is killed under a server at work, which must say so, come back, and lose nothing."""

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
"""How long we look on before we call it no recovery at all; what is asked for is ten seconds."""


@dataclass(frozen=True)
class DatabaseKillReport:
    """What a database kill trial found: what was lost, how long the server was out, and what it said meanwhile."""

    crowd: KillReport
    recovery_seconds: float
    """The longest from PostgreSQL's being back (or a backend's death) to the next answer acknowledged."""
    n_unavailable: int
    """Replies 503 with Retry-After that a visitor saw."""
    n_other: int
    """Replies that were neither what was asked for nor a 503 with Retry-After, and connections that were cut."""
    same_process: bool

    @property
    def clean(self) -> bool:
        return self.crowd.clean and self.same_process and self.n_other == 0

    def __str__(self) -> str:
        return (
            f"{self.crowd}, slowest recovery {self.recovery_seconds:.2f} s, {self.n_unavailable:,} times 503, "
            f"{self.n_other} other replies"
        )


def backend_kill_trial(
    server: StudyServer, store: str, n_kills: int, *, seed: int, until: float = float("inf")
) -> DatabaseKillReport:
    """Kill a PostgreSQL process that serves `server`, again and again; PostgreSQL then restarts all of them itself."""
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
    """Kill all of PostgreSQL by its postmaster, leave it dead for a moment, and start it again."""

    async def kill() -> None:
        postmaster = cluster.postmaster()
        family = [str(postmaster), *Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()]
        os.kill(postmaster, signal.SIGKILL)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(_started_again, cluster, family)

    return _trial(server, store, kill, n_kills, seed, until)


def pooler_kill_trial(
    server: StudyServer, pooler: Pooler, n_kills: int, *, seed: int, until: float = float("inf")
) -> DatabaseKillReport:
    """Kill the pooler that `server` reaches PostgreSQL by, leave it dead for a moment, and start it again."""

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
    onlooker = _Onlooker(server.port)
    recoveries = asyncio.run(_killed(server, crowd, onlooker, kill, n_kills, random.Random(seed), until))
    same_process = server.pid == pid and _is_alive(pid)
    server.kill()
    found = check_store(store, crowd.sent)
    report = kill_report(crowd, found, [0.0] * len(recoveries), time.monotonic() - begun)
    return DatabaseKillReport(
        report, max(recoveries, default=0.0), onlooker.n_unavailable, onlooker.n_other, same_process
    )


async def _killed(
    server: StudyServer,
    crowd: Crowd,
    onlooker: _Onlooker,
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
        looking = tasks.create_task(asyncio.to_thread(onlooker.look_on, token))
        while not recoveries or (len(recoveries) < n_kills and time.monotonic() < until):
            await crowd.hears_more(RECOVERY_SECONDS)
            await asyncio.sleep(rng.uniform(FIRST_KILL_SECONDS, LAST_KILL_SECONDS))
            await kill()
            # Let what was on its way before the kill arrive, so that the next answer heard of is one after it.
            await asyncio.sleep(0.05)
            recoveries.append(await crowd.hears_more(RECOVERY_SECONDS))
        crowd.stop()
        onlooker.is_done = True
        await looking
    return recoveries


@dataclass
class _Onlooker:
    """Somebody who asks for their state over and over, never retries, and counts what they are told."""

    port: int
    n_unavailable: int = 0
    n_other: int = 0
    is_done: bool = False
    said: list[str] = field(default_factory=list)

    def look_on(self, token: str) -> None:
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
        self.said.append(what)


def _started_again(cluster: Cluster, family: Sequence[str]) -> None:
    """Start PostgreSQL after a crash, when every process of the old one has found out that it is alone and is gone."""
    # It would refuse even for a process that is dead and that nobody has waited for yet, so we ask for its folder.
    for attempt in range(200):
        if attempt >= 50 or not any(Path("/proc", pid).exists() for pid in family):
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
