"""HTTP client that sends the requests of a participant's browser, for simulated annotators, fault tests and benchmarks.

It is fast: keep-alive connections, one write per request. Like the page, it sends an answer with the same key and the
same bytes until the server replies 200, 201, 409 or 422.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec

from sfumato.server.client_connection import Connection, Reply
from sfumato.tables.errors import BadSetting, NoReply, Refused, show

FINAL_STATUS = frozenset((200, 201, 409, 422))
"""Replies after which an answer is not sent again."""
FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 1.0
REPLY_SECONDS = 30.0
JSON = "application/json"

State = dict[str, Any]
Sleep = Callable[[float], Awaitable[Any]]


class BrowserClient:
    """The requests of one participant; `token` is theirs, or comes from `join`.

    Calls may overlap: each uses an idle connection or opens another. Calls are retried after connection errors, 429
    and 5xx, until `deadline` seconds have passed (None: without limit).
    """

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        deadline: float | None = None,
        reply_seconds: float = REPLY_SECONDS,
        sleep: Sleep = asyncio.sleep,
        source: str | None = None,
    ) -> None:
        """`source` is the own address that connections come from, if it matters."""
        self.token = token
        self.deadline = deadline
        self.n_retries = 0
        self._server = ServerAddress.of(base_url)
        self._reply_seconds = reply_seconds
        self._sleep = sleep
        self._source = source
        self._idle: list[Connection] = []

    async def __aenter__(self) -> BrowserClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def join(self) -> str:
        """Take part in an open study; returns the token of a new participant, used for all later calls."""
        # If the first attempt did arrive, a retry leaves an unused participant, as in a browser.
        request = self._server.request("POST", "/join", "application/x-www-form-urlencoded")
        reply = await self._request(lambda: request + b"Content-Length: 0\r\n\r\n", self.deadline)
        _, found, token = (reply.location or "").rpartition("/s/")
        if reply.status != 303 or not found:
            raise _refused(reply, f"{self._server.prefix}/join")
        self.token = token.partition("?")[0].strip("/")
        return self.token

    async def arrive(self, path: str) -> str:
        """Come from a platform by its entry address; returns the token of the participant, used for all later calls."""
        reply = await self._get(path)
        _, found, token = (reply.location or "").rpartition("/s/")
        if reply.status != 303 or not found:
            raise _refused(reply, path.partition("?")[0])
        self.token = token
        return self.token

    async def state(self) -> State:
        """The participant's state."""
        return await self._call("state")

    async def step(self, name: str) -> State:
        """Take a step without data: consent, instructions, trials, pulse (heartbeat) or withdraw."""
        return await self._call(name)

    async def comprehension(self, answers: Sequence[str]) -> State:
        """Answer the questions about the instructions."""
        return await self._call("comprehension", msgspec.json.encode({"answers": answers}))

    async def config(self) -> dict[str, Any]:
        """The configuration in the study page: classes in this participant's order, keys and more."""
        path = f"/s/{self.token}"
        reply = await self._get(path)
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
        reply = await self._get(path)
        if reply.status != 200:
            raise _refused(reply, path)
        return reply.content

    async def submit(
        self, trial: str, answer: Any, record: Any, *, key: str | None = None, deadline: float | None = None
    ) -> Reply:
        """Send an answer until the reply is final (200, 201, 409, 422); raises `NoReply` at the deadline.

        Every attempt sends the same key and the same body; a header holds the age of the answer.
        """
        body = msgspec.json.encode({"key": key or str(uuid4()), "trial": trial, "answer": answer, "record": record})
        return await self.submit_body(body, deadline=deadline)

    async def submit_body(self, body: bytes, *, deadline: float | None = None) -> Reply:
        """Send an answer that is already JSON, like `submit`."""
        head = self._server.request("POST", f"/s/{self.token}/api/answers", JSON)
        head += b"Content-Length: %d\r\nX-Sfumato-Age: " % len(body)
        submitted_at = time.monotonic()

        def request() -> bytes:
            return b"%b%d\r\n\r\n%b" % (head, 1000 * (time.monotonic() - submitted_at), body)

        return await self._request(request, self.deadline if deadline is None else deadline, FINAL_STATUS)

    async def _get(self, path: str) -> Reply:
        request = self._server.request("GET", path) + b"\r\n"
        return await self._request(lambda: request, self.deadline)

    async def _call(self, name: str, body: bytes = b"{}") -> State:
        path = f"/s/{self.token}/api/{name}"
        head = self._server.request("POST", path, JSON)
        request = b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
        reply = await self._request(lambda: request, self.deadline)
        state = reply.body if reply.status == 200 else None
        if not isinstance(state, dict):
            raise _refused(reply, path)
        return state

    async def _request(
        self, request: Callable[[], bytes], deadline: float | None, final: frozenset[int] | None = None
    ) -> Reply:
        """Send until a reply has a status in `final`, or, without it, any status except 429 and 5xx."""
        ends_at = None if deadline is None else time.monotonic() + deadline
        pause = FIRST_PAUSE_SECONDS
        attempts = 0
        while True:
            attempts += 1
            retry_after = 0.0
            try:
                reply = await self._attempt(request(), ends_at)
                if reply.status in final if final else reply.status < 500 and reply.status != 429:
                    reply.attempts = attempts
                    return reply
                found = f"status {reply.status}"
                retry_after = reply.retry_after or 0.0
            except OSError as error:
                found = str(error) or type(error).__name__
            # A random addition, so that not all clients return to a restarted server at once.
            wait = max(retry_after, pause) * (1 + random.random() / 4)
            if ends_at is not None and time.monotonic() + wait >= ends_at:
                expected = f"a reply within {deadline:g} s"
                fix = "check that the server runs and listens at this address"
                raise NoReply(f"{found} from {self._server} after {attempts:,} attempts", expected, fix)
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
            connection = await self._server.connect(seconds, self._source)
        try:
            reply = await connection.send(request, seconds)
        except BaseException:
            # Later data on this connection would belong to no request.
            connection.close()
            raise
        if not connection.closed:
            idle.append(connection)
        return reply


@dataclass(frozen=True)
class ServerAddress:
    """Host, port and path prefix of the server."""

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
            found, expected = f"the address {show(base_url)}", "an address such as http://127.0.0.1:8000"
            raise BadSetting(found, expected, "use the address that sfumato serve prints", "bad-url")
        is_secure = parts.scheme == "https"
        return cls(parts.hostname, port or (443 if is_secure else 80), parts.path.rstrip("/"), is_secure)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def request(self, method: str, path: str, media_type: str | None = None) -> bytes:
        """The head of a request without its length and its end; `path` comes from the server or from a token."""
        if not path.isascii() or not path.isprintable() or " " in path:
            expected = "a path without spaces or control characters"
            raise BadSetting(f"the path {show(path)}", expected, "use the links that sfumato printed", "bad-url")
        line = "" if media_type is None else f"Content-Type: {media_type}\r\n"
        return f"{method} {self.prefix}{path} HTTP/1.1\r\nHost: {self}\r\n{line}".encode()

    async def connect(self, seconds: float, source: str | None = None) -> Connection:
        loop = asyncio.get_running_loop()
        own = None if source is None else (source, 0)
        async with asyncio.timeout(seconds):
            _, connection = await loop.create_connection(
                lambda: Connection(loop), self.host, self.port, ssl=self.is_secure or None, local_addr=own
            )
        return connection


def _refused(reply: Reply, path: str) -> Refused:
    """The error for an unexpected reply, with the server's own message if there is one."""
    body = reply.body if isinstance(reply.body, dict) else {}
    found = f"{body.get('found', 'an unexpected reply')} (status {reply.status} at {path.rpartition('/')[2]})"
    expected = str(body.get("expected", "the reply of a study server"))
    fix = str(body.get("fix", "check the address and the link"))
    return Refused(found, expected, fix, str(body.get("code", "refused")))
