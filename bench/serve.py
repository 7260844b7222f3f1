"""How much a study server takes: durable answers a second, waiting times, start, memory, size.

    python bench/serve.py [submits] [crowd] [postgres] [memory] [install] [--write docs/elicit.md]      (all if none)

submits   32 clients, each answering as fast as it is acknowledged, on SQLite. Beside it, in the same run: how many
          rows this disk commits one by one (what one commit an answer would give), and Potato at 32 clients.
crowd     500 people, one answer every two seconds each, at set times whether or not the last reply has come.
postgres  the 32 clients on PostgreSQL, in a cluster of its own.
memory    start to first page, and the server's memory after 100,000 answers.
install   what a serving machine installs (no Arrow, no NumPy, no torch), in a fresh environment in which it serves.

Everything goes to the loopback. Run it alone: the clients need a core of their own. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import uvloop

from pages import markdown, write

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from postgres_cluster import cluster  # noqa: E402
from study_server import StudyServer, write_texts_study  # noqa: E402

from sfumato.web.client import Visitor  # noqa: E402

N_CLIENTS, SECONDS = 32, 12
N_PEOPLE, EVERY_SECONDS, CROWD_SECONDS = 500, 2.0, 30
N_REMEMBERED = 100_000
N_ITEMS = 20_000
RECORD = {
    "elapsed_ms": 2500,
    "events": [[300.0 * i, "keydown", "class:cat", "1"] for i in range(6)],
    "pointer": "mouse",
    "viewport": [1280, 800, 1],
    "keys": {"cat": "1", "dog": "2", "ship": "3"},
    "order": ["cat", "dog", "ship"],
}
ANSWER = {"tokens": {"cat": 7, "dog": 3}, "others": False}


@dataclass
class Load:
    """Answers acknowledged, in how many seconds, each after which time."""

    seconds: float
    latencies: np.ndarray

    @property
    def a_second(self) -> float:
        return len(self.latencies) / self.seconds

    def ms(self, percent: float) -> float:
        return float(1000 * np.percentile(self.latencies, percent))


@contextlib.contextmanager
def served(store: str | None = None) -> Iterator[StudyServer]:
    """A server with room for more answers than we send."""
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as folder:
        study = write_texts_study(Path(folder), N_ITEMS, answers_per_item=1000, batch_size=10_000)
        with StudyServer(study, store=store) as server:
            yield server


async def arrived(url: str) -> tuple[Visitor, dict[str, object]]:
    """Somebody at their first trial."""
    visitor = Visitor(url)
    await visitor.join()
    return visitor, await visitor.instructions()


async def closed_loop(url: str, n_clients: int, n_answers: int | None = None, seconds: float = np.inf) -> Load:
    """Each client sends its next answer as soon as the last is acknowledged."""
    people = [await arrived(url) for _ in range(n_clients)]
    latencies: list[float] = []
    begun = time.perf_counter()

    async def answer(visitor: Visitor, state: dict) -> None:
        while time.perf_counter() - begun < seconds and (n_answers is None or len(latencies) < n_answers):
            pressed = time.perf_counter()
            reply = await visitor.submit(state["trials"][0]["trial"], ANSWER, RECORD)
            assert reply.status == 201, reply.body
            latencies.append(time.perf_counter() - pressed)
            state = reply.body["state"]

    await asyncio.gather(*(answer(*person) for person in people))
    taken = time.perf_counter() - begun
    for visitor, _ in people:
        visitor.close()
    return Load(taken, np.array(latencies))


async def open_loop(url: str) -> Load:
    """Everybody answers at set times; a late reply makes the next one wait, and that wait counts."""
    people = [await arrived(url) for _ in range(N_PEOPLE)]
    latencies: list[float] = []
    begun = time.perf_counter() + 1

    async def answer(number: int, visitor: Visitor, state: dict) -> None:
        due = begun + EVERY_SECONDS * number / N_PEOPLE
        while due < begun + CROWD_SECONDS:
            await asyncio.sleep(max(0, due - time.perf_counter()))
            reply = await visitor.submit(state["trials"][0]["trial"], ANSWER, RECORD)
            assert reply.status == 201, reply.body
            latencies.append(time.perf_counter() - due)
            state = reply.body["state"]
            due += EVERY_SECONDS

    await asyncio.gather(*(answer(number, *person) for number, person in enumerate(people)))
    return Load(time.perf_counter() - begun, np.array(latencies))


def commits_a_second(seconds: float = 3.0) -> float:
    """Rows that this disk commits one by one, as durably as we do."""
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as folder:
        connection = sqlite3.connect(Path(folder) / "floor.sqlite", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE answers (id INTEGER PRIMARY KEY, body TEXT)")
        begun, n = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            connection.execute("INSERT INTO answers (body) VALUES (?)", ("x" * 800,))
            n += 1
        connection.close()
        return n / (time.perf_counter() - begun)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def submits() -> list[list[str]]:
    floor = commits_a_second()
    with served() as server:
        before = cpu_seconds(server.pid)
        load = uvloop.run(closed_loop(server.url, N_CLIENTS, seconds=SECONDS))
        cpu = (cpu_seconds(server.pid) - before) / len(load.latencies)
    rows = [
        ["durable answers a second, 32 clients", f"{load.a_second:,.0f}", ">= 1,500 (goal 3,000)"],
        ["... p50 / p99", f"{load.ms(50):.1f} / {load.ms(99):.1f} ms", "p99 <= 50 ms"],
        ["... to one commit an answer on this disk", f"{load.a_second / floor:.1f}x of {floor:,.0f}/s", ""],
        ["... CPU of the server an answer", f"{1000 * cpu:.2f} ms", "<= 2 ms (goal 0.5)"],
    ]
    from potato_peer import drive, potato

    with potato(n_items=2000, n_users=N_CLIENTS) as peer:
        theirs = asyncio.run(drive(peer.url, N_CLIENTS, 15))
    peer_a_second = theirs.answers / theirs.seconds
    peer_p99 = 1000 * float(np.percentile(theirs.latencies, 99))
    return [
        *rows,
        ["... to Potato 2.12 at 32 clients", f"{load.a_second / peer_a_second:,.0f}x of {peer_a_second:,.1f}/s", ""],
        ["... Potato's p99", f"{peer_p99:,.0f} ms ({peer_p99 / load.ms(99):,.0f}x ours)", ""],
    ]


def crowd() -> list[list[str]]:
    with served() as server:
        load = uvloop.run(open_loop(server.url))
    asked = N_PEOPLE / EVERY_SECONDS
    return [
        [
            f"500 people, an answer every 2 s ({asked:.0f}/s), p50 / p99",
            f"{load.ms(50):.1f} / {load.ms(99):.1f} ms",
            "p99 < 50 ms",
        ]
    ]


def postgres() -> list[list[str]]:
    with cluster() as running, served(running.new_database()) as server:
        load = uvloop.run(closed_loop(server.url, N_CLIENTS, seconds=SECONDS))
    return [
        ["durable answers a second, 32 clients, PostgreSQL", f"{load.a_second:,.0f}", ">= 800"],
        ["... p50 / p99", f"{load.ms(50):.1f} / {load.ms(99):.1f} ms", ""],
    ]


def memory() -> list[list[str]]:
    with served() as server:
        server.kill()
        starts = []
        for _ in range(3):
            starts.append(server.start())
            starts[-1] += uvloop.run(first_page(server.url))
            server.kill()
        server.start()
        uvloop.run(closed_loop(server.url, N_CLIENTS, n_answers=N_REMEMBERED))
        used = memory_mb(server.pid)
    return [
        ["start of a known study to its first page (median of 3)", f"{np.median(starts):.2f} s", "<= 2 s"],
        ["memory after 100,000 answers", f"{used:.0f} MB", "<= 150 MB"],
    ]


async def first_page(url: str) -> float:
    begun = time.perf_counter()
    visitor = Visitor(url)
    await visitor.join()
    await visitor.config()
    visitor.close()
    return time.perf_counter() - begun


def install() -> list[list[str]]:
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as folder:
        place = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        pip = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet"]
        subprocess.run([*pip, "-c", ROOT / "constraints.txt", "-r", ROOT / "requirements-serve.txt"], check=True)
        subprocess.run([*pip, "--no-deps", ROOT], check=True)
        used = sum(file.lstat().st_size for file in (place / "lib").rglob("*") if not file.is_dir()) / 1e6
        study = write_texts_study(Path(folder) / "study", 10)
        # It must be able to serve: a page and an answer from that environment.
        with StudyServer(study, program=("-m", "sfumato"), python=place / "bin" / "python") as server:
            load = uvloop.run(closed_loop(server.url, 1, n_answers=1))
    assert len(load.latencies) == 1
    return [["installed on a machine that only serves", f"{used:.0f} MB", "<= 200 MB"]]


PARTS = {"submits": submits, "crowd": crowd, "postgres": postgres, "memory": memory, "install": install}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.parts or PARTS:
        found = PARTS[name]()
        rows += found
        for row in found:
            print(f"{row[0]:58} {row[1]:28} {row[2]}", flush=True)
    if options.write:
        write(options.write, "serve", markdown(["what", "measured", "held to"], rows))


if __name__ == "__main__":
    main()
