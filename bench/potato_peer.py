"""Throughput of Potato, to compare with our server. Starts it and sends the HTTP requests that its page sends.

    python bench/potato_peer.py [PROGRAM]

Prints answers per second, latency and server CPU time per answer at 1, 8 and 32 clients, each with a new study (in
TMPDIR, whose disk matters), and checks in Potato's files that every acknowledged answer is stored. Potato 2.12.1 (GPL,
extra `peers`) runs as its own program, `potato start`: one process of Flask's threaded server. One submission is what
its page does on Next (`navigateToNext`, static/annotation.js): `POST /updateinstance` with the whole answer, `POST
/annotate` to move on, `GET /annotate` for the next page. Not measured, to its advantage: scripts, autosave of sliders,
interaction log.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from peer import Measured, Running, ask, free_port, running

PROGRAM = Path(sys.executable).with_name("potato")
MAX_ANSWERS, MAX_SECONDS, START_SECONDS = 2_000, 30.0, 60.0
JSON, FORM = "Content-Type: application/json", "Content-Type: application/x-www-form-urlencoded"
CLASSES = ("negative", "neutral", "positive")
# `soft_label` is its scheme of sliders that sum to 100. YAML in flow style, so that lists can be written as JSON.
CONFIG = """{annotation_task_name: peer, task_dir: ., output_annotation_dir: out, data_files: [items.jsonl],
item_properties: {id_key: id, text_key: text}, assignment_strategy: fixed_order, require_password: false,
annotation_schemes: [{annotation_type: soft_label, name: belief, description: How likely is each class, total: 100,
labels: %s}], user_config: {allow_all_users: false, users: %s}}"""
# From `InMemoryUserState.save` and `_append_history`, user_state_management.py of Potato 2.12.1.
DURABLE = """a save is acknowledged after fsync of the annotator's whole state (a new file, renamed over the old one)
and of an appended history; the folder is not fsynced after the rename"""


@dataclass(frozen=True)
class Potato:
    """A running Potato, and its folder."""

    running: Running
    folder: Path

    def stored(self) -> dict[str, int]:
        """Complete answers (with a sum of 100) in the files on disk, per annotator."""
        counts = {}
        for path in (self.folder / "out").glob("*/user_state.json"):
            answers = json.loads(path.read_text())["instance_id_to_label_to_value"].values()
            counts[path.parent.name] = sum(sum(int(percent) for _, percent in answer) == 100 for answer in answers)
        return counts


@contextmanager
def potato(n_items: int = 500, n_users: int = 32, program: Path = PROGRAM) -> Iterator[Potato]:
    """A Potato on a free loopback port with a new study, all items for every annotator; removed at the end."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="potato-peer-") as name:
        folder = Path(name)
        items = [{"id": f"item{i:05}", "text": f"Short text {i}, about nothing much."} for i in range(n_items)]
        (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
        users = [f"annotator{k}" for k in range(n_users)]
        (folder / "config.yaml").write_text(CONFIG % (json.dumps(CLASSES), json.dumps(users)))
        command = [program, "start", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
        with running(command, port, folder, START_SECONDS) as server:
            yield Potato(server, folder)


@dataclass
class Client:
    """One annotator's browser: a cookie, and the item on the page (None if all are answered)."""

    url: str
    name: str
    rng: np.random.Generator
    cookie: str = ""
    item: str | None = None
    latencies: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)

    async def ask(self, request: str, body: str = "", *headers: str) -> str | None:
        """The content of the reply; None for a redirect; any other status is an error."""
        status, head, content = await ask(self.url, request, body, f"Cookie: {self.cookie}", *headers)
        if status not in (200, 302):
            raise RuntimeError(
                f"{request}: expected status 200 or 302, found {head[:80]!r} for {self.name}: {content[:200]}"
            )
        if found := re.search(r"(?i)\nset-cookie: *(session=[^;\r]*)", head):
            self.cookie = found[1]
        return content if status == 200 else None

    async def log_in(self) -> None:
        await self.ask("POST /auth", f"action=login&email={self.name}&pass=", FORM)

    async def load(self) -> None:
        """Load the page and read which item it shows."""
        found = re.search(r'<input id="instance_id"[^>]*value="([^"]+)"', await self.ask("GET /annotate") or "")
        self.item = found[1] if found else None

    async def submit(self) -> None:
        """Save an answer to the item on the page and go to the next item."""
        percents = self.rng.multinomial(100, np.full(len(CLASSES), 1 / len(CLASSES)))
        annotations = {f"belief:{name}": str(percent) for name, percent in zip(CLASSES, percents, strict=True)}
        answer = {"instance_id": self.item, "annotations": annotations, "cleared_schemas": [], "span_annotations": []}
        answer |= {"client_timestamp": time.strftime("%FT%T.000Z", time.gmtime()), "response_time_seconds": 1.5}
        start = time.perf_counter()
        saved = await self.ask("POST /updateinstance", json.dumps(answer), JSON)
        if json.loads(saved or "{}").get("status") != "success":
            raise RuntimeError(f"expected the status success for a save, found {saved} for {self.name}, {self.item}")
        self.saves.append(time.perf_counter() - start)
        move = json.dumps({"action": "next_instance", "instance_id": self.item})
        await self.ask("POST /annotate", move, JSON, "X-Potato-Navigation: 1")
        await self.load()
        self.latencies.append(time.perf_counter() - start)


@dataclass(frozen=True)
class MeasuredSaves(Measured):
    """Also the latency of saving; `acknowledged` counts answers per annotator, including the one that is not timed."""

    saves: list[float]  # the part of each latency before the save is acknowledged
    acknowledged: dict[str, int]


async def drive(server: Running, n_clients: int, seconds: float) -> MeasuredSaves:
    """Latencies of `n_clients` annotators who answer without a pause for `seconds`.

    Each first gives one answer that is not timed, because Potato imports modules on first use. Answers in progress when
    the time is up are completed and counted.
    """

    async def submit_all(client: Client) -> None:
        while client.item and time.perf_counter() - start < max_seconds and len(client.saves) < max_answers:
            await client.submit()

    max_answers, max_seconds = MAX_ANSWERS // n_clients, min(seconds, MAX_SECONDS)
    clients = [Client(server.url, f"annotator{k}", np.random.default_rng(k)) for k in range(n_clients)]
    for step in (Client.log_in, Client.load, Client.submit):
        await asyncio.gather(*map(step, clients))
    cpu_before, start = server.cpu_seconds(), time.perf_counter()
    await asyncio.gather(*map(submit_all, clients))
    took, cpu = time.perf_counter() - start, server.cpu_seconds() - cpu_before
    latencies = [s for client in clients for s in client.latencies[1:]]
    saves = [s for client in clients for s in client.saves[1:]]
    return MeasuredSaves(took, latencies, cpu, saves, {client.name: len(client.saves) for client in clients})


def main() -> None:
    program = Path(sys.argv[1] if len(sys.argv) > 1 else PROGRAM).absolute()
    for n_clients in (1, 8, 32):
        with potato(n_users=n_clients, program=program) as peer:
            run = asyncio.run(drive(peer.running, n_clients, 10.0))
            stored = peer.stored()
        assert stored == run.acknowledged, (stored, run.acknowledged)
        save = 1e3 * np.percentile(run.saves, (50, 99))
        print(
            f"{n_clients:2} clients: {run.per_second:5.1f} answers/s ({len(run.saves)} in {run.seconds:.1f} s);"
            f" submission p50 {run.ms(50):.0f} ms, p99 {run.ms(99):.0f} ms;"
            f" save alone p50 {save[0]:.0f} ms, p99 {save[1]:.0f} ms;"
            f" server CPU {run.cpu_ms:.1f} ms per answer; all {sum(stored.values())} stored on disk"
        )
    print(f"durability: {DURABLE}")


if __name__ == "__main__":
    main()
