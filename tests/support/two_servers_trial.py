"""Trial: two servers on one store. On a file the second is refused; on PostgreSQL both work."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crowd import Crowd
from quota_trial import QuotaReport, quota_trial, write_quota_study
from store_check import Findings, check_store
from study_server import StudyServer

WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class TwoReport:
    """The result of two servers on one PostgreSQL database, each with its own clients."""

    found: Findings
    acknowledged: tuple[int, int]
    refused: int

    @property
    def clean(self) -> bool:
        found = self.found
        wrong = (found.lost, found.duplicated, found.missing, found.unknown, found.over_quota, self.refused)
        return not any(wrong) and found.integrity == "ok" and min(self.acknowledged) > 0

    def __str__(self) -> str:
        first, second = self.acknowledged
        return (
            f"{first:,} and {second:,} acknowledged, {self.found.lost} lost, {self.found.duplicated} duplicated, "
            f"{self.found.over_quota} over quota, {self.refused} refused, integrity {self.found.integrity}"
        )


def second_server_output(study: Path, store: str, program: Sequence[str] = ("-m", "sfumato")) -> str:
    """The output of a second server on the same file; empty if it starts."""
    with StudyServer(study, store=store, program=program) as first:
        second = StudyServer(study, store=store, program=program)
        second.log = study / "second.log"
        try:
            second.start()
        except RuntimeError as error:
            output = str(error)
            assert f"process {first.pid}" in output, output
            return output
        second.kill()
        return ""


def two_servers_trial(study: Path, store: str, *, seed: int, n_answers: int = 500) -> TwoReport:
    """Two servers on one PostgreSQL database, each with its own clients; each answer is sent twice at once."""
    other = StudyServer(study, store=store)
    other.log = study / "other.log"
    with StudyServer(study, store=store) as one, other as two:
        crowds = [Crowd(server.url, 8, seed + i, copies=2) for i, server in enumerate((one, two))]
        asyncio.run(_send_answers(crowds, n_answers))
        for server in (one, two):
            server.kill()
    sent = [answer for crowd in crowds for answer in crowd.sent]
    refused = sum(status not in (200, 201) for answer in sent for status in answer.statuses)
    return TwoReport(check_store(store, sent), (crowds[0].n_acknowledged, crowds[1].n_acknowledged), refused)


async def _send_answers(crowds: list[Crowd], n_answers: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        for crowd in crowds:
            tasks.create_task(crowd.run())
        try:
            while min(crowd.n_acknowledged for crowd in crowds) < n_answers // 2:
                await crowds[0].wait_for_answers(WAIT_SECONDS)
        finally:
            for crowd in crowds:
                crowd.stop()


class _Pair(StudyServer):
    """Two servers that are used in turn."""

    def __init__(self, one: StudyServer, two: StudyServer) -> None:
        self._both = (one, two)
        self._turns = itertools.cycle(self._both)

    @property
    def url(self) -> str:
        return next(self._turns).url

    def kill(self, how: int = 9) -> None:
        for server in self._both:
            server.kill(how)


def two_servers_quota_trial(folder: Path, store: str, *, seed: int, n_people: int = 200) -> QuotaReport:
    """The quota trial with half of the people at each server."""
    study = write_quota_study(folder, 3, n_people=n_people, n_items=500 * n_people // 200)
    other = StudyServer(study, store=store)
    other.log = study / "other.log"
    with StudyServer(study, store=store) as one, other as two:
        return quota_trial(_Pair(one, two), store, seed=seed, n_people=n_people)
