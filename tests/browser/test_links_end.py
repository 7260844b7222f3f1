"""A link that ends while answers wait in the browser: its page shows nothing of the study, and hands them in."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from accessibility_checks import TWO_WAYS, look_closely
from playwright.sync_api import Page
from sitting import ANSWERS, sitting_factory
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
    sitting = sitting_factory(1, visitor, served)("choice", server=server)
    page = sitting.page
    sitting.person.begins()
    sitting.answers(1)
    sitting.is_saved()
    page.context.route(ANSWERS, lambda route: route.abort())
    sitting.answers(2)
    page.get_by_text("2 answers not sent yet").wait_for()
    end_all_links(server)
    page.reload()
    page.get_by_role("heading", name="This link has expired").wait_for()
    page.get_by_text("Answers that were not sent yet are being sent now").wait_for()
    assert len(sitting.stored()) == 1
    page.context.unroute(ANSWERS)
    page.reload()
    page.get_by_text("have arrived and are saved").wait_for()
    assert "being sent" not in page.inner_text("body")
    look_closely(page, "link-ended", TWO_WAYS)
    assert len(sitting.stored()) == 3
    assert {row["trial"] for row in sitting.stored()} == sitting.submitted()
    assert not page.locator("img, canvas, .trial, #config").count()
    page.reload()
    page.get_by_role("heading", name="This link has expired").wait_for()
    assert "have arrived" not in page.inner_text("body")


@pytest.mark.slow
def test_a_page_that_is_open_when_its_link_ends_hands_in_what_waits(
    visitor: Callable[..., Page], served: Callable[..., StudyServer]
) -> None:
    server = served("choice", batch_size=4)
    sitting = sitting_factory(2, visitor, served)("choice", server=server)
    sitting.person.begins()
    sitting.fills()
    end_all_links(server)
    sitting.person.submits_by_key()
    sitting.page.get_by_role("heading", name="This link has expired").wait_for()
    sitting.is_saved()
    assert {row["trial"] for row in sitting.stored()} == sitting.submitted()
    assert len(sitting.stored()) == 1
