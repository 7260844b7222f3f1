"""A link that ends while answers wait in the browser: its page shows nothing of the study, and hands them in."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from accessibility_checks import TWO_WAYS, look_closely
from browser_session import ANSWERS, session_factory
from playwright.sync_api import Page
from study_server import StudyServer


def end_all_links(server: StudyServer) -> None:
    """Everybody was last there more than a month ago."""
    server.kill(signal.SIGINT)
    with closing(sqlite3.connect(server.study / "store" / "answers.sqlite")) as store, store:
        store.execute("UPDATE annotators SET seen_at = seen_at - 31 * 86400000")
    server.start()


def test_answers_that_wait_are_handed_in_though_the_link_has_ended(
    visitor: Callable[..., Page], served: Callable[..., StudyServer]
) -> None:
    server = served("choice", batch_size=4)
    session = session_factory(1, visitor, served)("choice", server=server)
    page = session.page
    session.person.begins()
    session.answers(1)
    session.is_saved()
    page.context.route(ANSWERS, lambda route: route.abort())
    session.answers(2)
    page.get_by_text("2 answers not sent yet").wait_for()
    end_all_links(server)
    page.reload()
    page.get_by_role("heading", name="This link has expired").wait_for()
    page.get_by_text("Answers that were not sent yet are being sent now").wait_for()
    assert len(session.stored()) == 1
    page.context.unroute(ANSWERS)
    page.reload()
    page.get_by_text("have arrived and are saved").wait_for()
    assert "being sent" not in page.inner_text("body")
    look_closely(page, "link-ended", TWO_WAYS)
    assert len(session.stored()) == 3
    assert {row["trial"] for row in session.stored()} == session.submitted()
    assert not page.locator("img, canvas, .trial, #config").count()
    page.reload()
    page.get_by_role("heading", name="This link has expired").wait_for()
    assert "have arrived" not in page.inner_text("body")


@pytest.mark.slow
def test_a_page_that_is_open_when_its_link_ends_hands_in_what_waits(
    visitor: Callable[..., Page], served: Callable[..., StudyServer]
) -> None:
    server = served("choice", batch_size=4)
    session = session_factory(2, visitor, served)("choice", server=server)
    session.person.begins()
    session.fills()
    end_all_links(server)
    session.person.submits_by_key()
    session.page.get_by_role("heading", name="This link has expired").wait_for()
    session.is_saved()
    assert {row["trial"] for row in session.stored()} == session.submitted()
    assert len(session.stored()) == 1
