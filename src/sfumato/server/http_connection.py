"""Connection: one keep-alive HTTP/1.1 connection of a client, with at most one request under way.

Knows just what our own server says: a status line, headers, and a body of stated length. Anything else, and any end
before the reply is whole, is a `BrokenReply`, after which nothing more is read from that connection.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import msgspec

LARGEST_HEAD = 65_536
LARGEST_REPLY = 1 << 28
NO_BODY = frozenset((204, 304))


class BrokenReply(ConnectionError):
    """A connection that ended, or went wrong, before the reply was whole."""


@dataclass(slots=True)
class Reply:
    """What came back: the status, the body as bytes, and how many attempts it took."""

    status: int
    content: bytes
    retry_after: float | None = None
    location: str | None = None
    attempts: int = 1

    @property
    def body(self) -> Any:
        """The body read as JSON; None where it is none."""
        try:
            return msgspec.json.decode(self.content)
        except msgspec.DecodeError:
            return None


class Connection(asyncio.Protocol):
    """`ask` writes a request and gives the reply to come; `closed` says that no other request may be written."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.closed = False
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        self._due_at = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self._received = b""
        self._head: bytes | None = None
        self._whole_at = 0

    def ask(self, request: bytes, seconds: float) -> asyncio.Future[Reply]:
        """The reply to `request`; `TimeoutError` after `seconds`, `BrokenReply` where the connection ends before."""
        assert self._reply is None, "one request at a time"
        reply = self._loop.create_future()
        if self.closed or self._transport is None:
            reply.set_exception(BrokenReply("the connection is closed"))
            return reply
        self._reply = reply
        # One timer a connection, moved on when it fires: a timer for each request would cost more than the request.
        self._due_at = self._loop.time() + seconds
        if self._watch is None or self._watch.when() > self._due_at:
            self._watch_until(self._due_at)
        self._transport.write(request)
        return reply

    def close(self) -> None:
        """End the connection at once; a reply still awaited is broken."""
        self._end(BrokenReply("the connection is closed"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(BrokenReply(str(exc or "the connection ended before the reply was whole")))

    def data_received(self, data: bytes) -> None:
        if self._reply is None:
            self._end(BrokenReply("something came that nobody asked for"))
            return
        self._received = self._received + data if self._received else data
        try:
            self._read()
        except ValueError:
            self._end(BrokenReply("a reply that is no HTTP/1.1 with a length"))

    def _read(self) -> None:
        """Settle the reply if it is whole; `ValueError` where it is no reply as ours are."""
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
            self._whole_at = end + 4 + length
        if len(self._received) < self._whole_at:
            return
        if len(self._received) > self._whole_at:
            raise ValueError
        reply, content = self._reply, self._received[len(head) + 2 :]
        self._reply, self._head, self._received = None, None, b""
        if _header(head, b"connection").lower() == b"close":
            self._end(BrokenReply("the connection is closed"))
        if reply is not None and not reply.done():
            location = _header(head, b"location").decode("latin-1") or None
            reply.set_result(Reply(int(head[9:12]), content, _seconds(_header(head, b"retry-after")), location))

    def _end(self, error: OSError) -> None:
        """Close, and break the reply that is awaited."""
        self.closed = True
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._transport is not None:
            self._transport.abort()
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            reply.set_exception(error)

    def _watch_until(self, at: float) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._watch = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        """End a connection whose reply is overdue; otherwise look again when one would be."""
        self._watch = None
        if self._reply is None:
            return
        if self._loop.time() >= self._due_at:
            self._end(TimeoutError("no reply in time"))
        else:
            self._watch_until(self._due_at)


def _header(head: bytes, name: bytes) -> bytes:
    """The value of a header, empty where it is not there; `head` ends with its last line break."""
    start = head.lower().find(b"\r\n" + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    return head[start : head.index(b"\r\n", start)].strip()


def _seconds(text: bytes) -> float | None:
    """A Retry-After in seconds; None where it is a date, or nothing."""
    return float(text) if text.isdigit() and len(text) < 9 else None
