"""Kill trials: a crowd answers on and on while the server, or its database, is killed again and again."""

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
"""How long a server is left at work after it first answers."""
ANSWERS_AGAIN_SECONDS = 60.0


@dataclass(frozen=True)
class KillReport:
    """What a kill trial found. Nothing may be lost, doubled or missing, whatever was killed when."""

    kills: int
    acknowledged: int
    stored: int
    lost: int
    doubled: int
    missing: int
    unknown: int
    over_quota: int
    integrity: str
    refused: int
    """Answers that were turned down, though their trials were held for them."""
    turned_away: int
    """Clients that were not known any more, or waited in vain."""
    restart_seconds: float
    """The longest time from starting the server to its being ready."""
    median_restart_seconds: float
    requests_retried: int
    seconds: float

    @property
    def clean(self) -> bool:
        wrong = (self.lost, self.doubled, self.missing, self.unknown, self.over_quota, self.refused, self.turned_away)
        return not any(wrong) and self.integrity == "ok" and self.stored >= self.acknowledged > 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.acknowledged:,} acknowledged, {self.stored:,} stored, {self.lost} lost, "
            f"{self.doubled} doubled, {self.missing} missing, {self.unknown} unknown, {self.over_quota} over quota, "
            f"{self.refused} refused, {self.turned_away} turned away, integrity {self.integrity}, "
            f"{self.requests_retried:,} retries, restart in {self.median_restart_seconds:.2f} s "
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
    answers_a_kill: int = 1,
    until: float = float("inf"),
) -> KillReport:
    """Kill the running `server` `n_kills` times under load, then hold its store against what clients were told.

    No kill comes before `answers_a_kill` more answers were acknowledged and, after the first, none is begun later than
    `until` on the monotonic clock. The last kill comes when the crowd has gone home, so what is read is what a server
    would find that starts after a crash.
    """
    begun = time.monotonic()
    crowd = Crowd(server.url, n_clients, seed, copies=copies, patience=patience)
    restarts = asyncio.run(_killed(server, crowd, n_kills, answers_a_kill, random.Random(seed), until))
    server.kill()
    return kill_report(crowd, check_store(store, crowd.sent), restarts, time.monotonic() - begun)


def kill_report(crowd: Crowd, found: Findings, restarts: list[float], seconds: float) -> KillReport:
    """The report of a trial in which the server took each of `restarts` seconds to start again."""
    return KillReport(
        kills=len(restarts),
        acknowledged=crowd.n_acknowledged,
        stored=found.stored,
        lost=found.lost,
        doubled=found.doubled,
        missing=found.missing,
        unknown=found.unknown,
        over_quota=found.over_quota,
        integrity=found.integrity,
        refused=sum(status not in (200, 201) for answer in crowd.sent for status in answer.statuses),
        turned_away=crowd.n_turned_away,
        restart_seconds=max(restarts, default=0.0),
        median_restart_seconds=statistics.median(restarts or [0.0]),
        requests_retried=crowd.n_retries,
        seconds=seconds,
    )


async def _killed(
    server: StudyServer, crowd: Crowd, n_kills: int, answers_a_kill: int, rng: random.Random, until: float
) -> list[float]:
    restarts = []
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd.run())
        while not restarts or (len(restarts) < n_kills and time.monotonic() < until):
            await crowd.hears_more(ANSWERS_AGAIN_SECONDS, answers_a_kill)
            await asyncio.sleep(rng.uniform(FIRST_KILL_SECONDS, LAST_KILL_SECONDS))
            await asyncio.to_thread(server.kill)
            restarts.append(await asyncio.to_thread(server.start))
        await crowd.hears_more(ANSWERS_AGAIN_SECONDS)
        crowd.stop()
    return restarts
