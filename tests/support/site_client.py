"""A study in this process, and a client that calls its ASGI application without a network.

The client sends any path, body and header as given. Like a real server, it refuses an application that replies twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from migrated_store import create_tables

from sfumato.server.app import application
from sfumato.server.served_study import ServedStudy
from sfumato.server.server import LOOPBACK, open_site
from sfumato.store.location import StoreLocation
from sfumato.store.schema import METADATA
from sfumato.study import read_study
from sfumato.study.study import Study

JSON = {"content-type": "application/json"}
RECORD = {"elapsed_ms": 1500}


@dataclass(frozen=True)
class Reply:
    """The reply of the application, and the error it raised afterwards, if any."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    raised: BaseException | None = None

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        """The value of a header, which must not occur twice; of several cookies the first, that of the session."""
        found = [value for key, value in self.headers if key == name]
        found = found[:1] if name == "set-cookie" else found
        assert len(found) < 2, f"{name} sent {len(found)} times"
        return found[0] if found else None


class SiteClient:
    """Sends requests to an application, one after the other."""

    def __init__(
        self, app: Any, runner: asyncio.Runner, host: str | None = "localhost:8000", address: str = "127.0.0.1"
    ) -> None:
        self._app, self._runner, self._host, self._address = app, runner, host, address

    def send(
        self,
        method: str,
        target: str,
        body: bytes | Sequence[bytes] = b"",
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    ) -> Reply:
        """The reply to a request; `target` is sent as written, a sequence of bodies as chunks without a length."""
        return self._runner.run(self._send(method, target, body, headers))

    def get(self, target: str, headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> Reply:
        return self.send("GET", target, headers=headers)

    def post(self, target: str, value: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a JSON request; `value` may already be bytes."""
        body = value if isinstance(value, bytes) else json.dumps({} if value is None else value).encode()
        return self.send("POST", target, body, JSON | dict(headers or {}))

    async def _send(
        self,
        method: str,
        target: str,
        body: bytes | Sequence[bytes],
        headers: Mapping[str, str] | Sequence[tuple[str, str]],
    ) -> Reply:
        path, _, query = target.partition("?")
        chunks = [body] if isinstance(body, bytes) else list(body)
        pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
        names = [name.lower() for name, _ in pairs]
        if "host" not in names and self._host is not None:
            pairs.append(("host", self._host))
        if isinstance(body, bytes) and body and "content-length" not in names:
            pairs.append(("content-length", str(len(body))))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
            "client": (self._address, 50_000),
            "server": ("127.0.0.1", 8000),
        }
        started: list[Any] = []
        content = bytearray()

        async def receive() -> dict[str, Any]:
            if not chunks:
                # The client stays connected; tasks that wait for a disconnect are cancelled after the reply.
                await asyncio.Event().wait()
            return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                if started:
                    raise RuntimeError("the application replied twice")
                started.append(message)
            elif message["type"] == "http.response.body":
                content.extend(message.get("body", b""))

        raised = None
        try:
            await self._app(scope, receive, send)
        except Exception as error:  # noqa: BLE001
            raised = error
        if not started:
            raise raised or RuntimeError("the application did not reply")
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in started[0]["headers"]]
        return Reply(started[0]["status"], tuple(pairs), bytes(content), raised)


@dataclass
class AskedSite:
    """An open study with a client."""

    site: ServedStudy
    client: SiteClient
    runner: asyncio.Runner = field(repr=False)

    @property
    def study(self) -> Study:
        return self.site.study

    def client_for(self, hosts: Collection[str]) -> SiteClient:
        """Another client of the same site, with other allowed `hosts`."""
        return SiteClient(application(self.site, hosts), self.runner)

    def join(self) -> Visit:
        """A new participant."""
        reply = self.client.send("POST", "/join")
        assert reply.status == 303
        return Visit(self.client, (reply.header("location") or "").removeprefix("/s/"))

    def ready(self) -> Visit:
        """A new participant at the first trial."""
        visit = self.join()
        visit.step("consent")
        visit.step("instructions")
        if self.study.comprehension:
            visit.comprehension([each.answer for each in self.study.comprehension])
        return visit

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables in the store."""
        with self.site.reader.connect() as connection:
            return {
                table.name: [tuple(row) for row in connection.execute(sa.select(table).order_by(table.c.id))]
                for table in METADATA.sorted_tables
            }

    def stored(self, table: str = "answers") -> list[dict[str, Any]]:
        """The rows of a table by id."""
        chosen = METADATA.tables[table]
        with self.site.reader.connect() as connection:
            return [dict(row) for row in connection.execute(sa.select(chosen).order_by(chosen.c.id)).mappings()]


@dataclass
class Visit:
    """A participant's session."""

    client: SiteClient
    token: str

    @property
    def base(self) -> str:
        return f"/s/{self.token}"

    def step(self, name: str, value: Any = None) -> Reply:
        return self.client.post(f"{self.base}/api/{name}", value)

    def state(self) -> dict[str, Any]:
        reply = self.step("state")
        assert reply.status == 200, reply.body
        state: dict[str, Any] = reply.json
        return state

    def comprehension(self, answers: Sequence[str]) -> Reply:
        return self.step("comprehension", {"answers": list(answers)})

    def trial(self) -> dict[str, Any]:
        """The current trial."""
        trial: dict[str, Any] = self.state()["trials"][0]
        return trial

    def body(self, answer: Any, **changed: Any) -> dict[str, Any]:
        """The body of a submission for the current trial, with some fields changed."""
        handle = changed.pop("trial", None) or self.trial()["trial"]
        return {"key": str(uuid.uuid4()), "trial": handle, "answer": answer, "record": RECORD} | changed

    def submit(self, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
        return self.client.post(f"{self.base}/api/answers", body, headers)


@contextlib.contextmanager
def asked_site(study: Study | Path, store: str | Path | None = None) -> Iterator[AskedSite]:
    """An open study on local host names, while the context is open."""
    asked = study if isinstance(study, Study) else read_study(study)
    create_tables(StoreLocation.of_study(asked, store))
    with open_site(asked, store) as site, asyncio.Runner() as runner:
        yield AskedSite(site, SiteClient(application(site, LOOPBACK), runner), runner)
