"""A participant without automatic retries, who records every reply of the server."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import time
from dataclasses import dataclass
from typing import Any

from crowd import SentAnswer, new_answer

from sfumato.server.browser_client import BrowserClient

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Reply:
    """A reply of the server; `status` is 0 if there was none."""

    status: int
    retry_after: str | None = None
    body: Any = None
    cookie: str = ""

    @property
    def code(self) -> str:
        return self.body.get("code", "") if isinstance(self.body, dict) else ""


class RecordedParticipant:
    """Takes part in the study of the server at `port`."""

    def __init__(self, port: int, seed: int = 1) -> None:
        self._port, self._rng = port, random.Random(seed)
        self.sent: list[SentAnswer] = []
        self._open: SentAnswer | None = None
        self.token, self._trial = asyncio.run(self._join())
        assert self.read_pages() == [200, 200, 200]

    async def _join(self) -> tuple[str, str]:
        async with BrowserClient(f"http://127.0.0.1:{self._port}", deadline=30) as visitor:
            token = await visitor.join()
            state = await visitor.step("instructions")
            return token, state["trials"][0]["trial"]

    def answer(self) -> Reply:
        """Send the next answer; an answer that was not acknowledged is sent again first."""
        if self._open is None:
            self._open = new_answer(self.token, self._trial, self._rng)
            self.sent.append(self._open)
        reply = self.ask("POST", f"/s/{self.token}/api/answers", self._open.body, JSON)
        if reply.status in (200, 201):
            self._open.statuses.append(reply.status)
            self._open.ids.add(reply.body["answer"])
            self._open = None
            self._trial = reply.body["state"]["trials"][0]["trial"]
        return reply

    def resend(self, seconds: float = 30.0) -> None:
        """Send a refused answer until it is acknowledged, as the page does."""
        ends_at = time.monotonic() + seconds
        while self._open is not None and time.monotonic() < ends_at:
            self.answer()

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            content = reply.read()
        except (OSError, http.client.HTTPException):
            return Reply(0)
        finally:
            connection.close()
        is_json = "json" in (reply.headers.get("Content-Type") or "")
        cookie = (reply.headers.get("Set-Cookie") or "").partition(";")[0]
        return Reply(
            reply.status, reply.headers.get("Retry-After"), json.loads(content) if is_json else content, cookie
        )

    def read_pages(self) -> list[int]:
        """The statuses of three read-only pages: health, the participant's page and the front page."""
        return [self.ask("GET", path).status for path in ("/health", f"/s/{self.token}", "/")]
