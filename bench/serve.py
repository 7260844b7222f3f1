"""Performance of the study server: durable answers per second, latency, start time, memory and installed size.

    python bench/serve.py [submits] [crowd] [syncs] [memory] [install] [--write docs/elicit.md]     (default: all)

submits   1, 8 and 32 clients, each sending its next answer when the last is acknowledged, on SQLite and PostgreSQL,
          alternating with Label Studio. In the same run: 200 clients; single-row commits per second on this disk (the
          limit for one commit per answer); Potato at 32 clients.
crowd     500 people with one answer every two seconds each, sent on schedule even if the last reply is late.
syncs     disk syncs per answer, at 1 and 32 clients. Needs strace.
memory    time from start to the first page, and the server's memory after 100,000 answers.
install   installed size for a machine that only serves (no Arrow, NumPy or torch), in a new environment that serves.

All requests are local. Run nothing else at the same time: the clients need one core. Needs the extra `peers`; Label
Studio is installed in a separate environment.
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
N_STORED = 100_000
SQLITE, POSTGRESQL = STORES = ("SQLite", "PostgreSQL")
N_TASKS = 3_000
"""Tasks for Label Studio: more than it can store in the time."""
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
    """A server for a study that needs more answers than we send."""
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as folder:
        study = write_texts_study(Path(folder), N_ITEMS, answers_per_item=1000, batch_size=10_000)
        with StudyServer(study, store=store, python=sys.executable) as server:
            yield server


async def new_participant(url: str) -> tuple[BrowserClient, dict[str, object]]:
    """A new participant at the first trial."""
    visitor = BrowserClient(url)
    await visitor.join()
    return visitor, await visitor.step("instructions")


async def closed_loop(url: str, n_clients: int, n_answers: int | None = None, seconds: float = np.inf) -> Measured:
    """Each client sends its next answer as soon as the last is acknowledged."""
    people = [await new_participant(url) for _ in range(n_clients)]
    latencies: list[float] = []
    begun = time.perf_counter()

    async def answer(visitor: BrowserClient, state: dict) -> None:
        while time.perf_counter() - begun < seconds and (n_answers is None or len(latencies) < n_answers):
            if not state.get("trials"):  # the batch is finished
                visitor.close()
                visitor, state = await new_participant(url)
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


def commits_per_second(seconds: float = 3.0) -> float:
    """Single-row commits per second on this disk, with the durability settings of our store."""
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
    """Our server and Label Studio for each number of clients and each database; then our requirements."""
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
                    [f"{store}, {_clients(n_clients)}", _summary(ours[key]), ""],
                    ["... Label Studio", _summary(theirs[key]), ""],
                    ["... ratio", f"{ours[key].per_second / theirs[key].per_second:,.0f}x", ""],
                ]
        crowd = _ours(None, 200)
    on_sqlite = ours[SQLITE, N_CLIENTS]
    best = max(theirs[store, N_CLIENTS].per_second for store in STORES)
    floor = commits_per_second()
    with potato(n_items=2000, n_users=N_CLIENTS) as peer:
        other = asyncio.run(drive_potato(peer.running, N_CLIENTS, 15))
    return [
        *rows,
        [
            "SQLite, 32 clients, compared with Label Studio's best",
            f"{on_sqlite.per_second / best:,.0f}x",
            ">= 60x (goal 115x)",
        ],
        ["... answers per second", f"{on_sqlite.per_second:,.0f}", ">= 1,500 (goal 3,000)"],
        ["... p99", f"{on_sqlite.ms(99):.1f} ms", "<= 50 ms (goal 20)"],
        ["... server CPU per answer", f"{on_sqlite.cpu_ms:.2f} ms", "<= 2 ms (goal 0.5)"],
        [
            "... compared with one commit per answer on this disk",
            f"{on_sqlite.per_second / floor:.1f}x of {floor:,.0f}/s",
            "",
        ],
        ["... compared with Potato 2.12", f"{on_sqlite.per_second / other.per_second:,.0f}x of {_summary(other)}", ""],
        ["200 clients, p99", f"{crowd.ms(99):.1f} ms", "<= 150 ms (goal 75)"],
        [
            "PostgreSQL, 32 clients, answers per second",
            f"{ours[POSTGRESQL, N_CLIENTS].per_second:,.0f}",
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


def _clients(n_clients: int) -> str:
    return f"{n_clients} client{'s' if n_clients > 1 else ''}"


def _summary(measured: Measured) -> str:
    return (
        f"{measured.per_second:,.{0 if measured.per_second > 100 else 1}f}/s, p99 {measured.ms(99):,.1f} ms, "
        f"{measured.cpu_ms:.2f} ms of CPU per answer"
    )


def syncs() -> list[list[str]]:
    """Syncs per answer, counted by strace. strace slows the server, so times are not measured."""
    rows = []
    for n_clients, required in ((1, "<= 1"), (N_CLIENTS, "<= 0.2 (goal 0.1)")):
        with served() as server, tempfile.NamedTemporaryFile("r") as counted:
            command = ["strace", "-f", "-c", "-e", "trace=fdatasync,fsync", "-o", counted.name, "-p", str(server.pid)]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
                assert strace.stderr is not None
                strace.stderr.readline()  # Printed when strace has attached.
                load = uvloop.run(closed_loop(server.url, n_clients, seconds=SECONDS))
                strace.send_signal(signal.SIGINT)
            calls = [line.split() for line in counted.read().splitlines()]
        n = sum(int(line[3]) for line in calls if line and line[-1] in ("fdatasync", "fsync"))
        rows.append([f"syncs per answer, {_clients(n_clients)}", f"{n / len(load.latencies):.2f}", required])
    return rows


def crowd() -> list[list[str]]:
    async def answer(people: People) -> Waits:
        await people.join(N_PEOPLE)
        return await people.answer(per_second, CROWD_SECONDS)

    per_second = N_PEOPLE / EVERY_SECONDS
    with served() as server:
        load = uvloop.run(answer(People(server.url)))
    return [
        [
            f"500 people, one answer every 2 s ({per_second:.0f}/s), p50 / p99",
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
        uvloop.run(closed_loop(server.url, N_CLIENTS, n_answers=N_STORED))
        used = memory_mb(server.pid)
    return [
        ["start of an existing study until its first page (median of 3)", f"{np.median(starts):.2f} s", "<= 2 s"],
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
        # The environment must be able to serve a page and store an answer.
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
        write(options.write, "serve", markdown(["measurement", "value", "required"], rows))


if __name__ == "__main__":
    main()
