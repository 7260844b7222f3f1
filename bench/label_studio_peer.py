"""Throughput of Label Studio, to compare with our server. Starts it and sends answers over HTTP.

    python bench/label_studio_peer.py [PROGRAM]

Prints answers per second, latency and server CPU time per answer at 1, 8 and 32 clients, on SQLite and on PostgreSQL,
each with a new project (in TMPDIR, whose disk matters), and checks that every acknowledged answer is stored. Label
Studio 1.23.2 (Apache 2.0) needs other releases of Arrow than we do, so it is installed in a separate environment under
build/. It runs as its own program, `label-studio start`. An answer is `POST /api/tasks/N/annotations/`, a choice of one
class; each client has its own tasks. Not measured, to its advantage: finding the next task, drafts, the page.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from peer import Measured, Running, ask, free_port, running

ROOT = Path(__file__).parent.parent
VERSION = "1.23.2"
HOME = ROOT / "build" / f"label-studio-{VERSION}"
START_SECONDS = 300.0
"""Includes creating its tables."""
TOKEN = "0123456789abcdef0123456789abcdef01234567"
JSON = "Content-Type: application/json"
CLASSES = ("cat", "dog", "ship")
PAGE = """<View><Text name="text" value="$text"/><Choices name="belief" toName="text">{}</Choices></View>"""


def installed() -> Path:
    """The path of the program; installs it if needed."""
    program = HOME / "bin" / "label-studio"
    if not program.exists():
        print(f"installing Label Studio {VERSION} under {HOME.relative_to(ROOT)} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        pip = [HOME / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"label-studio=={VERSION}"], check=True, stderr=subprocess.DEVNULL)
    return program


@dataclass(frozen=True)
class LabelStudio:
    """A running Label Studio with one project."""

    running: Running
    project: int
    tasks: list[int]

    async def submit(self, task: int, number: int) -> bool:
        """Answer a task; whether it was accepted. On SQLite some concurrent answers fail."""
        value = {"choices": [CLASSES[number % len(CLASSES)]]}
        result = [{"from_name": "belief", "to_name": "text", "type": "choices", "value": value}]
        body = json.dumps({"result": result, "lead_time": 2.5})
        request = f"POST /api/tasks/{task}/annotations/"
        status, _, content = await ask(self.running.url, request, body, JSON, f"Authorization: Token {TOKEN}")
        if status not in (201, 500):
            raise RuntimeError(f"{request} expected status 201 or 500, found {status}: {content[:300]}")
        return status == 201

    async def n_stored(self) -> int:
        """The number of answers according to its API."""
        answer = await _call(self.running.url, f"GET /api/projects/{self.project}/")
        return int(answer["total_annotations_number"])


@contextmanager
def label_studio(n_tasks: int, database: str | None = None, program: Path | None = None) -> Iterator[LabelStudio]:
    """A Label Studio on SQLite, or on the PostgreSQL `database`, with a new project; both are removed at the end."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="label-studio-peer-") as name:
        settings = {
            "DJANGO_DB": "default" if database else "sqlite",
            "COLLECT_ANALYTICS": "0",
            "LATEST_VERSION_CHECK": "0",
            "LABEL_STUDIO_BASE_DATA_DIR": name,
        }
        if database:
            parts = urlsplit(database)
            settings |= {
                "POSTGRE_USER": parts.username or "",
                "POSTGRE_HOST": parts.hostname or "",
                "POSTGRE_PORT": str(parts.port),
                "POSTGRE_NAME": parts.path.lstrip("/"),
            }
        person = ["--username", "peer@localhost.org", "--password", "not-a-secret", "--user-token", TOKEN]
        place = ["--internal-host", "127.0.0.1", "--port", str(port), "--data-dir", name]
        command = [program or installed(), "start", "--no-browser", "--enable-legacy-api-token", *person, *place]
        with running(command, port, Path(name), START_SECONDS, **settings) as server:
            yield asyncio.run(_with_project(server, n_tasks))


async def _with_project(server: Running, n_tasks: int) -> LabelStudio:
    choices = "".join(f'<Choice value="{each}"/>' for each in CLASSES)
    made = await _call(server.url, "POST /api/projects/", {"title": "peer", "label_config": PAGE.format(choices)})
    project = int(made["id"])
    texts = [{"text": f"Short text {i}, about nothing much."} for i in range(n_tasks)]
    await _call(server.url, f"POST /api/projects/{project}/import", texts)
    listed = await _call(server.url, f"GET /api/tasks/?project={project}&page_size={n_tasks}&fields=task_only")
    return LabelStudio(server, project, [int(task["id"]) for task in listed["tasks"]])


async def _call(url: str, request: str, body: object = None) -> dict:
    text = "" if body is None else json.dumps(body)
    status, _, content = await ask(url, request, text, JSON, f"Authorization: Token {TOKEN}")
    if status not in (200, 201):
        raise RuntimeError(f"{request} expected status 200 or 201, found {status}: {content[:300]}")
    found: dict = json.loads(content)
    return found


async def drive(peer: LabelStudio, n_clients: int, seconds: float) -> Measured:
    """Latencies of `n_clients` that answer without a pause for `seconds`, after one answer each that is not timed.

    Answers in progress when the time is up are completed and counted; failed ones are not counted.
    """
    latencies: list[float] = []

    async def answer(client: int) -> None:
        for number, task in enumerate(peer.tasks[client::n_clients][1:]):
            pressed = time.perf_counter()
            if pressed - begun > seconds:
                return
            if await peer.submit(task, number):
                latencies.append(time.perf_counter() - pressed)
        raise RuntimeError("too few tasks")

    n_first = sum(await asyncio.gather(*(peer.submit(peer.tasks[client], 0) for client in range(n_clients))))
    cpu, begun = peer.running.cpu_seconds(), time.perf_counter()
    await asyncio.gather(*map(answer, range(n_clients)))
    measured = Measured(time.perf_counter() - begun, latencies, peer.running.cpu_seconds() - cpu)
    assert await peer.n_stored() >= len(latencies) + n_first, "not every acknowledged answer is stored"
    return measured


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from postgres_cluster import cluster

    program = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else installed()
    with cluster() as postgres:
        for name in ("SQLite", "PostgreSQL"):
            for n_clients in (1, 8, 32):
                database = postgres.new_database() if name == "PostgreSQL" else None
                with label_studio(3_000, database, program) as peer:
                    run = asyncio.run(drive(peer, n_clients, 15.0))
                print(
                    f"{name:10} {n_clients:2} clients: {run.per_second:5.1f} answers/s; p50 {run.ms(50):.0f} ms, "
                    f"p99 {run.ms(99):.0f} ms; server CPU {run.cpu_ms:.1f} ms per answer",
                    flush=True,
                )


if __name__ == "__main__":
    main()
