"""What happens to people at their browsers when the server is killed, forgets their link, or gave their item away.

Every scenario ends in the same audit as those of `test_faults_in_browser.py`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route
from sitting import ANSWERS, SEEDS, Sits, Sitting, sitting_factory
from study_server import StudyServer

WAITING = "not sent yet"
pytestmark = [pytest.mark.parametrize("seed", SEEDS)]


@pytest.fixture
def sits(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> Sits:
    return sitting_factory(seed, visitor, shared)


@pytest.mark.parametrize("when", ["before it stores", "before it replies"])
def test_server_killed_with_an_answer_in_flight(sits: Sits, served: Callable[..., StudyServer], when: str) -> None:
    server = served("tokens", batch_size=4)
    sitting = sits(server=server)
    sitting.fills_a_random_trial()
    sitting.is_saved()
    if when == "before it stores":
        # It takes the request from the line no more.
        os.kill(server.pid, signal.SIGSTOP)
        with sitting.page.expect_request(ANSWERS):
            sitting.person.submits_by_key()
        server.kill()
    else:
        statuses: list[int] = []

        def kill_after_commit(route: Route) -> None:
            statuses.append(route.fetch().status)
            server.kill()
            route.abort("connectionreset")

        sitting.page.route(ANSWERS, kill_after_commit, times=1)
        sitting.person.submits_by_key()
        sitting.until(lambda: statuses)
        assert statuses == [201]
    sitting.page.get_by_text(WAITING).wait_for()
    server.start()
    sitting.finishes()


def test_a_link_that_is_no_longer_known_says_so_and_keeps_the_answers(sits: Sits) -> None:
    """Another store behind the same address, say. When the link works again nothing is lost."""
    sitting = sits()
    sitting.fills_a_random_trial()
    gone = {"status": 404, "json": {"code": "unknown-link", "found": "found", "expected": "", "fix": ""}}
    calls: list[str] = []
    sitting.page.route("**/api/*", lambda route: (calls.append(route.request.url), route.fulfill(**gone)))
    sitting.person.submits_by_key()
    sitting.until(lambda: calls)
    sitting.page.reload()
    sitting.page.get_by_role("heading", name="This link is not valid").wait_for()
    sitting.page.get_by_text(WAITING).wait_for()
    sitting.page.unroute("**/api/*")
    sitting.page.reload()
    sitting.finishes()


def test_a_link_that_goes_in_the_middle_is_noticed_without_a_reload(sits: Sits) -> None:
    sitting = sits()
    sitting.person.begins()
    gone = {"status": 404, "json": {"code": "unknown-link", "found": "found", "expected": "", "fix": ""}}
    sitting.page.route("**/api/*", lambda route: route.fulfill(**gone))
    sitting.answers(1)
    sitting.page.get_by_role("heading", name="This link is not valid").wait_for()
    sitting.page.unroute("**/api/*")
    # Known again: the page goes on by itself.
    sitting.person.trial()
    sitting.finishes()


@pytest.mark.parametrize("taken", [False, True])
def test_a_lease_lost_in_a_long_absence(sits: Sits, served: Callable[..., StudyServer], taken: bool) -> None:
    """Somebody else may have been given the item: then the late answer is kept aside, and the page goes on."""
    server = served("tokens", n_each=1, batch_size=4, answers_per_item=1, lease_minutes=0.01)
    sitting = sits(server=server)
    sitting.person.begins()
    sitting.answers(1)
    sitting.is_saved()
    late = sitting.fills()
    if taken:
        somebody_answers_the_rest(sitting, server)
    else:
        is_lapsed = "select state from trials join annotators on annotators.id = annotator where token_hash = :person"
        other = sitting.page.request.post(server.url + "/join", max_redirects=0).headers["location"]
        sitting.until(
            lambda: (
                sitting.page.request.post(f"{server.url}{other}/api/state", data={}).ok
                and 2 in {row["state"] for row in sitting.rows(is_lapsed)}
            )
        )
    sitting.person.submits_by_key()
    if taken:
        sitting.page.get_by_text("One of your answers was not counted").wait_for()
        assert sitting.goes_on() == "finished"
        assert [(row["trial"], row["code"]) for row in sitting.refused()] == [(late, "given-to-others")]
        assert len(sitting.stored()) == 1
    else:
        sitting.until(lambda: sitting.count("stored") == 2)
        assert late in {row["trial"] for row in sitting.stored()}
    sitting.is_clean()


def somebody_answers_the_rest(sitting: Sitting, server: StudyServer) -> None:
    """Another person, at the API, answers until nothing is left."""
    request = sitting.page.request
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
