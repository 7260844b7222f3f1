"""Running and measuring other annotation servers: a program on a free local port, with requests over HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

REPLY_SECONDS = 60.0


@dataclass(frozen=True)
class Running:
    """A running server: its address and its process."""

    url: str
    pid: int

    def cpu_seconds(self) -> float:
        """CPU time of the process so far, including children that have ended."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """The latencies that clients measured, and the server's CPU time."""

    seconds: float
    latencies: list[float]
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU time of the server per answer."""
        return 1000 * self.cpu_seconds / len(self.latencies)

    def ms(self, percent: float) -> float:
        return float(1000 * np.percentile(self.latencies, percent))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def running(command: Sequence[str | Path], port: int, folder: Path, seconds: float, **more: str) -> Iterator[Running]:
    """Start the program and wait until it listens on `port`; kill it at the end. `more` extends its environment."""
    name, log = Path(command[0]).name, folder / "log"
    with (
        log.open("w") as out,
        subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, env=os.environ | more) as server,
    ):
        try:
            until = time.monotonic() + seconds
            while not _listens(port):
                if server.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"{name} did not start; its log: {log.read_text()[-2000:]}")
                time.sleep(0.1)
            yield Running(f"http://127.0.0.1:{port}", server.pid)
        finally:
            server.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def ask(url: str, request: str, body: str = "", *headers: str) -> tuple[int, str, str]:
    """Status, head and content of the reply, over a new connection."""
    host, port = url.removeprefix("http://").split(":")
    lines = [f"{request} HTTP/1.1", f"Host: {host}:{port}", "Connection: close", *headers]
    # Not our own `Connection`: these servers close after each reply, and do not always send its length.
    async with asyncio.timeout(REPLY_SECONDS):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write("\r\n".join([*lines, f"Content-Length: {len(body)}", "", body]).encode("ascii"))
        head, _, content = (await reader.read()).decode().partition("\r\n\r\n")
        writer.close()
    return int(head[9:12]), head, content
