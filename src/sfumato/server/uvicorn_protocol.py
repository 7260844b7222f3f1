"""A strict HTTP/1.1 protocol for uvicorn (llhttp), which already refuses most ambiguous requests.

In addition it limits the size and the number of header fields, requires a path as the target, and closes connections
that do not complete a request in time.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from sfumato.server.request_guard import HEADERS

MAX_HEAD = 16 * 1024
MAX_FIELDS = 100
TIMEOUT_SECONDS = 30.0
"""For the first byte, and from the first byte to the complete request."""
CHECK_SECONDS = 5.0


class StrictHttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._in_head = False
        self._n_head = 0
        self._status = 400
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._timer = self.loop.call_later(CHECK_SECONDS, self._check_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head and not self.transport.is_closing():
            self._n_head += len(data)
            if self._n_head > MAX_HEAD:
                self._status = 431
                self.send_400_response("The request headers are too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._n_head = True, 0
        self._since = self.loop.time()

    def on_headers_complete(self) -> None:
        self._in_head = False
        headers = self.headers
        n_bytes = len(self.url) + sum([len(name) + len(value) for name, value in headers])
        if n_bytes > MAX_HEAD or len(headers) > MAX_FIELDS:
            self._status = 431
            raise ValueError("the request headers are too large")
        if not self.url.startswith(b"/") or self._has_ambiguous_length():
            raise ValueError("an ambiguous request")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._since = None

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request, with the security headers of every reply."""
        content = [STATUS_LINE[self._status]]
        for name, value in (*HEADERS, (b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")):
            content += [name, b": ", value, b"\r\n"]
        content.append(b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(msg), msg.encode("ascii")))
        self.transport.write(b"".join(content))
        self.transport.close()

    def _has_ambiguous_length(self) -> bool:
        """Whether the body length could be read in two ways. llhttp detects some of these only after this callback."""
        encodings = [value for name, value in self.headers if name == b"transfer-encoding"]
        return bool(encodings) and (encodings != [b"chunked"] or self.parser.get_http_version() != "1.1")

    def _check_timeout(self) -> None:
        if self._since is not None and self.loop.time() - self._since > TIMEOUT_SECONDS:
            self.transport.close()
            return
        self._timer = self.loop.call_later(CHECK_SECONDS, self._check_timeout)
