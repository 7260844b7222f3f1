"""Trial with strace: before each reply 201 there must be a sync that started after the answer was read."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crowd import Crowd
from study_server import StudyServer

CALLS = "read,recvfrom,recvmsg,readv,write,writev,sendto,sendmsg,fdatasync,fsync"
LINE = re.compile(r"^(?P<thread>\d+) +(?P<rest>.*)$")
BEGUN = re.compile(r"^(?P<call>\w+)\((?P<number>\d+)(?:<(?P<file>.*?)>)?(?:[,) ]|$)")
RESUMED = re.compile(r"^<\.\.\. (?P<call>\w+) resumed>")
READS = ("read", "recvfrom", "recvmsg", "readv")
WRITES = ("write", "writev", "sendto", "sendmsg")
SYNCS = ("fdatasync", "fsync")
N_CLIENTS = 4
ATTACH_SECONDS = 20.0


def skip_reason() -> str | None:
    """Why this cannot run here, or None."""
    return None if shutil.which("strace") else "strace is not installed"


@dataclass(frozen=True)
class OrderReport:
    """The number of acknowledged answers in the trace, and how many of them came before a sync."""

    acknowledged: int
    unsynced: int
    n_syncs: int

    @property
    def clean(self) -> bool:
        return self.unsynced == 0 < self.acknowledged

    def __str__(self) -> str:
        return (
            f"{self.acknowledged:,} replies 201, {self.unsynced} without a sync before it, "
            f"{self.n_syncs:,} syncs of the -wal"
        )


def sync_order_trial(server: StudyServer, n_answers: int, *, seed: int) -> OrderReport:
    """Trace the running `server` while it stores at least `n_answers`."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        with _traced(server.pid, trace):
            asyncio.run(_send_answers(Crowd(server.url, N_CLIENTS, seed), n_answers))
        with trace.open(errors="replace") as lines:
            return evaluate_trace(lines)


async def _send_answers(crowd: Crowd, n_answers: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd.run())
        try:
            while crowd.n_acknowledged < n_answers:
                await crowd.wait_for_answers(60)
        finally:
            crowd.stop()


@contextlib.contextmanager
def _traced(pid: int, trace: Path) -> Iterator[None]:
    output = trace.with_name("output")
    command = ["strace", "-f", "-y", "-s", "120", "-e", f"trace={CALLS}", "-o", str(trace), "-p", str(pid)]
    with output.open("wb") as stream, subprocess.Popen(command, stderr=stream) as strace:
        ends_at = time.monotonic() + ATTACH_SECONDS
        while b"attached" not in output.read_bytes():
            assert strace.poll() is None, output.read_text()
            assert time.monotonic() < ends_at, output.read_text()
            time.sleep(0.01)
        try:
            yield
        finally:
            strace.send_signal(signal.SIGINT)


def evaluate_trace(lines: Iterable[str]) -> OrderReport:
    """Evaluate a trace. Each line is a whole call, its start or its end."""
    asked_at: dict[str, int] = {}
    syncs: list[tuple[int, int]] = []
    unfinished: dict[str, tuple[str, str, str, int]] = {}
    acknowledged = unsynced = 0
    for at, line in enumerate(lines):
        found = LINE.match(line)
        if found is None:
            continue
        thread, rest = found["thread"], found["rest"]
        begun_at = at
        if begun := BEGUN.match(rest):
            call, number, file = begun["call"], begun["number"], begun["file"] or ""
        elif RESUMED.match(rest) and thread in unfinished:
            call, number, file, begun_at = unfinished.pop(thread)
        else:
            continue
        is_over = "<unfinished ...>" not in rest
        if not is_over:
            unfinished[thread] = (call, number, file, at)
        if call in READS and is_over and '"POST ' in rest and "/api/answers" in rest:
            asked_at[number] = at
        elif call in SYNCS and is_over and file.endswith("-wal") and rest.rstrip().endswith("= 0"):
            syncs.append((begun_at, at))
        elif call in WRITES and '"HTTP/1.1 201' in rest and number in asked_at:
            acknowledged += 1
            # Few syncs run at the same time, and old ones do not count.
            since = asked_at.pop(number)
            unsynced += not any(begun > since for begun, _ in syncs[-64:])
    return OrderReport(acknowledged, unsynced, len(syncs))
