"""One keep-alive HTTP/1.1 client connection with at most one request in progress, for `browser_client`.

It reads only replies of this project's server: a status line, headers, and a body with Content-Length. Any other data
or an early end is a `BrokenReply`, after which the connection is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any, cast

import msgspec

LARGEST_HEAD = 65_536
LARGEST_REPLY = 1 << 28
NO_BODY = frozenset((204, 304))


class BrokenReply(ConnectionError):
    """A connection that failed before the reply was complete."""


@dataclass(slots=True)
class Reply:
    """A reply: status, body, some headers, and the number of attempts."""

    status: int
    content: bytes
    retry_after: float | None = None
    location: str | None = None
    attempts: int = 1

    @property
    def body(self) -> Any:
        """The body decoded from JSON; None if it is not JSON."""
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(self.content)
        return None


class Connection(asyncio.Protocol):
    """`send` writes a request and returns its reply; a `closed` connection accepts no more requests."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.closed = False
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        self._due_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._received = b""
        self._head: bytes | None = None
        self._length = 0

    def send(self, request: bytes, seconds: float) -> asyncio.Future[Reply]:
        """The reply to `request`; `TimeoutError` after `seconds`, `BrokenReply` if the connection ends earlier."""
        assert self._reply is None, "one request at a time"
        reply = self._loop.create_future()
        if self.closed or self._transport is None:
            reply.set_exception(BrokenReply("the connection is closed"))
            return reply
        self._reply = reply
        # One timer per connection, extended when it fires: one per request would cost more than the request.
        self._due_at = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._due_at:
            self._set_timer(self._due_at)
        self._transport.write(request)
        return reply

    def close(self) -> None:
        """Close the connection at once; a pending reply fails."""
        self._end(BrokenReply("the connection is closed"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(BrokenReply(str(exc or "the connection ended before the reply was complete")))

    def data_received(self, data: bytes) -> None:
        if self._reply is None:
            self._end(BrokenReply("data without a request"))
            return
        self._received = self._received + data if self._received else data
        try:
            self._read()
        except ValueError:
            self._end(BrokenReply("a reply that is not HTTP/1.1 with a length"))

    def _read(self) -> None:
        """Complete the reply if all of it has arrived; raises `ValueError` if it is not a valid reply."""
        head = self._head
        if head is None:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                if len(self._received) > LARGEST_HEAD:
                    raise ValueError
                return
            head = self._head = self._received[: end + 2]
            if not head.startswith(b"HTTP/1.1 ") or not 200 <= int(head[9:12]) < 600:
                raise ValueError
            length = 0 if int(head[9:12]) in NO_BODY else int(_header(head, b"content-length"))
            if not 0 <= length <= LARGEST_REPLY:
                raise ValueError
            self._length = end + 4 + length
        if len(self._received) < self._length:
            return
        if len(self._received) > self._length:
            raise ValueError
        reply, content = self._reply, self._received[len(head) + 2 :]
        self._reply, self._head, self._received = None, None, b""
        if _header(head, b"connection").lower() == b"close":
            self._end(BrokenReply("the connection is closed"))
        if reply is not None and not reply.done():
            location = _header(head, b"location").decode("latin-1") or None
            # Retry-After may also be a date.
            wait = _header(head, b"retry-after")
            seconds = float(wait) if wait.isdigit() and len(wait) < 9 else None
            reply.set_result(Reply(int(head[9:12]), content, seconds, location))

    def _end(self, error: OSError) -> None:
        """Close the connection; a pending reply fails with `error`."""
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            reply.set_exception(error)

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._check_timeout)

    def _check_timeout(self) -> None:
        self._timer = None
        if self._reply is None:
            return
        if self._loop.time() >= self._due_at:
            self._end(TimeoutError("no reply in time"))
        else:
            self._set_timer(self._due_at)


def _header(head: bytes, name: bytes) -> bytes:
    """The value of a header, empty if it is missing; `head` ends with its last line break."""
    start = head.lower().find(b"\r\n" + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    return head[start : head.index(b"\r\n", start)].strip()
