"""Trials with a server on a small disk that is filled, loses power or turns read-only under load."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crowd import Crowd
from kill_trial import FIRST_KILL_SECONDS, LAST_KILL_SECONDS
from recorded_participant import RecordedParticipant, Reply
from small_disk import SmallDisk, small_disk
from store_check import Findings, check_store
from study_server import StudyServer

OURS = ("-m", "sfumato")
N_CLIENTS = 8
WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class FullReport:
    """The result of filling the disk `times` times."""

    times: int
    found: Findings
    acknowledged: int
    refused: int
    """Replies 503 storage-full with Retry-After."""
    other: list[Reply] = field(repr=False)
    """Replies other than success and 503 storage-full."""
    unread: int
    """Read-only pages that failed while the disk was full."""
    warned: bool
    """Whether the dashboard warned of low disk space."""
    recovery_seconds: float

    @property
    def clean(self) -> bool:
        wrong = (
            self.found.lost,
            self.found.duplicated,
            self.found.missing,
            self.found.unknown,
            self.unread,
            self.other,
        )
        return not any(wrong) and self.found.integrity == "ok" and self.warned and self.refused >= self.times > 0

    def __str__(self) -> str:
        return (
            f"full {self.times} times, {self.acknowledged:,} acknowledged, {self.found.lost} lost, "
            f"{self.found.duplicated} duplicated, integrity {self.found.integrity}, "
            f"{self.refused} replies 503 storage-full, {len(self.other)} other replies, {self.unread} pages failed, "
            f"{'warned' if self.warned else 'not warned'}, recovered within {self.recovery_seconds:.1f} s"
        )


def disk_full_trial(study: Path, n_times: int, *, seed: int, program: Sequence[str] = OURS) -> FullReport:
    """Fill the disk under load, check the replies, free the space, and check that answers are stored again."""
    with small_disk() as disk:
        store = str(disk.folder / "answers.sqlite")
        with StudyServer(study, store=store, program=program) as server:
            crowd, participant = Crowd(server.url, N_CLIENTS, seed), RecordedParticipant(server.port)
            run = _FullDiskRun(disk, server, crowd, participant)
            asyncio.run(run.run(n_times))
            server.kill()
        found = check_store(store, [*crowd.sent, *participant.sent])
    return FullReport(
        run.times,
        found,
        crowd.n_acknowledged,
        run.refused,
        run.other,
        run.unread,
        run.warned,
        max(run.recoveries, default=0.0),
    )


@dataclass
class _FullDiskRun:
    disk: SmallDisk
    server: StudyServer
    crowd: Crowd
    participant: RecordedParticipant
    times: int = 0
    refused: int = 0
    unread: int = 0
    warned: bool = True
    other: list[Reply] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)

    async def run(self, n_times: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.crowd.run())
            try:
                cookie = await asyncio.to_thread(_log_in, self.participant, self.server.log)
                for _ in range(n_times):
                    await self.crowd.wait_for_answers(WAIT_SECONDS)
                    await asyncio.to_thread(self.disk.fill)
                    await asyncio.to_thread(self._check_full, cookie)
                    self.disk.free()
                    self.times += 1
                    self.recoveries.append(await self._recover())
            finally:
                self.crowd.stop()
                self.disk.free()

    def _check_full(self, cookie: str) -> None:
        """Answer until three answers are refused, then check the pages and the dashboard's warning."""
        ends_at = time.monotonic() + WAIT_SECONDS
        n_before = self.refused
        while self.refused < n_before + 3 and time.monotonic() < ends_at:
            reply = self.participant.answer()
            if reply.status == 503 and reply.code == "storage-full" and (reply.retry_after or "").isdigit():
                self.refused += 1
            elif reply.status not in (200, 201):
                self.other.append(reply)
        self.unread += sum(status != 200 for status in self.participant.read_pages())
        state = self.participant.ask("GET", "/studio/state", headers={"Cookie": cookie})
        self.warned &= state.status == 200 and bool(state.body["progress"]["disk"]["is_low"])

    async def _recover(self) -> float:
        begun = time.monotonic()
        with contextlib.suppress(TimeoutError):
            await self.crowd.wait_for_answers(WAIT_SECONDS)
        seconds = time.monotonic() - begun
        await asyncio.to_thread(self.participant.resend)
        return seconds


def _log_in(participant: RecordedParticipant, log: Path) -> str:
    """The researcher's cookie, from the link that the server printed."""
    ends_at = time.monotonic() + WAIT_SECONDS
    while not (found := re.search(r"http://[^/\s]+(/studio/enter/\S+)", log.read_text())):
        assert time.monotonic() < ends_at, log.read_text()
    return participant.ask("POST", found[1]).cookie


@dataclass(frozen=True)
class CutReport:
    """The result of cutting the power of a real file system under load, or of making it read-only."""

    harm: str
    cuts: int
    acknowledged: int
    lost: int
    duplicated: int
    corrupt: int
    stayed_up: int
    """Servers that kept running and replied 503."""

    @property
    def clean(self) -> bool:
        return (
            self.lost == self.duplicated == self.corrupt == 0 and self.stayed_up == self.cuts and self.acknowledged > 0
        )

    def __str__(self) -> str:
        return (
            f"{self.cuts} times {self.harm}, {self.acknowledged:,} acknowledged, {self.lost} lost, "
            f"{self.duplicated} duplicated, {self.corrupt} corrupt, {self.stayed_up} servers stayed up and replied 503"
        )


def ext4_cut_trial(
    new_study: Callable[[], Path],
    n_cuts: int,
    *,
    seed: int,
    program: Sequence[str] = OURS,
    until: float = float("inf"),
    harm: Callable[[SmallDisk], None] = SmallDisk.cut,
) -> CutReport:
    """Apply `harm` (by default a power cut) to a real file system under load, mount it again and check the store."""
    rng = random.Random(seed)
    cuts = acknowledged = lost = duplicated = corrupt = stayed_up = 0
    while cuts < n_cuts and (cuts == 0 or time.monotonic() < until):
        with small_disk(48) as disk:
            store = str(disk.folder / "answers.sqlite")
            with StudyServer(new_study(), store=store, program=program) as server:
                crowd = Crowd(server.url, N_CLIENTS, rng.randrange(10**9), patience=1.0)
                stayed_up += asyncio.run(_cut(harm, disk, server, crowd, rng))
                server.kill()
            disk.unmount()
            disk.mount()
            found = check_store(store, crowd.sent)
        cuts += 1
        acknowledged += crowd.n_acknowledged
        lost += found.lost
        duplicated += found.duplicated
        corrupt += found.integrity != "ok"
    return CutReport(harm.__name__.replace("_", " "), cuts, acknowledged, lost, duplicated, corrupt, stayed_up)


async def _cut(
    harm: Callable[[SmallDisk], None], disk: SmallDisk, server: StudyServer, crowd: Crowd, rng: random.Random
) -> bool:
    """Apply `harm` while the server is paused; returns whether the server keeps running and replies only 503.

    The server is paused because a power cut also stops its processor. Otherwise a sync that runs while ext4 is shut
    down may succeed (as in Linux 6.18), and the answer would be acknowledged after the power cut.
    """
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(crowd.run())
        await crowd.wait_for_answers(WAIT_SECONDS)
        participant = await asyncio.to_thread(RecordedParticipant, server.port)
        await asyncio.sleep(rng.uniform(FIRST_KILL_SECONDS, LAST_KILL_SECONDS))
        with server.paused():
            harm(disk)
        statuses = set()
        for _ in range(3):
            statuses.add((await asyncio.to_thread(participant.answer)).status)
        crowd.stop()
        await running
    return statuses == {503}
