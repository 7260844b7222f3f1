"""Load trials: steady load, overload, and answers during picture requests, exports and slow clients."""

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
"""Answers per second: 500 people with one answer every five seconds each."""
EVERY_SECONDS = 2.0
"""Seconds between two answers of a simulated person."""


def memory_mb(pid: int) -> float:
    """The current memory of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


# --- steady load ---


@dataclass(frozen=True)
class Steady:
    """Latencies, errors and memory under steady load."""

    acknowledged: int
    seconds: float
    p50: float
    p99: float
    p99_tenths: tuple[float, ...]
    """The p99 in each tenth of the time."""
    refused: int
    errors: int
    lost: int
    grown_mb: float
    """Memory at the end (median of the last tenth) minus memory in the third tenth, when the first people have left and
    others have joined."""
    wal_mb: float

    def __str__(self) -> str:
        tenths = ", ".join(f"{ms:.0f}" for ms in self.p99_tenths)
        return (
            f"{self.acknowledged:,} answers in {self.seconds:,.0f} s, p50 {self.p50:.1f} ms, p99 "
            f"{self.p99:.1f} ms (per tenth of the time {tenths}), {self.refused} refused, "
            f"{self.errors} errors, {self.lost} lost, memory {self.grown_mb:+.0f} MB, -wal at most {self.wal_mb:.0f} MB"
        )


def steady_trial(server: StudyServer, store: Path, per_second: float, seconds: float, batch_size: int) -> Steady:
    """Send answers at a constant rate to the running `server`, then stop it and check its store."""
    people = People(server.url, keeps=False)
    memory: list[float] = []
    wal: list[float] = []

    async def watch() -> None:
        while True:
            memory.append(memory_mb(server.pid))
            with contextlib.suppress(FileNotFoundError):
                wal.append(Path(f"{store}-wal").stat().st_size / 1e6)
            await asyncio.sleep(seconds / 200)

    async def run() -> Waits:
        await people.join(max(1, int(per_second * EVERY_SECONDS)))
        people.will_leave(batch_size)
        watching = asyncio.create_task(watch())
        waits = await people.answer(per_second, seconds)
        watching.cancel()
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


# --- overload ---


@dataclass(frozen=True)
class Overload:
    """Replies and latencies under overload, and the recovery after it."""

    offered: float
    acknowledged: int
    refused: int
    errors: int
    p99: float
    """The p99 of all replies to single requests."""
    recovered_seconds: float
    """Seconds until all answers are acknowledged within 0.1 s again."""
    found: Findings

    @property
    def safe(self) -> bool:
        return self.found.lost == self.found.duplicated == 0 and self.found.integrity == "ok" and self.errors == 0

    def __str__(self) -> str:
        return (
            f"{self.offered:,.0f} answers per second offered: {self.acknowledged:,} acknowledged, "
            f"{self.refused:,} replies with Retry-After, {self.errors} errors, p99 of replies "
            f"{self.p99:.0f} ms, {self.found.lost} lost, {self.found.duplicated} duplicated; "
            f"recovered after {self.recovered_seconds:.1f} s"
        )


def overload_trial(
    server: StudyServer, store: str, per_second: float, seconds: float, after_seconds: float, usual: float = NORMAL
) -> Overload:
    """Overload for `seconds`, then usual load; then stop the `server` and check its store."""
    overload, normal = People(server.url, seed=1), People(server.url, seed=2)

    async def run() -> tuple[Waits, float]:
        await normal.join(int(usual * EVERY_SECONDS))
        await overload.join(int(per_second * EVERY_SECONDS))
        overloading = asyncio.create_task(overload.answer(per_second, seconds))
        ends_at = time.perf_counter() + seconds
        await asyncio.sleep(seconds)
        after = await normal.answer(usual, after_seconds)
        # Refused answers are sent again while the others answer.
        await overloading
        overload.leave()
        normal.leave()
        return after, ends_at

    after, ended_at = uvloop.run(run())
    server.kill()
    slow = [due - ended_at for due, waited in zip(after.due, after.seconds, strict=True) if waited > 0.1]
    return Overload(
        per_second,
        overload.n_acknowledged + normal.n_acknowledged,
        overload.replies.n_refused + normal.replies.n_refused,
        overload.replies.n_errors + normal.replies.n_errors,
        float(1000 * np.percentile(overload.replies.seconds, 99)),
        max(slow, default=0.0),
        check_store(store, [*overload.sent, *normal.sent]),
    )


# --- answers during a disturbance ---


@dataclass(frozen=True)
class Disturbed:
    """The p99 latency without and with a disturbance, in milliseconds."""

    undisturbed: float
    disturbed: float
    """With the disturbance."""
    errors: int
    disturbance: str

    @property
    def ratio(self) -> float:
        return self.disturbed / self.undisturbed

    def __str__(self) -> str:
        return (
            f"p99 of answers {self.disturbed:.1f} ms, {self.ratio:.1f}x of {self.undisturbed:.1f} ms undisturbed, "
            f"{self.errors} errors; {self.disturbance}"
        )


Disturbance = Callable[[], AbstractAsyncContextManager[Callable[[], str]]]
"""Something that runs while people answer; its context gives a function that describes it."""


def disturbance_trial(
    server: StudyServer, disturbance: Disturbance, seconds: float, per_second: float = NORMAL
) -> Disturbed:
    """Measure answers without the disturbance, with it, and without it again, for `seconds` each."""
    people = People(server.url, keeps=False)

    async def run() -> tuple[Waits, Waits, str]:
        await people.join(int(per_second * EVERY_SECONDS))
        await people.answer(per_second, 2)
        before = await people.answer(per_second, seconds)
        async with disturbance() as describe:
            disturbed = await people.answer(per_second, seconds)
        description = describe()
        await people.answer(per_second, 2)
        after = await people.answer(per_second, seconds)
        people.leave()
        return before + after, disturbed, description

    undisturbed, disturbed, description = uvloop.run(run())
    return Disturbed(
        undisturbed.ms(99), disturbed.ms(99), people.replies.n_errors + people.replies.n_refused, description
    )


def write_noise_study(folder: Path, n_pictures: int = 80, side: int = 182) -> Path:
    """Write a study of pictures of 100 kB each, with the token form."""
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


def picture_requests(server: StudyServer, n_clients: int) -> Disturbance:
    """Clients that load one picture after the other without a pause."""

    @contextlib.asynccontextmanager
    async def watching() -> AsyncIterator[Callable[[], str]]:
        sizes: list[int] = []
        ended = False

        async def watch() -> None:
            async with BrowserClient(server.url) as visitor:
                await visitor.join()
                path = (await visitor.step("instructions"))["trials"][0]["pictures"][0]
                while not ended:
                    sizes.append(len(await visitor.picture(path)))

        begun = time.perf_counter()
        clients = [asyncio.create_task(watch()) for _ in range(n_clients)]
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

    return watching


def repeated_export(study: Path, store: str, folder: Path) -> Disturbance:
    """Repeated exports, each in a separate process."""
    return repeated_command(
        "exports", ["-m", "sfumato", "export", str(study), "--store", store, "-o", str(folder / "answers.parquet")]
    )


def repeated_command(name: str, arguments: list[str]) -> Disturbance:
    """A Python command that is repeated."""

    @contextlib.asynccontextmanager
    async def repeated() -> AsyncIterator[Callable[[], str]]:
        n, ended = 0, False

        async def run() -> None:
            nonlocal n
            while not ended:
                # In a thread, because the event loop does not watch child processes.
                done = await asyncio.to_thread(
                    subprocess.run, [sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True
                )
                n += done.returncode == 0

        running = asyncio.create_task(run())
        try:
            yield lambda: f"{n} {name} in this time"
        finally:
            ended = True
            await running

    return repeated


# --- slow clients ---


@dataclass
class SlowClients:
    """The result for slow clients."""

    opened: int = 0
    closed: int = 0
    longest_seconds: float = 0.0
    refused_headers: int = 0
    """Headers of 10 MB that were refused."""

    def __str__(self) -> str:
        return (
            f"{self.closed} of {self.opened} slow clients disconnected, the last after {self.longest_seconds:.0f} s; "
            f"{self.refused_headers} endless headers refused"
        )


def slow_clients(server: StudyServer, report: SlowClients, n_clients: int, n_endless: int = 10) -> Disturbance:
    """Clients that send one byte per second of a header or a body, and clients that send endless headers."""
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

    async def endless_header() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        with contextlib.suppress(OSError):
            writer.write(head.encode() + b"X-Long: ")
            for _ in range(1000):
                writer.write(b"x" * 10_000)
                await writer.drain()
        try:
            reply = await reader.read(1000)
        except OSError:
            reply = b""  # Disconnected while sending.
        report.refused_headers += not reply or b" 431 " in reply
        writer.close()

    @contextlib.asynccontextmanager
    async def slowly() -> AsyncIterator[Callable[[], str]]:
        clients = [asyncio.create_task(slow(number)) for number in range(n_clients)]
        clients += [asyncio.create_task(endless_header()) for _ in range(n_endless)]
        try:
            yield lambda: str(report)
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)

    return slowly
