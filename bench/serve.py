"""How much a study server takes: durable answers a second, waiting times, start, memory, size.

    python bench/serve.py [submits] [crowd] [syncs] [memory] [install] [--write docs/elicit.md]         (all if none)

submits   1, 8 and 32 clients, each answering as fast as it is acknowledged, on SQLite and PostgreSQL, ours and Label
          Studio in turn. Beside it, in the same run: 200 clients; how many rows this disk commits one by one (what one
          commit an answer would give); Potato at 32 clients.
crowd     500 people, one answer every two seconds each, at set times whether or not the last reply has come.
syncs     syncs of the disk an answer, at 1 and 32 clients. Needs strace.
memory    start to first page, and the server's memory after 100,000 answers.
install   what a serving machine installs (no Arrow, no NumPy, no torch), in a fresh environment in which it serves.

Everything goes to the loopback. Run it alone: the clients need a core of their own. Needs the extra `peers`; Label
Studio is installed in an environment of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import uvloop

from label_studio_peer import drive as drive_label_studio
from label_studio_peer import label_studio
from pages import markdown, write
from peer import Measured, Running
from potato_peer import drive as drive_potato
from potato_peer import potato

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from load_trials import memory_mb  # noqa: E402
from open_loop import People, Waits  # noqa: E402
from postgres_cluster import cluster  # noqa: E402
from study_server import StudyServer, write_texts_study  # noqa: E402

from sfumato.server.browser_client import BrowserClient  # noqa: E402

N_CLIENTS, SECONDS = 32, 12
N_PEOPLE, EVERY_SECONDS, CROWD_SECONDS = 500, 2.0, 30
N_REMEMBERED = 100_000
SQLITE, POSTGRESQL = STORES = ("SQLite", "PostgreSQL")
N_TASKS = 3_000
"""Of Label Studio: more than it takes in the time."""
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


@contextlib.contextmanager
def served(store: str | None = None) -> Iterator[StudyServer]:
    """A server with room for more answers than we send."""
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as folder:
        study = write_texts_study(Path(folder), N_ITEMS, answers_per_item=1000, batch_size=10_000)
        with StudyServer(study, store=store, python=sys.executable) as server:
            yield server


async def arrived(url: str) -> tuple[BrowserClient, dict[str, object]]:
    """Somebody at their first trial."""
    visitor = BrowserClient(url)
    await visitor.join()
    return visitor, await visitor.step("instructions")


async def closed_loop(url: str, n_clients: int, n_answers: int | None = None, seconds: float = np.inf) -> Measured:
    """Each client sends its next answer as soon as the last is acknowledged."""
    people = [await arrived(url) for _ in range(n_clients)]
    latencies: list[float] = []
    begun = time.perf_counter()

    async def answer(visitor: BrowserClient, state: dict) -> None:
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
    return Measured(taken, latencies, 0.0)


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


def submits() -> list[list[str]]:
    """Ours and Label Studio's at each number of clients, on each database; then what only ours is held to."""
    ours: dict[tuple[str, int], Measured] = {}
    theirs: dict[tuple[str, int], Measured] = {}
    rows = []
    with cluster() as postgres:
        for store in STORES:
            for n_clients in (1, 8, N_CLIENTS):
                key = store, n_clients
                ours[key] = _ours(postgres.new_database() if store == POSTGRESQL else None, n_clients)
                theirs[key] = _label_studio(postgres.new_database() if store == POSTGRESQL else None, n_clients)
                rows += [
                    [f"{store}, {_people(n_clients)}", _said(ours[key]), ""],
                    ["... Label Studio", _said(theirs[key]), ""],
                    ["... ratio", f"{ours[key].a_second / theirs[key].a_second:,.0f}x", ""],
                ]
        crowd = _ours(None, 200)
    all_at_once = ours[SQLITE, N_CLIENTS]
    best = max(theirs[store, N_CLIENTS].a_second for store in STORES)
    floor = commits_a_second()
    with potato(n_items=2000, n_users=N_CLIENTS) as peer:
        other = asyncio.run(drive_potato(peer.running, N_CLIENTS, 15))
    return [
        *rows,
        ["32 clients on SQLite to Label Studio's best", f"{all_at_once.a_second / best:,.0f}x", ">= 60x (goal 115x)"],
        ["... answers a second", f"{all_at_once.a_second:,.0f}", ">= 1,500 (goal 3,000)"],
        ["... p99", f"{all_at_once.ms(99):.1f} ms", "<= 50 ms (goal 20)"],
        ["... CPU of the server an answer", f"{all_at_once.cpu_ms:.2f} ms", "<= 2 ms (goal 0.5)"],
        ["... to one commit an answer on this disk", f"{all_at_once.a_second / floor:.1f}x of {floor:,.0f}/s", ""],
        ["... to Potato 2.12", f"{all_at_once.a_second / other.a_second:,.0f}x of {_said(other)}", ""],
        ["200 clients, p99", f"{crowd.ms(99):.1f} ms", "<= 150 ms (goal 75)"],
        [
            "32 clients on PostgreSQL, answers a second",
            f"{ours[POSTGRESQL, N_CLIENTS].a_second:,.0f}",
            ">= 800 (goal 2,500)",
        ],
    ]


def _ours(store: str | None, n_clients: int) -> Measured:
    with served(store) as server:
        peer = Running(server.url, server.pid)
        before = peer.cpu_seconds()
        load = uvloop.run(closed_loop(server.url, n_clients, seconds=SECONDS))
        return Measured(load.seconds, load.latencies, peer.cpu_seconds() - before)


def _label_studio(database: str | None, n_clients: int) -> Measured:
    with label_studio(N_TASKS, database) as peer:
        return asyncio.run(drive_label_studio(peer, n_clients, SECONDS))


def _people(n_clients: int) -> str:
    return f"{n_clients} client{'s' if n_clients > 1 else ''}"


def _said(measured: Measured) -> str:
    return (
        f"{measured.a_second:,.{0 if measured.a_second > 100 else 1}f}/s, p99 {measured.ms(99):,.1f} ms, "
        f"{measured.cpu_ms:.2f} ms of CPU an answer"
    )


def syncs() -> list[list[str]]:
    """Syncs an answer, counted by strace, which slows the server: only their number counts."""
    rows = []
    for n_clients, asked in ((1, "<= 1"), (N_CLIENTS, "<= 0.2 (goal 0.1)")):
        with served() as server, tempfile.NamedTemporaryFile("r") as counted:
            command = ["strace", "-f", "-c", "-e", "trace=fdatasync,fsync", "-o", counted.name, "-p", str(server.pid)]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
                assert strace.stderr is not None
                strace.stderr.readline()  # It says that it has attached.
                load = uvloop.run(closed_loop(server.url, n_clients, seconds=SECONDS))
                strace.send_signal(signal.SIGINT)
            calls = [line.split() for line in counted.read().splitlines()]
        n = sum(int(line[3]) for line in calls if line and line[-1] in ("fdatasync", "fsync"))
        rows.append([f"syncs an answer, {_people(n_clients)}", f"{n / len(load.latencies):.2f}", asked])
    return rows


def crowd() -> list[list[str]]:
    async def answer(people: People) -> Waits:
        await people.arrive(N_PEOPLE)
        return await people.answer(asked, CROWD_SECONDS)

    asked = N_PEOPLE / EVERY_SECONDS
    with served() as server:
        load = uvloop.run(answer(People(server.url)))
    return [
        [
            f"500 people, an answer every 2 s ({asked:.0f}/s), p50 / p99",
            f"{load.ms(50):.1f} / {load.ms(99):.1f} ms",
            "p99 < 50 ms",
        ]
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
    visitor = BrowserClient(url)
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


PARTS = {"submits": submits, "crowd": crowd, "syncs": syncs, "memory": memory, "install": install}


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
