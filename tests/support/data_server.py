"""A local HTTP server for data sets, with configurable faults."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Fault:
    """The fault of a file. `cut_at` lists after how many bytes the connections of the next requests break; later
    requests succeed."""

    cut_at: list[int] = field(default_factory=list)
    status: int = 0
    points_to: str = ""
    endless: bool = False
    ignores_ranges: bool = False
    waits_for: threading.Event | None = None
    """The reply pauses halfway until this is set."""


@dataclass
class DataServer:
    """The files by path, the requests and the faults."""

    files: dict[str, bytes]
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Path and range of every request, in order."""
    faults: dict[str, Fault] = field(default_factory=dict)
    halfway: threading.Event = field(default_factory=threading.Event)
    address: str = ""

    @contextmanager
    def open(self) -> Iterator[DataServer]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _handler(served: DataServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.close_connection = True
            wanted = self.headers.get("Range", "")
            served.asked.append((self.path, wanted))
            fault = served.faults.get(self.path, Fault())
            if fault.points_to:
                return self._only(302, Location=fault.points_to)
            if fault.status or self.path not in served.files:
                return self._only(fault.status or 404)
            data = served.files[self.path]
            if fault.endless:
                return self._endless()
            start = 0 if fault.ignores_ranges or not wanted else int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                return self._only(416)
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.end_headers()
            return self._send(data, start, fault)

        def _send(self, data: bytes, start: int, fault: Fault) -> None:
            if fault.waits_for is not None:
                half = max(start, len(data) // 2)
                self._write(data[start:half])
                served.halfway.set()
                fault.waits_for.wait(30)
                start = half
            stop = fault.cut_at.pop(0) if fault.cut_at else len(data)
            self._write(data[start:stop])

        def _write(self, data: bytes) -> None:
            try:
                self.wfile.write(data)
                self.wfile.flush()
            except OSError:
                return

        def _endless(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(bytes(100_000))
            except OSError:
                return

        def _only(self, status: int, **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler
