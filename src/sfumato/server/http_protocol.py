"""Wire: HTTP/1.1 as it comes in, held to what our own pages send.

uvicorn's protocol on llhttp, which refuses most of what can be read in two ways. Beyond that: a head has a largest size
and a largest number of fields, the target is a path, and whoever does not finish a request is hung up on.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from sfumato.server.request_guard import HEADERS

MAX_HEAD = 16 * 1024
MAX_FIELDS = 100
PATIENCE_SECONDS = 30.0
"""For a request to come in whole, from its first byte; and for a first byte."""
LOOKS_EVERY_SECONDS = 5.0


class StrictHttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._in_head = False
        self._n_head = 0
        self._status = 400
        self._since: float | None = None
        self._look_again: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look_again = self.loop.call_later(LOOKS_EVERY_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look_again is not None:
            self._look_again.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head and not self.transport.is_closing():
            self._n_head += len(data)
            if self._n_head > MAX_HEAD:
                self._status = 431
                self.send_400_response("Too much in the head of a request.")

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
            raise ValueError("too much in the head of a request")
        if not self.url.startswith(b"/") or self._has_doubtful_length():
            raise ValueError("a request that can be read in two ways")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._since = None

    def send_400_response(self, msg: str) -> None:
        """A refusal of what is no request, with the headers that every reply of ours has."""
        content = [STATUS_LINE[self._status]]
        for name, value in (*HEADERS, (b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")):
            content += [name, b": ", value, b"\r\n"]
        content.append(b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(msg), msg.encode("ascii")))
        self.transport.write(b"".join(content))
        self.transport.close()

    def _has_doubtful_length(self) -> bool:
        """Whether a length is announced in a way that some reader would take for another.

        llhttp finds most of these too, but some of them only after it has handed the head on.
        """
        announced = [value for name, value in self.headers if name == b"transfer-encoding"]
        if not announced:
            return False
        return announced != [b"chunked"] or self.parser.get_http_version() != "1.1"

    def _look(self) -> None:
        """Hang up on who has not finished in time."""
        if self._since is not None and self.loop.time() - self._since > PATIENCE_SECONDS:
            self.transport.close()
            return
        self._look_again = self.loop.call_later(LOOKS_EVERY_SECONDS, self._look)
