"""For browser tests: one Chromium per module, a fresh page per test, and small studies served by processes.

- `chromium`: the browser. `visitor(**context_options)`: a page in a context of its own, closed after the test; a page
  that logs an error, or throws one, fails the test unless `forgiving=True`.
- `served(kind, **changes)`: a study of that kind (`browser.write_study` takes the changes) on a server of its own,
  stopped after the test. `shared(kind, **changes)`: the same, but one for all tests that ask for it alike.
- `browser.Person.joins(page, server).begins()`: through consent, instructions and practice to the first trial.
- `browser.rows(server, person.link)`: the stored answers; `person.stored(server, n)` waits until there are n.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from chromium import launched
from playwright.sync_api import Browser, Page
from study_server import StudyServer

from browser import TIMEOUT_SECONDS, write_study

Served = Callable[..., StudyServer]


def answering(server: StudyServer) -> StudyServer:
    """The server once it takes connections: it says its address a moment before."""
    limit = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{server.url}/health"):
                return server
        except urllib.error.URLError:
            assert time.monotonic() < limit, server.log.read_text()
            time.sleep(0.02)


# For a module and not for the run: while Playwright is active its event loop runs in this thread, and tests elsewhere
# that start one of their own would find it taken.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Chromium as installed on this machine; where there is none the tests fail, and not in silence."""
    with launched() as browser:
        yield browser


@pytest.fixture
def visitor(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """A maker of pages, each in a context of its own: another person at another computer."""
    faults: list[str] = []
    with ExitStack() as stack:

        def opened(*, forgiving: bool = False, **options: Any) -> Page:
            context = chromium.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(60_000)
            if not forgiving:
                page.on("pageerror", lambda error: faults.append(f"thrown: {error}"))
                page.on("console", lambda said: said.type == "error" and faults.append(f"console: {said.text}"))
            return page

        yield opened
    assert not faults


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A maker of served studies, each on a server of its own that stops with the test."""
    with ExitStack() as stack:

        def start(kind: str, **changes: Any) -> StudyServer:
            folder = write_study(tmp_path_factory.mktemp(kind) / "study", kind, **changes)
            return answering(stack.enter_context(StudyServer(folder)))

        yield start


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A maker of served studies that stay up for the module; equal studies are shared."""
    servers: dict[str, StudyServer] = {}
    with ExitStack() as stack:

        def find(kind: str, **changes: Any) -> StudyServer:
            wanted = json.dumps([kind, changes], sort_keys=True)
            if wanted not in servers:
                folder = write_study(tmp_path_factory.mktemp(kind) / "study", kind, **changes)
                servers[wanted] = answering(stack.enter_context(StudyServer(folder)))
            return servers[wanted]

        yield find
