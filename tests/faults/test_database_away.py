"""PostgreSQL is not available: pages reply 503 with Retry-After, and a server that cannot start prints one error."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_cluster import Cluster, cluster
from study_server import StudyServer, write_texts_study

from sfumato.server.browser_client import BrowserClient


@pytest.fixture(scope="module")
def stoppable() -> Iterator[Cluster]:
    """A separate PostgreSQL cluster, because this module stops it."""
    with cluster() as running:
        yield running


def test_pages_that_need_the_store_reply_503(tmp_path: Path, stoppable: Cluster) -> None:
    with StudyServer(write_texts_study(tmp_path / "study", 10), store=stoppable.new_database()) as server:
        token, trial = asyncio.run(_join(server.url))
        stoppable.stop("immediate")
        try:
            said = {
                path: _reply(server.port, method, path)
                for method, path in (
                    ("GET", "/health"),
                    ("GET", f"/s/{token}"),
                    ("GET", f"/s/{token}/pictures/{trial}/0"),
                    ("POST", "/join"),
                    ("POST", f"/s/{token}/api/state"),
                )
            }
        finally:
            stoppable.start()
        assert said == dict.fromkeys(said, (503, "1"))


def test_a_server_without_its_store_prints_an_error(tmp_path: Path) -> None:
    server = StudyServer(write_texts_study(tmp_path / "study", 10), store="postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(RuntimeError, match="error"):
        server.start()
    said = server.log.read_text()
    assert "Traceback" not in said
    assert "error[bad-store]" in said


async def _join(url: str) -> tuple[str, str]:
    """The token and the first trial of a new participant."""
    async with BrowserClient(url, deadline=30) as visitor:
        token = await visitor.join()
        state = await visitor.step("instructions")
        return token, state["trials"][0]["trial"]


def _reply(port: int, method: str, path: str) -> tuple[int, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        body = b"{}" if method == "POST" else None
        connection.request(method, path, body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        reply.read()
        return reply.status, reply.headers.get("Retry-After")
    finally:
        connection.close()
