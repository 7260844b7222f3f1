"""Trials of load: a steady crowd, one that is far too large, and people beside others who take all they can get."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import uvloop
from open_loop import People, Waits
from PIL import Image
from store_check import Findings, check_store
from study_server import StudyServer

from sfumato.server.browser_client import BrowserClient

NORMAL = 100
"""Answers a second: five hundred people, one every five seconds each."""
EVERY_SECONDS = 2.0
"""Between two answers of one of these people, who are faster."""


def memory_mb(pid: int) -> float:
    """Of a process, as it is now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


# --- a steady crowd ---


@dataclass(frozen=True)
class Steady:
    """What a steady crowd saw, and what it took."""

    acknowledged: int
    seconds: float
    p50: float
    p99: float
    p99_tenths: tuple[float, ...]
    """Of each tenth of the time."""
    refused: int
    errors: int
    lost: int
    grown_mb: float
    """Memory at the end (its middle over the last tenth) beyond that of the third tenth, when all who came at once have
    been followed by others."""
    wal_mb: float

    def __str__(self) -> str:
        tenths = ", ".join(f"{ms:.0f}" for ms in self.p99_tenths)
        return (
            f"{self.acknowledged:,} answers in {self.seconds:,.0f} s, half within {self.p50:.1f} ms, 99% within "
            f"{self.p99:.1f} ms (by tenths of the time {tenths}), {self.refused} refused, "
            f"{self.errors} errors, {self.lost} lost, memory {self.grown_mb:+.0f} MB, -wal at most {self.wal_mb:.0f} MB"
        )


def steady_trial(server: StudyServer, store: Path, a_second: float, seconds: float, batch_size: int) -> Steady:
    """So many answers a second to the running `server`, which is ended to look at what it stored."""
    people = People(server.url, keeps=False)
    memory: list[float] = []
    wal: list[float] = []

    async def look() -> None:
        while True:
            memory.append(memory_mb(server.pid))
            with contextlib.suppress(FileNotFoundError):
                wal.append(Path(f"{store}-wal").stat().st_size / 1e6)
            await asyncio.sleep(seconds / 200)

    async def run() -> Waits:
        await people.arrive(max(1, int(a_second * EVERY_SECONDS)))
        people.will_leave(batch_size)
        looking = asyncio.create_task(look())
        waits = await people.answer(a_second, seconds)
        looking.cancel()
        people.leave()
        return waits

    waits = uvloop.run(run())
    server.kill()
    stored = check_store(str(store), ()).stored
    tenth = max(1, len(memory) // 10)
    return Steady(
        people.n_acknowledged,
        max(waits.due) - min(waits.due),
        waits.ms(50),
        waits.ms(99),
        tuple(waits.ms(99, tenth / 10, (tenth + 1) / 10) for tenth in range(10)),
        people.replies.n_refused,
        people.replies.n_errors,
        people.n_acknowledged - stored,
        float(np.median(memory[-tenth:]) - np.median(memory[2 * tenth : 3 * tenth])),
        max(wal, default=0.0),
    )


# --- far too many ---


@dataclass(frozen=True)
class Flood:
    """What a crowd saw that was far too large, and those who came after it."""

    offered: float
    acknowledged: int
    refused: int
    errors: int
    p99: float
    """Of single requests, whatever the reply: nobody is left waiting."""
    recovered_seconds: float
    """After it, until everybody is acknowledged within a tenth of a second again."""
    found: Findings

    @property
    def safe(self) -> bool:
        return self.found.lost == self.found.doubled == 0 and self.found.integrity == "ok" and self.errors == 0

    def __str__(self) -> str:
        return (
            f"{self.offered:,.0f} people a second wanted to answer: {self.acknowledged:,} answers acknowledged, "
            f"{self.refused:,} times asked to come back, {self.errors} errors, 99% of replies within "
            f"{self.p99:.0f} ms, {self.found.lost} lost, {self.found.doubled} doubled; "
            f"well again after {self.recovered_seconds:.1f} s"
        )


def flood_trial(
    server: StudyServer, store: str, a_second: float, seconds: float, after_seconds: float, usual: float = NORMAL
) -> Flood:
    """A flood for so long, then a usual crowd; the running `server` is ended to look at what it stored."""
    flood, normal = People(server.url, seed=1), People(server.url, seed=2)

    async def run() -> tuple[Waits, float]:
        await normal.arrive(int(usual * EVERY_SECONDS))
        await flood.arrive(int(a_second * EVERY_SECONDS))
        flooding = asyncio.create_task(flood.answer(a_second, seconds))
        ends_at = time.perf_counter() + seconds
        await asyncio.sleep(seconds)
        after = await normal.answer(usual, after_seconds)
        # Whoever was asked to come back does so while the others answer.
        await flooding
        flood.leave()
        normal.leave()
        return after, ends_at

    after, ended_at = uvloop.run(run())
    server.kill()
    slow = [due - ended_at for due, waited in zip(after.due, after.seconds, strict=True) if waited > 0.1]
    return Flood(
        a_second,
        flood.n_acknowledged + normal.n_acknowledged,
        flood.replies.n_refused + normal.replies.n_refused,
        flood.replies.n_errors + normal.replies.n_errors,
        float(1000 * np.percentile(flood.replies.seconds, 99)),
        max(slow, default=0.0),
        check_store(store, [*flood.sent, *normal.sent]),
    )


# --- people beside something else ---


@dataclass(frozen=True)
class Beside:
    """How long people waited alone, and beside something else."""

    alone: float
    beside: float
    """The 99th percent, in milliseconds."""
    errors: int
    said: str

    @property
    def ratio(self) -> float:
        return self.beside / self.alone

    def __str__(self) -> str:
        return (
            f"99% of answers within {self.beside:.1f} ms, {self.ratio:.1f}x of {self.alone:.1f} ms alone, "
            f"{self.errors} errors; {self.said}"
        )


Disturbance = Callable[[], AbstractAsyncContextManager[Callable[[], str]]]
"""Something that goes on while people answer; what it gives says in the end what it was."""


def beside_trial(server: StudyServer, disturbance: Disturbance, seconds: float, a_second: float = NORMAL) -> Beside:
    """People answer alone, beside the disturbance, and alone again, each for so long."""
    people = People(server.url, keeps=False)

    async def run() -> tuple[Waits, Waits, str]:
        await people.arrive(int(a_second * EVERY_SECONDS))
        await people.answer(a_second, 2)
        before = await people.answer(a_second, seconds)
        async with disturbance() as told:
            beside = await people.answer(a_second, seconds)
        said = told()
        await people.answer(a_second, 2)
        after = await people.answer(a_second, seconds)
        people.leave()
        return before + after, beside, said

    alone, beside, said = uvloop.run(run())
    return Beside(alone.ms(99), beside.ms(99), people.replies.n_errors + people.replies.n_refused, said)


def write_noise_study(folder: Path, n_pictures: int = 80, side: int = 182) -> Path:
    """A study of pictures of 100 kB each, asked by tokens."""
    (folder / "images").mkdir(parents=True)
    rng = np.random.default_rng(1)
    for i in range(n_pictures):
        noise = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / "images" / f"p{i}.png")
    (folder / "study.toml").write_text(
        'title = "Pictures"\nname = "pictures"\nclasses = ["cat", "dog", "ship"]\n'
        f'[items]\nfolder = "images"\nsize = {side}\nupscale = "none"\n[question]\nkind = "tokens"\n'
        f"[people]\nanswers_per_item = 1000\nbatch_size = {n_pictures}\n"
    )
    return folder


def pictures_beside(server: StudyServer, n_clients: int) -> Disturbance:
    """So many clients that look at one picture after the other as fast as they come."""

    @contextlib.asynccontextmanager
    async def looking() -> AsyncIterator[Callable[[], str]]:
        sizes: list[int] = []
        ended = False

        async def look() -> None:
            async with BrowserClient(server.url) as visitor:
                await visitor.join()
                path = (await visitor.step("instructions"))["trials"][0]["pictures"][0]
                while not ended:
                    sizes.append(len(await visitor.picture(path)))

        begun = time.perf_counter()
        clients = [asyncio.create_task(look()) for _ in range(n_clients)]
        try:
            yield (
                lambda: (
                    f"{len(sizes):,} pictures of {np.mean(sizes) / 1e3:.0f} kB to {n_clients} clients, "
                    f"{len(sizes) / (time.perf_counter() - begun):,.0f}/s"
                )
            )
        finally:
            ended = True
            await asyncio.gather(*clients)

    return looking


def export_beside(study: Path, store: str, folder: Path) -> Disturbance:
    """One export after the other, each a process of its own."""
    return command_beside(
        "exports", ["-m", "sfumato", "export", str(study), "--store", store, "-o", str(folder / "answers.parquet")]
    )


def command_beside(name: str, arguments: list[str]) -> Disturbance:
    """A Python command, again and again."""

    @contextlib.asynccontextmanager
    async def again_and_again() -> AsyncIterator[Callable[[], str]]:
        n, ended = 0, False

        async def run() -> None:
            nonlocal n
            while not ended:
                # Not by the event loop, which would have to be told of every child that ends.
                done = await asyncio.to_thread(
                    subprocess.run, [sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True
                )
                n += done.returncode == 0

        running = asyncio.create_task(run())
        try:
            yield lambda: f"{n} {name} meanwhile"
        finally:
            ended = True
            await running

    return again_and_again


# --- slow clients ---


@dataclass
class Slowness:
    """What became of slow clients."""

    opened: int = 0
    closed: int = 0
    longest_seconds: float = 0.0
    refused_heads: int = 0
    """Heads of ten megabytes that were refused."""

    def __str__(self) -> str:
        return (
            f"{self.closed} of {self.opened} slow connections hung up on, the last after {self.longest_seconds:.0f} s; "
            f"{self.refused_heads} endless heads refused"
        )


def slow_beside(server: StudyServer, report: Slowness, n_clients: int, n_heads: int = 10) -> Disturbance:
    """Clients that send a byte a second, half of them of a head and half of a body; and heads that do not end."""
    head = f"POST /s/nobody/api/answers HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    starts = (head.encode(), f"{head}Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n".encode())

    async def slow(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        report.opened += 1
        begun = time.monotonic()
        writer.write(starts[number % 2])
        with contextlib.suppress(OSError):
            while not reader.at_eof():
                writer.write(b"x")
                await writer.drain()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1000), 1)
        report.longest_seconds = max(report.longest_seconds, time.monotonic() - begun)
        report.closed += 1
        writer.close()

    async def endless_head() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        with contextlib.suppress(OSError):
            writer.write(head.encode() + b"X-Long: ")
            for _ in range(1000):
                writer.write(b"x" * 10_000)
                await writer.drain()
        try:
            said = await reader.read(1000)
        except OSError:
            said = b""  # Hung up on while it was still sending.
        report.refused_heads += not said or b" 431 " in said
        writer.close()

    @contextlib.asynccontextmanager
    async def slowly() -> AsyncIterator[Callable[[], str]]:
        clients = [asyncio.create_task(slow(number)) for number in range(n_clients)]
        clients += [asyncio.create_task(endless_head()) for _ in range(n_heads)]
        try:
            yield lambda: str(report)
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)

    return slowly
