"""Serving: loopback only by default, one server per store, and a process that imports no tables."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sfumato_command import sfumato
from site_client import asked_site
from study_server import StudyServer, write_texts_study

from sfumato.server.server import LOOPBACK, bind_socket, open_site, serve_study
from sfumato.study import read_study
from sfumato.tables.errors import BadSetting

HEAVY = ("numpy", "pyarrow", "polars", "scipy", "numba", "torch", "pandas", "llvmlite")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_texts_study(tmp_path_factory.mktemp("texts"), 6)


@pytest.fixture(scope="module")
def server(study: Path) -> Iterator[StudyServer]:
    """One server process for the tests of this file."""
    with StudyServer(study) as running:
        wait_until_it_answers(running)
        yield running


def asked_raw(server: StudyServer, request: bytes, seconds: float = 0.5) -> bytes:
    """What comes back within so long to bytes sent as they are; a server that waits for more of them says nothing."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        connection.sendall(request)
        said = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while chunk := connection.recv(65_536):
                said += chunk
                connection.settimeout(0.5)
    return said


def wait_until_it_answers(server: StudyServer, seconds: float = 30) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        with contextlib.suppress(ConnectionRefusedError):
            assert health(server) == 200
            return
        time.sleep(0.02)
    raise AssertionError("no answer in time")


def n_annotators(server: StudyServer) -> int:
    """The participants in the store."""
    with contextlib.closing(sqlite3.connect(f"file:{server.study}/store/answers.sqlite?mode=ro", uri=True)) as store:
        return int(store.execute("SELECT count(*) FROM annotators").fetchone()[0])


def health(server: StudyServer) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/health")
    status = connection.getresponse().status
    connection.close()
    return status


def test_it_listens_on_the_loopback_alone(server: StudyServer) -> None:
    # Who listens on all addresses listens on this one, too.
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)
    everywhere = bind_socket("0.0.0.0", 0)
    everywhere.listen()
    with everywhere, socket.create_connection(("127.0.0.2", everywhere.getsockname()[1]), timeout=5):
        pass


def test_over_the_wire_it_says_nothing_of_what_runs_it(server: StudyServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/")
    reply = connection.getresponse()
    assert reply.status == 200
    assert reply.getheader("server") is None
    assert reply.getheader("content-security-policy") is not None
    connection.close()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST /join HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /join HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /join HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /join HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"POST /join HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"POST /join HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"POST /join HTTP/1.1\r\n\r\n",
        b"POST /join HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"POST http://evil.example/join HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"POST join HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\0" * 100,
    ],
    ids=range(12),
)
def test_requests_that_are_none_let_nobody_in(server: StudyServer, request_bytes: bytes) -> None:
    said = asked_raw(server, request_bytes)
    assert b" 303 " not in said
    assert said.count(b"HTTP/1.1 ") <= 1
    assert b"Traceback" not in said
    assert health(server) == 200


def test_a_body_in_chunks_beyond_the_limit_is_refused_and_others_are_served(server: StudyServer) -> None:
    token = sfumato("study", "links", server.study, "-n", 1).stdout.strip().rpartition("/")[2]
    chunk = b"7530\r\n" + b" " * 30_000 + b"\r\n"
    head = f"POST /s/{token}/api/state HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    said = asked_raw(server, head + b"Transfer-Encoding: chunked\r\n\r\n" + 4 * chunk + b"0\r\n\r\n", 30)
    assert said.startswith(b"HTTP/1.1 413 "), said[:60]
    assert b"Traceback" not in server.log.read_bytes()


def test_joining_with_a_body_in_chunks_beyond_the_limit_adds_nobody(server: StudyServer) -> None:
    before = n_annotators(server)
    chunk = b"7530\r\n" + b" " * 30_000 + b"\r\n"
    head = b"POST /join HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    said = asked_raw(server, head + 4 * chunk + b"0\r\n\r\n", 30)
    assert said.startswith(b"HTTP/1.1 413 "), said[:60]
    assert n_annotators(server) == before
    assert asked_raw(server, b"POST /join HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n").startswith(
        b"HTTP/1.1 303 "
    )
    assert n_annotators(server) == before + 1


def test_clients_that_leave_or_ask_for_nothing_fill_no_log(server: StudyServer) -> None:
    before = server.log.stat().st_size
    host = b"Host: localhost\r\n"
    half = b"POST /s/x/api/state HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    upgrade = b"GET /health HTTP/1.1\r\n" + host + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    for request_bytes in (half, upgrade, b"nothing\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(request_bytes)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
    assert health(server) == 200
    assert server.log.stat().st_size == before, server.log.read_text()


def test_a_second_server_is_refused_with_the_process_id_of_the_first(server: StudyServer) -> None:
    done = sfumato("serve", server.study, "--port", 0, code=2)
    assert done.stderr.startswith("error[store-in-use] ")
    assert f"process {server.pid}" in done.stderr


def test_a_port_in_use_is_said(server: StudyServer, tmp_path: Path) -> None:
    done = sfumato("serve", server.study, "--port", server.port, "--store", tmp_path / "other.sqlite", code=2)
    assert done.stderr.startswith("error[port-in-use] ")
    assert str(server.port) in done.stderr


def test_an_address_that_was_said_takes_connections() -> None:
    # People open the address as soon as it is printed: requests before the server is up wait in the queue.
    with bind_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname(), timeout=5):
        pass


@pytest.mark.parametrize("port", [-1, 65_536, 10**12])
def test_a_port_that_is_none_is_said(port: int) -> None:
    with pytest.raises(BadSetting):
        bind_socket("127.0.0.1", port)


@pytest.mark.parametrize("host", ["256.1.1.1", "192.0.2.1", "a b", "x" * 300])
def test_an_address_that_is_none_is_said(host: str) -> None:
    with pytest.raises(BadSetting):
        bind_socket(host, 0)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "", "127.1", "2130706433"])
def test_other_machines_are_allowed_only_by_option(study: Path, host: str) -> None:
    from click.testing import CliRunner

    from sfumato.cli.serve import command

    done = CliRunner().invoke(command, [str(study), "--host", host, "--port", "0"])
    assert isinstance(done.exception, BadSetting)
    assert done.exception.code == "not-public"


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    done = sfumato("serve", tmp_path / "nothing", code=2)
    assert done.stderr.startswith("error[")
    assert not (tmp_path / "nothing").exists()


def test_a_store_that_is_let_go_can_be_taken_again(study: Path, tmp_path: Path) -> None:
    store = tmp_path / "answers.sqlite"
    asked = read_study(study)
    with open_site(asked, store), pytest.raises(BadSetting, match=f"process {os.getpid()}"), open_site(asked, store):
        pass
    with serve_study(asked, store) as url:
        parts = urlsplit(url)
        assert parts.hostname in LOOPBACK
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        connection.request("GET", "/health")
        assert json.loads(connection.getresponse().read()) == {"status": "ok"}
        connection.close()


def test_the_store_is_for_its_owner_alone(study: Path, tmp_path: Path) -> None:
    store = tmp_path / "below" / "answers.sqlite"
    with asked_site(study, store) as asked:
        asked.ready()
        modes = {file.name: file.stat().st_mode & 0o777 for file in store.parent.iterdir()}
    assert {"answers.sqlite", "answers.sqlite-wal", "answers.sqlite.lock"} <= set(modes)
    assert set(modes.values()) == {0o600}
    assert store.parent.stat().st_mode & 0o777 == 0o700


def test_serving_loads_no_tables(study: Path, tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from sfumato.cli.serve import command
from sfumato.elicitation.page_messages import SessionStart
from sfumato.elicitation.participant_link import hash_of
from sfumato.study import read_study
from sfumato.server.server import LOOPBACK, open_site, create_server
with open_site(read_study(Path({str(study)!r})), {str(tmp_path / "answers.sqlite")!r}) as site:
    create_server(site, LOOPBACK).config.load()
    link = site.writer.run(lambda running: running.sessions.join())
    assert "Take part" in site.page("landing.html", open=True, closed=None, about=None, pay=None, bonus=None)
    assert link.token in site.study_page(link.token, SessionStart(1, "en"))
    site.writer.run(lambda running: running.sessions.state(hash_of(link.token)))
print(*[name for name in {HEAVY!r} if name in sys.modules])
import numpy
print(*[name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # The second line shows that the first could have held something.
    loaded, control = done.stdout.split("\n")[:2]
    assert loaded == ""
    assert control == "numpy"


def test_it_stops_on_a_signal_and_says_that_all_is_stored(tmp_path: Path) -> None:
    server = StudyServer(write_texts_study(tmp_path, 3))
    server.start()
    wait_until_it_answers(server)
    server.kill(signal.SIGINT)
    text = server.log.read_text()
    assert re.search(r"open http://127\.0\.0\.1:\d+ ", text)
    assert "stopped; every acknowledged answer is stored" in text
    assert "Traceback" not in text
