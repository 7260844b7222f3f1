"""S32, S37: how many connections there are, whose they are, and when they end."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import uvicorn

from sfumato.server import uvicorn_protocol
from sfumato.server.connection_limits import NETWORK_SHARE, ConnectionTable, connections_for
from sfumato.server.server import bind_socket
from sfumato.server.uvicorn_protocol import StrictHttpProtocol

ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
BIG = 16 * 1024 * 1024
"""More than the buffers of the kernel take."""


class Held:
    """A connection in a table."""

    is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


async def short(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def too_large(scope: Any, receive: Any, send: Any) -> None:
    """Replies before the body is read."""
    await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


async def one_big_reply(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % BIG)]})
    await send({"type": "http.response.body", "body": bytes(BIG)})


async def stream_without_end(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": bytes(65_536), "more_body": True})
        # Without a turn of the loop nobody would be told that the client has gone.
        await asyncio.sleep(0)
        if (await asyncio.wait_for(receive(), 60))["type"] == "http.disconnect":
            return


@contextlib.contextmanager
def listened(app: Any, table: ConnectionTable | None = None, host: str = "127.0.0.1") -> Iterator[tuple[int, Any]]:
    """An application on a socket; yields the port and the table of connections."""
    table = ConnectionTable() if table is None else table
    config = uvicorn.Config(
        app,
        http=partial(StrictHttpProtocol, table=table),  # type: ignore[arg-type]
        lifespan="off",
        log_level="critical",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with contextlib.closing(bind_socket(host, 0)) as listener:
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield listener.getsockname()[1], table
        finally:
            server.should_exit = True
            thread.join()


def connected(port: int, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0))


def asked(connection: socket.socket) -> bytes:
    """What a connection gets for a request; empty if it was closed."""
    received = b""
    with contextlib.suppress(ConnectionError):
        connection.sendall(ASK)
        while not received.endswith(b"ok") and (part := connection.recv(65_536)):
            received += part
    return received


def until(condition: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ends_at, "not within a minute"
        time.sleep(0.01)


# --- how many ---


def test_a_table_by_hand() -> None:
    table = ConnectionTable(most=8)
    busy, idle = [Held() for _ in range(4)], [Held() for _ in range(4)]
    for number, each in enumerate([*busy, *idle]):
        assert table.admit(each, f"192.0.2.{number}") == 0
    for each in busy:
        table.serve(each)
    # The one that has waited longest makes room.
    assert table.admit(Held(), "192.0.2.100") == 0
    assert [each.is_aborted for each in (*busy, *idle)] == [False] * 4 + [True] + [False] * 3
    # After its reply a connection waits again, behind the others.
    table.wait(busy[0])
    for _ in range(4):
        newest = Held()
        assert table.admit(newest, "192.0.2.101") in (0, 503)
        table.serve(newest)
    assert len(table) == 8
    assert not any(each.is_aborted for each in busy[1:])


def test_a_connection_is_refused_if_all_are_at_work() -> None:
    table = ConnectionTable(most=8)
    for number in range(8):
        each = Held()
        assert table.admit(each, f"192.0.2.{number}") == 0
        table.serve(each)
    assert table.admit(Held(), "192.0.2.9") == 503


@pytest.mark.parametrize(
    "addresses",
    [
        ["192.0.2.1"] * 8,
        [f"2001:db8:0:1::{number:x}" for number in range(8)],
        ["192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201"] * 2,
    ],
    ids=["IPv4", "IPv6", "IPv4 in IPv6"],
)
def test_one_network_has_a_share(addresses: list[str]) -> None:
    table = ConnectionTable(most=4 * NETWORK_SHARE)
    held = [Held() for _ in addresses]
    for each, address in zip(held, addresses, strict=True):
        assert table.admit(each, address) == 0
    assert len(table) == 4
    assert [each.is_aborted for each in held] == [True] * (len(held) - 4) + [False] * 4
    for each in held[-4:]:
        table.serve(each)
    assert table.admit(Held(), addresses[0]) == 503
    for other in ("192.0.2.2", "2001:db8:0:2::1"):
        assert table.admit(Held(), other) == 0


def test_ended_connections_leave_nothing() -> None:
    table = ConnectionTable(most=100)
    for number in range(1000):
        each = Held()
        table.admit(each, f"2001:db8:{number:x}::1")
        table.remove(each)
        table.remove(each)
        table.wait(each)
    assert [len(part) for part in (table._networks, table._members, table._waiting)] == [0, 0, 0]


def test_descriptors_are_left_for_the_store() -> None:
    assert connections_for(300) == 200
    assert connections_for(1024) == 924
    assert connections_for(10**6) == 4096
    assert connections_for(64) == 32


def test_the_soft_limit_of_files_is_raised() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    code = """
import resource
from sfumato.server.connection_limits import raise_file_limit
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
raise_file_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == hard


def test_idle_connections_shut_nobody_out() -> None:
    with listened(short, ConnectionTable(most=20)) as (port, table), contextlib.ExitStack() as stack:
        kept = stack.enter_context(connected(port))
        assert asked(kept).startswith(b"HTTP/1.1 200 ")
        for _ in range(60):
            stack.enter_context(connected(port))
        for _ in range(5):
            with connected(port) as connection:
                assert asked(connection).startswith(b"HTTP/1.1 200 ")
        assert len(table) <= 20
        # The first made room: it had waited longest.
        assert asked(kept) == b""


def test_half_requests_shut_nobody_out() -> None:
    with listened(short, ConnectionTable(most=20)) as (port, _), contextlib.ExitStack() as stack:
        for begun in (b"GET / HT", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{") * 30:
            stack.enter_context(connected(port)).sendall(begun)
        for _ in range(5):
            with connected(port) as connection:
                assert asked(connection).startswith(b"HTTP/1.1 200 ")


# --- whose ---


def test_only_the_proxy_may_connect() -> None:
    with listened(short, ConnectionTable(["127.0.0.1", "192.0.2.0/24"]), "0.0.0.0") as (port, _):
        with connected(port) as proxy:
            assert asked(proxy).startswith(b"HTTP/1.1 200 ")
        with connected(port, "127.0.0.2") as other:
            received = other.recv(65_536)
            assert received.startswith(b"HTTP/1.1 403 ")
            assert b"nosniff" in received


def test_a_proxy_is_known_on_a_socket_for_both_versions() -> None:
    table = ConnectionTable(["127.0.0.1"])
    assert table.admit(Held(), "::ffff:127.0.0.1") == 0
    assert table.admit(Held(), "::1") == 403
    assert table.admit(Held(), "no address") == 403


# --- when they end ---


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn_protocol, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(uvicorn_protocol, "KEEP_ALIVE_SECONDS", 0.3)
    monkeypatch.setattr(uvicorn_protocol, "CHECK_SECONDS", 0.05)


@pytest.mark.parametrize("after", [b"", b"\r\n", b"\r\n\r\n\r\n"], ids=["nothing", "a blank line", "blank lines"])
def test_between_two_requests_there_is_a_limit(impatient: None, after: bytes) -> None:
    with listened(short) as (port, table), connected(port) as connection:
        assert asked(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(after)
        assert connection.recv(10) == b""
        until(lambda: len(table) == 0)


def test_after_a_reply_to_half_a_request_there_is_a_limit(impatient: None) -> None:
    with listened(too_large) as (port, table), connected(port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n1")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
        connection.sendall(b"234")
        assert connection.recv(10) == b""
        until(lambda: len(table) == 0)


@pytest.mark.parametrize("app", [one_big_reply, stream_without_end])
def test_who_does_not_read_is_hung_up_on(impatient: None, app: Any) -> None:
    with listened(app) as (port, table), connected(port) as connection:
        connection.sendall(ASK)
        until(lambda: len(table) == 1)
        # Not read: the buffers fill, and nothing more can be sent.
        until(lambda: len(table) == 0)


def test_who_reads_slowly_gets_everything(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn_protocol, "TIMEOUT_SECONDS", 10.0)
    with listened(one_big_reply) as (port, _), connected(port) as connection:
        connection.sendall(ASK)
        n_bytes = 0
        while n_bytes < BIG and (part := connection.recv(1_000_000)):
            n_bytes += len(part)
            time.sleep(0.01)
    assert n_bytes >= BIG
