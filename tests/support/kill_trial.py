"""Kill trials: clients keep answering while the server or its database is killed repeatedly."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from dataclasses import dataclass

from crowd import Crowd
from store_check import Findings, check_store
from study_server import StudyServer

FIRST_KILL_SECONDS, LAST_KILL_SECONDS = 0.1, 0.6
"""Range of the time from the server's first answer to its kill."""
ANSWER_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class KillReport:
    """The result of a kill trial. No answer may be lost, duplicated or missing."""

    kills: int
    acknowledged: int
    stored: int
    lost: int
    duplicated: int
    missing: int
    unknown: int
    over_quota: int
    integrity: str
    refused: int
    """Answers that were refused although their leases were valid."""
    failed_clients: int
    """Clients that were rejected or timed out."""
    restart_seconds: float
    """The longest time from start to ready."""
    median_restart_seconds: float
    requests_retried: int
    seconds: float

    @property
    def clean(self) -> bool:
        wrong = (
            self.lost,
            self.duplicated,
            self.missing,
            self.unknown,
            self.over_quota,
            self.refused,
            self.failed_clients,
        )
        return not any(wrong) and self.integrity == "ok" and self.stored >= self.acknowledged > 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.acknowledged:,} acknowledged, {self.stored:,} stored, {self.lost} lost, "
            f"{self.duplicated} duplicated, {self.missing} missing, {self.unknown} unknown, "
            f"{self.over_quota} over quota, {self.refused} refused, {self.failed_clients} clients failed, "
            f"integrity {self.integrity}, "
            f"{self.requests_retried:,} retries, median restart {self.median_restart_seconds:.2f} s "
            f"(slowest {self.restart_seconds:.2f} s)"
        )


def kill_trial(
    server: StudyServer,
    store: str,
    n_kills: int,
    *,
    seed: int,
    n_clients: int = 32,
    copies: int = 1,
    patience: float = 60.0,
    answers_per_kill: int = 1,
    until: float = float("inf"),
) -> KillReport:
    """Kill the running `server` `n_kills` times under load, then compare its store with the acknowledged answers.

    Each kill waits until `answers_per_kill` more answers are acknowledged; after the first, none starts later than
    `until` on the monotonic clock. The last kill comes after the clients have stopped, so the store is read as a server
    would find it after a crash.
    """
    begun = time.monotonic()
    crowd = Crowd(server.url, n_clients, seed, copies=copies, patience=patience)
    restarts = asyncio.run(_run_kills(server, crowd, n_kills, answers_per_kill, random.Random(seed), until))
    server.kill()
    return kill_report(crowd, check_store(store, crowd.sent), restarts, time.monotonic() - begun)


def kill_report(crowd: Crowd, found: Findings, restarts: list[float], seconds: float) -> KillReport:
    """The report of a trial; `restarts` are the seconds of each restart."""
    return KillReport(
        kills=len(restarts),
        acknowledged=crowd.n_acknowledged,
        stored=found.stored,
        lost=found.lost,
        duplicated=found.duplicated,
        missing=found.missing,
        unknown=found.unknown,
        over_quota=found.over_quota,
        integrity=found.integrity,
        refused=sum(status not in (200, 201) for answer in crowd.sent for status in answer.statuses),
        failed_clients=crowd.n_failed_clients,
        restart_seconds=max(restarts, default=0.0),
        median_restart_seconds=statistics.median(restarts or [0.0]),
        requests_retried=crowd.n_retries,
        seconds=seconds,
    )


async def _run_kills(
    server: StudyServer, crowd: Crowd, n_kills: int, answers_per_kill: int, rng: random.Random, until: float
) -> list[float]:
    restarts = []
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd.run())
        while not restarts or (len(restarts) < n_kills and time.monotonic() < until):
            await crowd.wait_for_answers(ANSWER_TIMEOUT_SECONDS, answers_per_kill)
            await asyncio.sleep(rng.uniform(FIRST_KILL_SECONDS, LAST_KILL_SECONDS))
            await asyncio.to_thread(server.kill)
            restarts.append(await asyncio.to_thread(server.start))
        await crowd.wait_for_answers(ANSWER_TIMEOUT_SECONDS)
        crowd.stop()
    return restarts
