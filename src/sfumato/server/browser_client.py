"""Visitor: what an annotator's browser says to the server, without the browser.

Simulated annotators, kill tests and load benchmarks speak through it, so it is sparing: one keep-alive connection a
visitor, one write a request, a reply read as it arrives. An answer is sent as the page sends it: the same key and the
same bytes again and again until the server has said 200, 201, 409 or 422, whatever happens in between.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec

from sfumato.server.http_connection import Connection, Reply
from sfumato.tables.errors import BadSetting, NoReply, Refused, show

LETS_GO = frozenset((200, 201, 409, 422))
"""The replies after which an answer is no longer the sender's to keep."""
FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 1.0
REPLY_SECONDS = 30.0
JSON = "application/json"

State = dict[str, Any]
Sleep = Callable[[float], Awaitable[Any]]


class BrowserClient:
    """One person's conversation with a study server; `token` is theirs, or comes from `join`.

    Calls may overlap: each takes an idle connection or opens another. Everything is retried through connection
    errors, 429 and 5xx, until `deadline` seconds have passed since the call (None: for ever).
    """

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        deadline: float | None = None,
        reply_seconds: float = REPLY_SECONDS,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.token = token
        self.deadline = deadline
        self.n_retries = 0
        self._place = ServerAddress.of(base_url)
        self._reply_seconds = reply_seconds
        self._sleep = sleep
        self._idle: list[Connection] = []

    async def __aenter__(self) -> BrowserClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections; a later call opens new ones."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def join(self) -> str:
        """Take part in an open study: the token of a new person, kept for all later calls."""
        # A retry whose first attempt did arrive leaves a person behind who never comes back, as in a browser.
        request = self._place.request("POST", "/join", "application/x-www-form-urlencoded")
        reply = await self._settled(lambda: request + b"Content-Length: 0\r\n\r\n", self.deadline)
        _, found, token = (reply.location or "").rpartition("/s/")
        if reply.status != 303 or not found:
            raise _refused(reply, f"{self._place.prefix}/join")
        self.token = token.partition("?")[0].strip("/")
        return self.token

    async def state(self) -> State:
        """Where this person stands."""
        return await self._call("state")

    async def consent(self) -> State:
        """Agree to take part."""
        return await self._call("consent")

    async def instructions(self) -> State:
        """Say that the instructions were read."""
        return await self._call("instructions")

    async def comprehension(self, answers: Sequence[str]) -> State:
        """Answer the questions about the instructions."""
        return await self._call("comprehension", msgspec.json.encode({"answers": answers}))

    async def trials(self) -> State:
        """Ask for trials to answer."""
        return await self._call("trials")

    async def pulse(self) -> State:
        """Say that the person is still there."""
        return await self._call("pulse")

    async def withdraw(self) -> State:
        """Leave the study for good; what was answered stays."""
        return await self._call("withdraw")

    async def config(self) -> dict[str, Any]:
        """What the study page tells its script: classes in this person's order, their keys, and so on."""
        path = f"/s/{self.token}"
        request = self._place.request("GET", path) + b"\r\n"
        reply = await self._settled(lambda: request, self.deadline)
        _, _, rest = reply.content.partition(b'id="config">')
        try:
            config = msgspec.json.decode(rest.partition(b"</script>")[0])
        except msgspec.DecodeError:
            config = None
        if reply.status != 200 or not isinstance(config, dict):
            raise _refused(reply, path)
        return config

    async def picture(self, path: str) -> bytes:
        """The bytes of a picture, by its path in a trial."""
        request = self._place.request("GET", path) + b"\r\n"
        reply = await self._settled(lambda: request, self.deadline)
        if reply.status != 200:
            raise _refused(reply, path)
        return reply.content

    async def submit(
        self,
        trial: str,
        answer: Any,
        record: Any,
        *,
        key: str | None = None,
        deadline: float | None = None,
    ) -> Reply:
        """Send an answer until the server lets go of it (200, 201, 409, 422); `NoReply` only at the deadline.

        Every attempt sends the same key and the same body; the age of the answer travels in a header.
        """
        body = msgspec.json.encode(
            {"key": key or str(uuid4()), "trial": trial, "answer": answer, "record": record},
        )
        return await self.submit_body(body, deadline=deadline)

    async def submit_body(self, body: bytes, *, deadline: float | None = None) -> Reply:
        """Send an answer that is already JSON, as `submit` does."""
        head = self._place.request("POST", f"/s/{self.token}/api/answers", JSON)
        head += b"Content-Length: %d\r\nX-Sfumato-Age: " % len(body)
        pressed_at = time.monotonic()

        def request() -> bytes:
            return b"%b%d\r\n\r\n%b" % (head, 1000 * (time.monotonic() - pressed_at), body)

        return await self._settled(request, self.deadline if deadline is None else deadline, LETS_GO)

    async def _call(self, name: str, body: bytes = b"{}") -> State:
        path = f"/s/{self.token}/api/{name}"
        head = self._place.request("POST", path, JSON)
        request = b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
        reply = await self._settled(lambda: request, self.deadline)
        state = reply.body if reply.status == 200 else None
        if not isinstance(state, dict):
            raise _refused(reply, path)
        return state

    async def _settled(
        self, request: Callable[[], bytes], deadline: float | None, lets_go: frozenset[int] | None = None
    ) -> Reply:
        """The first reply that ends the matter: one of `lets_go`, or without it anything but 429 and 5xx."""
        ends_at = None if deadline is None else time.monotonic() + deadline
        pause = FIRST_PAUSE_SECONDS
        attempts = 0
        while True:
            attempts += 1
            asked_for = 0.0
            try:
                reply = await self._attempt(request(), ends_at)
                if reply.status in lets_go if lets_go else reply.status < 500 and reply.status != 429:
                    reply.attempts = attempts
                    return reply
                found = f"status {reply.status}"
                asked_for = reply.retry_after or 0.0
            except OSError as error:
                found = str(error) or type(error).__name__
            # A little more than asked for, and not all at once: a server that comes back meets a crowd.
            wait = max(asked_for, pause) * (1 + random.random() / 4)
            if ends_at is not None and time.monotonic() + wait >= ends_at:
                raise NoReply(
                    f"found {found} from {self._place} after {attempts:,} attempts",
                    expected=f"a reply within {deadline:g} s",
                    fix="see that the server runs and listens there",
                    code="no-reply",
                )
            self.n_retries += 1
            await self._sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _attempt(self, request: bytes, ends_at: float | None) -> Reply:
        seconds = self._reply_seconds if ends_at is None else min(self._reply_seconds, ends_at - time.monotonic())
        idle = self._idle
        connection = idle.pop() if idle else None
        while connection is not None and connection.closed:
            connection = idle.pop() if idle else None
        if connection is None:
            connection = await self._place.connected(seconds)
        try:
            reply = await connection.ask(request, seconds)
        except BaseException:
            # Whatever may still come over this connection belongs to nobody.
            connection.close()
            raise
        if not connection.closed:
            idle.append(connection)
        return reply


@dataclass(frozen=True)
class ServerAddress:
    """Where the server is."""

    host: str
    port: int
    prefix: str
    is_secure: bool

    @classmethod
    def of(cls, base_url: str) -> ServerAddress:
        parts = urlsplit(base_url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or not base_url.isascii():
            raise BadSetting(
                f"found the address {show(base_url)}",
                expected="an address such as http://127.0.0.1:8000",
                fix="give the address that sfumato serve prints",
                code="bad-url",
            )
        is_secure = parts.scheme == "https"
        return cls(parts.hostname, port or (443 if is_secure else 80), parts.path.rstrip("/"), is_secure)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def request(self, method: str, path: str, media_type: str | None = None) -> bytes:
        """The head of a request, but for its length and its end; `path` comes from the server, or from a token."""
        if not path.isascii() or not path.isprintable() or " " in path:
            raise BadSetting(
                f"found the path {show(path)}",
                expected="a path without blanks or control characters",
                fix="give links as sfumato printed them",
                code="bad-url",
            )
        line = "" if media_type is None else f"Content-Type: {media_type}\r\n"
        return f"{method} {self.prefix}{path} HTTP/1.1\r\nHost: {self}\r\n{line}".encode()

    async def connected(self, seconds: float) -> Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(seconds):
            _, connection = await loop.create_connection(
                lambda: Connection(loop), self.host, self.port, ssl=self.is_secure or None
            )
        return connection


def _refused(reply: Reply, path: str) -> Refused:
    """The error for a reply that is not what was asked for, in the server's own words where it gave some."""
    said = reply.body if isinstance(reply.body, dict) else {}
    return Refused(
        f"{said.get('found', 'found an unexpected reply')} (status {reply.status} at {path.rpartition('/')[2]})",
        expected=str(said.get("expected", "a study server's reply")),
        fix=str(said.get("fix", "check the address and the link")),
        code=str(said.get("code", "refused")),
    )
