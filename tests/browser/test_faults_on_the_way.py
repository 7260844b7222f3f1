"""What happens between a browser and the server: no connection, a slow one, proxies, pages that go meanwhile.

Every scenario happens at a random trial and ends in the same audit as those of `test_faults_in_browser.py`. The last
test puts in an outbox that stops after the first error, and sees that the audit finds what it loses.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, Route
from sitting import ANSWERS, KINDS, SEEDS, Sits, Sitting, sitting_factory
from study_server import StudyServer

pytestmark = [pytest.mark.parametrize("seed", SEEDS)]
of_each_kind = pytest.mark.parametrize("kind", KINDS)
QUEUE_THAT_STOPS = Path(__file__).parent / "queue_that_stops.js"
WAITING = "not sent yet"
SLOW_3G = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
"""Milliseconds, bytes per second."""


@pytest.fixture
def sits(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> Sits:
    return sitting_factory(seed, visitor, shared)


# --- a reply that takes its time ---


@of_each_kind
def test_not_saved_before_the_server_says_so(sits: Sits, kind: str) -> None:
    """The server has the answer already, its reply is held back: the page must not know, and gives no code."""
    sitting = sits(kind)
    sitting.person.begins()
    sitting.answers(sitting.wanted - 1)
    sitting.is_saved()
    sitting.fills()
    held: list[Callable[[], None]] = []

    def hold(route: Route) -> None:
        reply = route.fetch()
        held.append(lambda: route.fulfill(response=reply))

    sitting.page.route(ANSWERS, hold)
    sitting.person.submits_by_key()
    sitting.until(lambda: held)
    assert len(sitting.stored()) == sitting.wanted
    assert sitting.page.locator("#saved").inner_text() == "Saving…"
    assert sitting.page.locator("#code").count() == 0
    held[0]()
    sitting.finishes()


def test_a_reply_that_stalls_for_30_seconds_and_then_comes(sits: Sits) -> None:
    """The page gives up on the try, not on the answer; what the first try did is found out by the second."""
    sitting = sits(joining=False)
    sitting.page.clock.install()
    sitting.joins()
    sitting.fills_a_random_trial()
    held: list[Callable[[], None]] = []

    def hold(route: Route) -> None:
        reply = route.fetch()
        held.append(lambda: route.fulfill(response=reply))

    sitting.page.route(ANSWERS, hold)
    sitting.person.submits_by_key()
    sitting.until(lambda: held)
    sitting.page.clock.fast_forward(31_000)
    sitting.page.get_by_text(WAITING).wait_for()
    sitting.page.unroute(ANSWERS)
    with suppress(Error):
        # Nobody waits for it any more.
        held[0]()
    sitting.page.clock.fast_forward(1_000)
    sitting.finishes()


def test_a_slow_network(sits: Sits) -> None:
    sitting = sits()
    sitting.person.begins()
    network = sitting.page.context.new_cdp_session(sitting.page)
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", SLOW_3G)
    sitting.finishes()


# --- no connection ---


@of_each_kind
def test_offline_before_submit(sits: Sits, kind: str) -> None:
    """The person can go on with what is loaded; all of it is sent when the connection is back."""
    sitting = sits(kind)
    offline_before_submit(sitting)
    sitting.finishes()


def offline_before_submit(sitting: Sitting) -> None:
    sitting.person.begins()
    sitting.answers(sitting.rng.randrange(sitting.wanted - 1))
    sitting.is_saved()
    sitting.fills()
    sitting.page.context.set_offline(True)
    sitting.person.submits_by_key()
    sitting.answers()
    sitting.page.context.set_offline(False)


def test_offline_while_the_answer_is_on_its_way(sits: Sits) -> None:
    sitting = sits()
    sitting.fills_a_random_trial()
    held: list[Route] = []
    sitting.page.route(ANSWERS, lambda route: held.append(route))
    sitting.person.submits_by_key()
    sitting.until(lambda: held)
    sitting.page.context.set_offline(True)
    held[0].abort("internetdisconnected")
    sitting.page.get_by_text(WAITING).wait_for()
    sitting.page.unroute(ANSWERS)
    sitting.page.context.set_offline(False)
    sitting.finishes()


def test_offline_after_the_answer_arrived_but_before_its_reply(sits: Sits) -> None:
    sitting = sits()
    sitting.fills_a_random_trial()
    reached: list[int] = []

    def lose_the_reply(route: Route) -> None:
        reached.append(route.fetch().status)
        sitting.page.context.set_offline(True)
        route.abort("internetdisconnected")

    sitting.page.route(ANSWERS, lose_the_reply, times=1)
    sitting.person.submits_by_key()
    sitting.page.get_by_text(WAITING).wait_for()
    assert reached == [201]
    sitting.page.context.set_offline(False)
    sitting.finishes()


def test_offline_after_an_answer_is_saved(sits: Sits) -> None:
    sitting = sits()
    sitting.person.begins()
    sitting.answers(1 + sitting.rng.randrange(sitting.wanted - 1))
    sitting.is_saved()
    sitting.page.context.set_offline(True)
    sitting.fills()
    sitting.page.context.set_offline(False)
    sitting.person.submits_by_key()
    sitting.finishes()


def test_offline_for_five_minutes(sits: Sits) -> None:
    """Nobody tells the page that the connection is back; it tries again by itself."""
    sitting = sits(joining=False)
    sitting.page.clock.install()
    sitting.joins()
    sitting.fills_a_random_trial()
    tries: list[Route] = []
    sitting.page.route(ANSWERS, lambda route: (tries.append(route), route.abort()))
    sitting.person.submits_by_key()
    sitting.page.get_by_text(WAITING).wait_for()
    before = len(tries)
    for _ in range(30):
        sitting.page.clock.fast_forward(10_000)
    sitting.until(lambda: len(tries) > before)
    sitting.page.unroute(ANSWERS)
    sitting.page.clock.fast_forward(16_000)
    sitting.finishes()


def test_finishing_while_the_last_answer_waits_gives_no_code(sits: Sits) -> None:
    sitting = sits()
    sitting.person.begins()
    sitting.answers(sitting.wanted - 1)
    sitting.is_saved()
    sitting.fills()
    sitting.page.context.set_offline(True)
    sitting.person.submits_by_key()
    sitting.page.locator('#page[data-page="waiting"]').wait_for()
    sitting.page.get_by_text(WAITING).wait_for()
    assert sitting.count("code") == 0
    sitting.page.context.set_offline(False)
    sitting.finishes()
    assert sitting.count("code") == 1


# --- replies that are not the server's ---

BAD_GATEWAY = {"status": 502, "content_type": "text/html", "body": "<h1>Bad Gateway</h1>"}
OVERLOADED = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"code": "store-down", "found": "found"}}
TOO_MANY = {"status": 429, "headers": {"Retry-After": "1"}, "json": {"code": "too-many"}}
HOTEL = {"status": 200, "content_type": "text/html", "body": "<h1>Welcome to our hotel</h1>"}
NOT_OURS = {"bad gateway": BAD_GATEWAY, "overloaded": OVERLOADED, "too many": TOO_MANY, "hotel": HOTEL}


@pytest.mark.parametrize("reply", NOT_OURS)
def test_replies_that_say_nothing_of_the_answer(sits: Sits, reply: str) -> None:
    sitting = sits()
    sitting.fills_a_random_trial()
    sitting.page.route("**/api/*", lambda route: route.fulfill(**NOT_OURS[reply]), times=2)
    sitting.person.submits_by_key()
    sitting.page.get_by_text(WAITING).wait_for()
    sitting.finishes()


# --- the page goes, the answers stay ---


@pytest.mark.parametrize("way", ["reload", "close", "crash"])
def test_answers_that_wait_outlive_the_page(sits: Sits, way: str) -> None:
    sitting = sits()
    context = sitting.page.context
    sitting.person.begins()
    sitting.answers(sitting.rng.randrange(sitting.wanted - 1))
    sitting.is_saved()
    context.route(ANSWERS, lambda route: route.abort())
    sitting.answers(2)
    sitting.page.get_by_text(f"2 answers {WAITING}").wait_for()
    if way == "reload":
        sitting.page.reload()
        sitting.page.get_by_text(f"2 answers {WAITING}").wait_for()
        context.unroute(ANSWERS)
    else:
        if way == "crash":
            # Nothing in the page gets to run any more.
            with suppress(Error):
                sitting.page.goto("chrome://crash", timeout=2_000)
        sitting.page.close()
        context.unroute(ANSWERS)
        sitting.person = sitting.opens(context.new_page())
    sitting.finishes()


def test_tab_closed_while_an_answer_is_on_its_way(sits: Sits) -> None:
    sitting = sits()
    context = sitting.page.context
    sitting.fills_a_random_trial()
    held: list[Route] = []
    context.route(ANSWERS, lambda route: held.append(route))
    sitting.person.submits_by_key()
    sitting.until(lambda: held)
    other = context.new_page()
    sitting.page.close()
    with suppress(Error):
        held[0].continue_()
    context.unroute(ANSWERS)
    sitting.person = sitting.opens(other)
    sitting.finishes()


# --- the audit itself ---


def test_a_queue_that_stops_after_the_first_error_is_found_out(sits: Sits) -> None:
    """The negative control: the same scenario with an outbox as others had it."""
    sitting = sits(joining=False)
    sitting.page.route("**/static/outbox.js", lambda route: route.fulfill(path=QUEUE_THAT_STOPS))
    sitting.joins()
    offline_before_submit(sitting)
    sitting.is_saved()
    audit = sitting.audit()
    assert len(audit.lost) == 2
    assert audit.early
    assert audit.early <= audit.lost
