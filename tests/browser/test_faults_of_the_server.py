"""What happens to people at their browsers when the server is killed, forgets their link, or gave their item away.

Every scenario ends in the same audit as those of `test_faults_in_browser.py`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from browser_session import ANSWERS, SEEDS, BrowserSession, NewSession, session_factory
from playwright.sync_api import Page, Route
from study_server import StudyServer

WAITING = "not sent yet"
pytestmark = [pytest.mark.parametrize("seed", SEEDS)]


@pytest.fixture
def new_session(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> NewSession:
    return session_factory(seed, visitor, shared)


@pytest.mark.parametrize("when", ["before it stores", "before it replies"])
def test_server_killed_with_an_answer_in_flight(
    new_session: NewSession, served: Callable[..., StudyServer], when: str
) -> None:
    server = served("tokens", batch_size=4)
    session = new_session(server=server)
    session.fills_a_random_trial()
    session.is_saved()
    if when == "before it stores":
        # It takes the request from the line no more.
        os.kill(server.pid, signal.SIGSTOP)
        with session.page.expect_request(ANSWERS):
            session.person.submits_by_key()
        server.kill()
    else:
        statuses: list[int] = []

        def kill_after_commit(route: Route) -> None:
            statuses.append(route.fetch().status)
            server.kill()
            route.abort("connectionreset")

        session.page.route(ANSWERS, kill_after_commit, times=1)
        session.person.submits_by_key()
        session.until(lambda: statuses)
        assert statuses == [201]
    session.page.get_by_text(WAITING).wait_for()
    server.start()
    session.finishes()


def test_a_link_that_is_no_longer_known_says_so_and_keeps_the_answers(new_session: NewSession) -> None:
    """Another store behind the same address, say. When the link works again nothing is lost."""
    session = new_session()
    session.fills_a_random_trial()
    gone = {"status": 404, "json": {"code": "unknown-link", "found": "found", "expected": "", "fix": ""}}
    calls: list[str] = []
    session.page.route("**/api/*", lambda route: (calls.append(route.request.url), route.fulfill(**gone)))
    session.person.submits_by_key()
    session.until(lambda: calls)
    session.page.reload()
    session.page.get_by_role("heading", name="This link is not valid").wait_for()
    session.page.get_by_text(WAITING).wait_for()
    session.page.unroute("**/api/*")
    session.page.reload()
    session.finishes()


def test_a_link_that_goes_in_the_middle_is_noticed_without_a_reload(new_session: NewSession) -> None:
    session = new_session()
    session.person.begins()
    gone = {"status": 404, "json": {"code": "unknown-link", "found": "found", "expected": "", "fix": ""}}
    session.page.route("**/api/*", lambda route: route.fulfill(**gone))
    session.answers(1)
    session.page.get_by_role("heading", name="This link is not valid").wait_for()
    session.page.unroute("**/api/*")
    # Known again: the page goes on by itself.
    session.person.trial()
    session.finishes()


@pytest.mark.parametrize("taken", [False, True])
def test_a_lease_lost_in_a_long_absence(
    new_session: NewSession, served: Callable[..., StudyServer], taken: bool
) -> None:
    """Somebody else may have been given the item: then the late answer is kept aside, and the page goes on."""
    server = served("tokens", n_each=1, batch_size=4, answers_per_item=1, lease_minutes=0.01)
    session = new_session(server=server)
    session.person.begins()
    session.answers(1)
    session.is_saved()
    late = session.fills()
    if taken:
        somebody_answers_the_rest(session, server)
    else:
        is_lapsed = "select state from trials join annotators on annotators.id = annotator where token_hash = :person"
        other = session.page.request.post(server.url + "/join", max_redirects=0).headers["location"]
        session.until(
            lambda: (
                session.page.request.post(f"{server.url}{other}/api/state", data={}).ok
                and 2 in {row["state"] for row in session.rows(is_lapsed)}
            )
        )
    session.person.submits_by_key()
    if taken:
        session.page.get_by_text("One of your answers was not counted").wait_for()
        assert session.goes_on() == "finished"
        assert [(row["trial"], row["code"]) for row in session.refused()] == [(late, "given-to-others")]
        assert len(session.stored()) == 1
    else:
        session.until(lambda: session.count("stored") == 2)
        assert late in {row["trial"] for row in session.stored()}
    session.is_clean()


def somebody_answers_the_rest(session: BrowserSession, server: StudyServer) -> None:
    """Another person, at the API, answers until nothing is left."""
    request = session.page.request
    link = server.url + request.post(server.url + "/join", max_redirects=0).headers["location"]
    for name in ("consent", "instructions"):
        request.post(f"{link}/api/{name}", data={})
    answered = 0
    while (state := request.post(f"{link}/api/state", data={}).json())["stage"] != "finished":
        for trial in state.get("trials", [])[:1]:
            answer = {"tokens": {"cat": 10}, "others": False}
            body = {
                "key": f"other-{answered}",
                "trial": trial["trial"],
                "answer": answer,
                "record": {"elapsed_ms": 900},
            }
            assert request.post(f"{link}/api/answers", data=body).status == 201
            answered += 1
