"""S33, S32: bytes on a socket that two readers could read in two ways are no request, and nothing comes of them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from picture_study import write_picture_study
from site_client import AskedSite, asked_site
from starlette.routing import Mount

from sfumato.server import uvicorn_protocol
from sfumato.server.app import routes
from sfumato.server.server import LOOPBACK, bind_socket, create_server
from sfumato.server.uvicorn_protocol import MAX_PIPELINED

HOST = b"Host: localhost\r\n"
JOIN = b"POST /join HTTP/1.1\r\n"
HIDDEN = b"POST /join HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
NO_REQUESTS = {
    "length and chunks": JOIN + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks and length": JOIN + HOST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + HIDDEN,
    "two lengths": JOIN + HOST + b"Content-Length: 0\r\nContent-Length: 60\r\n\r\n" + HIDDEN,
    "the same length twice": JOIN + HOST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
    "a list of lengths": JOIN + HOST + b"Content-Length: 1, 1\r\n\r\na",
    "a length with a sign": JOIN + HOST + b"Content-Length: +1\r\n\r\na",
    "a length in hex": JOIN + HOST + b"Content-Length: 0x1\r\n\r\na",
    "a length beyond all": JOIN + HOST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "a folded header": JOIN + HOST + b"X-A: b\r\n c\r\n\r\n",
    "folded chunks": JOIN + HOST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "line feeds alone": b"POST /join HTTP/1.1\nHost: localhost\n\n",
    "a line feed in the head": b"POST /join HTTP/1.1\r\nHost: localhost\nX-A: b\r\n\r\n",
    "a carriage return in the head": b"POST /join HTTP/1.1\r\nHost: localhost\rX-A: b\r\n\r\n",
    "an address with a scheme": b"POST http://localhost/join HTTP/1.1\r\n" + HOST + b"\r\n",
    "an address of another": b"POST http://evil.example/join HTTP/1.1\r\n" + HOST + b"\r\n",
    "an address without a path": b"POST localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "a path without its slash": b"POST join HTTP/1.1\r\n" + HOST + b"\r\n",
    "a blank before the colon": b"POST /join HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "no host": JOIN + b"\r\n",
    "two hosts": JOIN + HOST + HOST + b"\r\n",
    "an empty host": JOIN + b"Host:\r\n\r\n",
    "another host": JOIN + b"Host: evil.example\r\n\r\n",
    "chunks twice": JOIN + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "chunks in a list": JOIN + HOST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunks with a vertical tab": JOIN + HOST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "nearly chunks": JOIN + HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP 1.0": b"POST /join HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a version to come": b"POST /join HTTP/1.9\r\n" + HOST + b"\r\n",
    "no version": b"POST /join\r\n\r\n",
    "HTTP 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a zero byte in a header": JOIN + HOST + b"X-A: a\0b\r\n\r\n",
    "a path beyond ASCII": b"POST /join\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}
"""Each begins, or hides, a request that would let somebody in."""
BROKEN_CHUNKS = {
    "a line feed in an extension": b"0;a=b\nPOST /join HTTP/1.1\r\n\r\n\r\n",
    "line feeds alone": b"0\n\n" + HIDDEN,
    "a negative size": b"-1\r\n\r\n",
    "no size": b"\r\n\r\n",
}
CHUNKED = (
    b"POST /s/x/api/state HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)
ENDLESS = {
    "trailer fields": b"2\r\n{}\r\n0\r\n" + b"X: a\r\n" * 100_000 + b"\r\n",
    "a trailer field": b"2\r\n{}\r\n0\r\nX-A: " + b"a" * 600_000 + b"\r\n\r\n",
    "the name of a trailer field": b"2\r\n{}\r\n0\r\n" + b"a" * 600_000 + b": b\r\n\r\n",
    "a chunk extension": b"2;a=" + b"b" * 600_000 + b"\r\n{}\r\n0\r\n\r\n",
    "chunk extensions": b"1;abcdefghijklmnopqrstuvw\r\n \r\n" * 20_000 + b"2\r\n{}\r\n0\r\n\r\n",
    "chunks of one byte": b"1\r\n \r\n" * 60_000 + b"2\r\n{}\r\n0\r\n\r\n",
    "zeros before a size": b"0" * 600_000 + b"2\r\n{}\r\n0\r\n\r\n",
}
"""600 kB and more around bodies that are within the limit."""
TOO_MUCH = {
    "a long field": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: " + b"a" * 17_000 + b"\r\n\r\n",
    "101 fields": b"GET / HTTP/1.1\r\n" + HOST + b"".join(b"X-%d: a\r\n" % i for i in range(100)) + b"\r\n",
    "a long address": b"GET /" + b"a" * 17_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a long query": b"GET /?" + b"a" * 17_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path_factory.mktemp("pets"))) as opened:
        yield opened


@contextlib.contextmanager
def listened(asked: AskedSite, protocol: type | None = None, app: Any = None) -> Iterator[int]:
    """The study on a socket, optionally with another protocol or another application; yields the port."""
    with contextlib.closing(bind_socket("127.0.0.1", 0)) as listener:
        server = create_server(asked.site, LOOPBACK)
        server.config.app = app or server.config.app
        if protocol is not None:
            server = uvicorn.Server(
                uvicorn.Config(server.config.app, http=protocol, lifespan="off", log_level="critical")
            )
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def port(asked: AskedSite) -> Iterator[int]:
    with listened(asked) as number:
        yield number


def said(port: int, request: bytes, *, is_over: bool = True) -> bytes:
    """The reply until the server closes the connection; a client that keeps it open is cut off. With `is_over`, the
    client says that it sends no more."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(request)
            if is_over:
                connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while chunk := connection.recv(65_536):
                received += chunk
                connection.settimeout(2)
    return received


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_what_can_be_read_in_two_ways_is_no_request(asked: AskedSite, port: int, name: str) -> None:
    before = asked.rows()
    reply = said(port, NO_REQUESTS[name])
    assert reply.startswith(b"HTTP/1.1 400 "), reply[:200]
    # One reply, to one request: nothing hidden behind it was taken for another.
    assert reply.count(b"HTTP/1.1 ") == 1
    head = reply.partition(b"\r\n\r\n")[0].lower()
    assert b"x-content-type-options: nosniff" in head
    assert b"default-src 'none'" in head
    assert asked.rows() == before


@pytest.mark.parametrize("name", BROKEN_CHUNKS)
def test_broken_chunks_hide_nothing(asked: AskedSite, port: int, name: str) -> None:
    before = asked.rows()
    head = b"POST /s/x/api/state HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
    reply = said(port, head + b"Transfer-Encoding: chunked\r\n\r\n" + BROKEN_CHUNKS[name])
    assert b" 303 " not in reply
    assert reply.count(b"HTTP/1.1 ") == 1
    assert asked.rows() == before


@pytest.mark.parametrize("name", ENDLESS)
def test_what_surrounds_a_body_has_a_limit(port: int, name: str) -> None:
    reply = said(port, CHUNKED + ENDLESS[name], is_over=False)
    assert reply == b"" or reply.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 ")), reply[:100]


def test_trailers_are_no_headers(asked: AskedSite) -> None:
    async def shows_headers(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        names = b" ".join(name for name, _ in scope["headers"])
        length = (b"content-length", str(len(names)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": names})

    trailers = b"Host: evil.example\r\nX-Forwarded-For: 127.0.0.1\r\nCookie: a=b\r\nExpect: 100-continue\r\n"
    whole = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + b"2\r\n{}\r\n0\r\n" + trailers + b"\r\n"
    with listened(asked, app=shows_headers) as port:
        reply = said(port, whole)
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert reply.endswith(b"\r\n\r\nhost content-type transfer-encoding connection")


def requests_of_all_routes() -> list[tuple[str, str]]:
    """Every method and path of the application; parts of a path that name something are those of nobody."""
    found = []
    for route in routes():
        methods = {"GET"} if isinstance(route, Mount) else (route.methods or set()) - {"HEAD"}
        found += [(method, re.sub(r"\{\w+:\w+\}", "x", route.path)) for method in sorted(methods)]
    return found


def chunked(method: str, path: str, rest: bytes, *fields: bytes) -> bytes:
    head = [f"{method} {path} HTTP/1.1".encode(), b"Host: localhost", b"Content-Type: application/json", *fields]
    return b"\r\n".join([*head, b"Transfer-Encoding: chunked", b"", b""]) + rest


def status_of(reply: bytes) -> bytes:
    assert reply.count(b"HTTP/1.1 ") == 1, reply[:300]
    return reply.split(b" ", 2)[1]


TRAILERS = b"Host: evil.example\r\nCookie: a=b\r\nX-Forwarded-For: 127.0.0.1\r\nOrigin: null\r\n"


@pytest.mark.parametrize(("method", "path"), requests_of_all_routes())
def test_trailers_change_the_reply_of_no_route(asked: AskedSite, port: int, method: str, path: str) -> None:
    """Schemathesis cannot send trailers."""
    replies = [
        said(port, chunked(method, path, b"2\r\n{}\r\n0\r\n" + trailers + b"\r\n", b"Connection: close"), is_over=False)
        for trailers in (b"", TRAILERS)
    ]
    before, after = map(status_of, replies)
    assert before == after
    assert int(after) < 500
    assert b"evil.example" not in replies[1]


@pytest.mark.parametrize("name", ["trailer fields", "a chunk extension", "chunks of one byte"])
def test_no_route_reads_what_surrounds_a_body_without_a_limit(asked: AskedSite, port: int, name: str) -> None:
    before = asked.stored("annotators")
    # POST /join needs no body: it adds a participant as soon as its head is there, so it would count.
    for method, path in [each for each in requests_of_all_routes() if each[1] != "/join"]:
        reply = said(port, chunked(method, path, ENDLESS[name]) + HIDDEN, is_over=False)
        # A route that reads no body may have replied before the limit; nothing behind it is another request.
        assert reply == b"" or int(status_of(reply)) < 500, (path, reply[:300])
    assert asked.stored("annotators") == before


def test_few_requests_wait_for_the_reply_before(port: int) -> None:
    one = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
    last = b"GET /health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
    # As many as may wait are all answered, in one packet.
    assert said(port, MAX_PIPELINED * one + last, is_over=False).count(b"HTTP/1.1 200 ") == MAX_PIPELINED + 1
    assert said(port, 300 * one + last, is_over=False).count(b"HTTP/1.1 200 ") <= MAX_PIPELINED + 1


def test_a_request_for_another_protocol_is_the_last_of_its_connection(asked: AskedSite, port: int) -> None:
    before = asked.rows()
    upgrade = b"GET /health HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    reply = said(port, upgrade + HIDDEN, is_over=False)
    assert reply.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in reply.lower()
    assert asked.rows() == before


def test_a_refusal_after_the_reply_is_not_sent(asked: AskedSite, port: int) -> None:
    """A proxy would take it for the reply to the next request of somebody else."""
    reply = said(port, CHUNKED + b"11170\r\n" + b" " * 70_000 + b"\r\nno size\r\n\r\n", is_over=False)
    assert reply.count(b"HTTP/1.1 ") <= 1


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_head_is_at_most_16_kb_and_100_fields(port: int, name: str) -> None:
    assert said(port, TOO_MUCH[name]).startswith(b"HTTP/1.1 431 ")


def test_what_is_within_the_limits_is_answered(port: int) -> None:
    fields = b"".join(b"X-%d: a\r\n" % i for i in range(97))
    whole = b"GET / HTTP/1.1\r\n" + HOST + b"X-A: " + b"a" * 14_000 + b"\r\n" + fields + b"Connection: close\r\n\r\n"
    assert said(port, whole, is_over=False).startswith(b"HTTP/1.1 200 ")


def test_a_head_in_many_pieces_has_the_same_limit(port: int) -> None:
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + HOST + b"X-A: ")
        with contextlib.suppress(ConnectionError):
            for _ in range(1000):
                connection.sendall(b"a" * 1000)
        with contextlib.suppress(ConnectionError):
            received = connection.recv(65_536)
    assert received == b"" or received.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "begun", [b"", b"GET / HT", b"POST /s/x/api/state HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"]
)
def test_who_does_not_finish_is_hung_up_on(asked: AskedSite, monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(uvicorn_protocol, "TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(uvicorn_protocol, "CHECK_SECONDS", 0.05)
    with listened(asked) as port, socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(begun)
        # Ends instead of timing out.
        assert b"200 OK" not in connection.recv(65_536)


def test_no_route_holds_a_connection_for_a_body_that_does_not_come(
    asked: AskedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A route that reads no body replies at once; then the connection ends too, because the body is still to come."""
    monkeypatch.setattr(uvicorn_protocol, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(uvicorn_protocol, "KEEP_ALIVE_SECONDS", 0.3)
    monkeypatch.setattr(uvicorn_protocol, "CHECK_SECONDS", 0.05)
    with listened(asked) as port, contextlib.ExitStack() as stack:
        held = []
        for method, path in requests_of_all_routes():
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            connection.sendall(chunked(method, path, b"2\r\n{"))
            held.append(connection)
        for connection in held:
            with contextlib.suppress(ConnectionError):
                # Ends instead of timing out.
                while connection.recv(65_536):
                    pass


def test_no_protocol_but_http_is_spoken(port: int) -> None:
    asks = b"GET /health HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"
    reply = said(port, asks + b"Sec-WebSocket-Version: 13\r\n\r\n")
    assert b" 101 " not in reply


def test_a_protocol_without_these_checks_is_found_out(asked: AskedSite, tmp_path: Path) -> None:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    with listened(asked, HttpToolsProtocol) as port:
        doubtful = ("an address with a scheme", "chunks in HTTP 1.0", "a star")
        assert [name for name in doubtful if said(port, NO_REQUESTS[name]).startswith(b"HTTP/1.1 400 ")] == []
        assert not any(
            said(port, TOO_MUCH[name]).startswith(b"HTTP/1.1 431 ") for name in ("a long field", "101 fields")
        )
        endless = chunked("GET", "/health", ENDLESS["trailer fields"]) + HIDDEN
        assert said(port, endless, is_over=False).count(b"HTTP/1.1 ") == 2
