"""A strict HTTP/1.1 protocol for uvicorn (llhttp), which already refuses most ambiguous requests.

In addition it limits the size and the number of header fields and of pipelined requests, drops trailers, requires a
path as the target, and closes connections that do not send a request, or do not read a reply, in time.
"""

from __future__ import annotations

import asyncio
import math
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr

from sfumato.server.connection_limits import ConnectionTable
from sfumato.server.rate_limit import parsed_address
from sfumato.server.request_guard import HEADERS, MAX_BODY

MAX_HEAD = 16 * 1024
MAX_FIELDS = 100
MAX_CHUNKED = 2 * MAX_BODY
"""Bytes of a request in chunks: the body, the size and the extensions of every chunk, and trailers."""
MAX_PIPELINED = 8
"""Requests that wait behind the one that is being answered. Browsers and proxies send none."""
TIMEOUT_SECONDS = 30.0
"""For the first byte, from the first byte to the complete request, and for `MIN_SENT` bytes of a reply."""
KEEP_ALIVE_SECONDS = 75.0
"""From a reply to the next request: longer than proxies keep idle connections."""
MIN_SENT = 16 * 1024
CHECK_SECONDS = 5.0
REFUSED = {403: "Only the proxy may connect.", 503: "Too many connections. Try again in a moment."}


class StrictHttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, table: ConnectionTable, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._table = table
        self._in_head = False
        self._is_chunked = False
        self._n_bytes: int | None = None
        """Bytes of the request that is being received, if it takes several packets; None between requests."""
        self._n_packet = 0
        self._status = 400
        self._since: float | None = None
        """Since when we wait for the client; None while a request is being answered."""
        self._limit = TIMEOUT_SECONDS
        self._unsent, self._unsent_since = math.inf, 0.0
        """Bytes that the client has not read, and when they last became fewer."""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer = get_remote_addr(transport)
        # A socket for both versions of IP gives IPv4 addresses in their IPv6 form.
        known = parsed_address(peer[0]) if peer else None
        address = str(known or (peer[0] if peer else ""))
        self._status = self._table.admit(self, address)
        if self._status:
            self.transport = transport
            self.send_400_response(REFUSED[self._status])
            return
        self._status = 400
        super().connection_made(transport)
        self.client = (address, peer[1]) if peer else None
        self._await_request(TIMEOUT_SECONDS)
        self._timer = self.loop.call_later(CHECK_SECONDS, self._check_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._table.remove(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection at once, also if a reply is not yet sent."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        n_bytes, self._n_packet = self._n_bytes, len(data)
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The request was answered as if it had not asked for another protocol; `on_headers_complete` says so.
            return
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
            return
        if self._n_bytes is None or self.transport.is_closing():
            return
        self._n_bytes += len(data)
        if self._in_head and n_bytes is not None and self._n_bytes > MAX_HEAD:
            self._status = 431
            self.send_400_response("The request headers are too large.")
        elif self._is_chunked and self._n_bytes > MAX_CHUNKED:
            self._status = 413
            self.send_400_response("The request is too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._n_bytes = True, 0
        self._since, self._limit = self.loop.time(), TIMEOUT_SECONDS

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers, the fields after a body in chunks, come here too.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        headers = self.headers
        n_bytes = len(self.url) + sum([len(name) + len(value) for name, value in headers])
        if n_bytes > MAX_HEAD or len(headers) > MAX_FIELDS:
            self._status = 431
            raise ValueError("the request headers are too large")
        if not self.url.startswith(b"/") or self._has_ambiguous_length():
            raise ValueError("an ambiguous request")
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many requests before the first reply")
        super().on_headers_complete()
        self._in_head = False
        if self.parser.should_upgrade():
            # What follows could be read as the other protocol, or as another request.
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        # Here, because the packet that ends a body can hold the next request too, which would start a new count.
        if self._is_chunked and (self._n_bytes or 0) + self._n_packet > MAX_CHUNKED:
            self._status = 413
            raise ValueError("the request is too large")
        super().on_message_complete()
        self._n_bytes = self._since = None
        if self.cycle.response_complete:
            self._await_request(KEEP_ALIVE_SECONDS)
        else:
            self._table.serve(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.pipeline and self._n_bytes is None:
            self._await_request(KEEP_ALIVE_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unsent = math.inf

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request, with the security headers of every reply; a reply that has begun just ends."""
        if self._in_head or self.cycle is None or not self.cycle.response_started:
            content = [STATUS_LINE[self._status]]
            plain = ((b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"))
            for name, value in (*HEADERS, *plain):
                content += [name, b": ", value, b"\r\n"]
            content.append(b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(msg), msg.encode("ascii")))
            self.transport.write(b"".join(content))
        self.transport.close()

    def _has_ambiguous_length(self) -> bool:
        """Whether the body length could be read in two ways. llhttp detects some of these only after this callback."""
        encodings = [value for name, value in self.headers if name == b"transfer-encoding"]
        self._is_chunked = bool(encodings)
        return self._is_chunked and (encodings != [b"chunked"] or self.parser.get_http_version() != "1.1")

    def _await_request(self, limit: float) -> None:
        self._since, self._limit = self.loop.time(), limit
        self._table.wait(self)

    def _check_timeout(self) -> None:
        """Close a connection whose client does not send or read; a closed one ends only when its buffer is sent."""
        now = self.loop.time()
        if self.flow.write_paused or self.transport.is_closing():
            unsent = self.transport.get_write_buffer_size()
            if unsent <= self._unsent - MIN_SENT:
                self._unsent, self._unsent_since = unsent, now
            elif now - self._unsent_since > TIMEOUT_SECONDS:
                self.transport.abort()
                return
        elif self._since is not None and now - self._since > self._limit:
            self.transport.close()
        self._timer = self.loop.call_later(CHECK_SECONDS, self._check_timeout)
