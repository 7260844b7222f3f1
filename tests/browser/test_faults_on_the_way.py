"""What happens between a browser and the server: no connection, a slow one, proxies, pages that go meanwhile.

Every scenario happens at a random trial and ends in the same audit as those of `test_faults_in_browser.py`. The last
test puts in an outbox that stops after the first error, and sees that the audit finds what it loses.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from browser_session import ANSWERS, KINDS, SEEDS, BrowserSession, NewSession, session_factory
from playwright.sync_api import Error, Page, Route
from study_server import StudyServer

pytestmark = [pytest.mark.parametrize("seed", SEEDS)]
of_each_kind = pytest.mark.parametrize("kind", KINDS)
QUEUE_THAT_STOPS = Path(__file__).parent / "queue_that_stops.js"
WAITING = "not sent yet"
SLOW_3G = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
"""Milliseconds, bytes per second."""


@pytest.fixture
def new_session(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> NewSession:
    return session_factory(seed, visitor, shared)


# --- a reply that takes its time ---


@of_each_kind
def test_not_saved_before_the_server_says_so(new_session: NewSession, kind: str) -> None:
    """The server has the answer already, its reply is held back: the page must not know, and gives no code."""
    session = new_session(kind)
    session.person.begins()
    session.answers(session.wanted - 1)
    session.is_saved()
    session.fills()
    held: list[Callable[[], None]] = []

    def hold(route: Route) -> None:
        reply = route.fetch()
        held.append(lambda: route.fulfill(response=reply))

    session.page.route(ANSWERS, hold)
    session.person.submits_by_key()
    session.until(lambda: held)
    assert len(session.stored()) == session.wanted
    assert session.page.locator("#saved").inner_text() == "Saving…"
    assert session.page.locator("#code").count() == 0
    held[0]()
    session.finishes()


def test_a_reply_that_stalls_for_30_seconds_and_then_comes(new_session: NewSession) -> None:
    """The page gives up on the try, not on the answer; what the first try did is found out by the second."""
    session = new_session(joining=False)
    session.page.clock.install()
    session.joins()
    session.fills_a_random_trial()
    held: list[Callable[[], None]] = []

    def hold(route: Route) -> None:
        reply = route.fetch()
        held.append(lambda: route.fulfill(response=reply))

    session.page.route(ANSWERS, hold)
    session.person.submits_by_key()
    session.until(lambda: held)
    session.page.clock.fast_forward(31_000)
    session.page.get_by_text(WAITING).wait_for()
    session.page.unroute(ANSWERS)
    with suppress(Error):
        # Nobody waits for it any more.
        held[0]()
    session.page.clock.fast_forward(1_000)
    session.finishes()


def test_a_slow_network(new_session: NewSession) -> None:
    session = new_session()
    session.person.begins()
    network = session.page.context.new_cdp_session(session.page)
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", SLOW_3G)
    session.finishes()


# --- no connection ---


@of_each_kind
def test_offline_before_submit(new_session: NewSession, kind: str) -> None:
    """The person can go on with what is loaded; all of it is sent when the connection is back."""
    session = new_session(kind)
    offline_before_submit(session)
    session.finishes()


def offline_before_submit(session: BrowserSession) -> None:
    session.person.begins()
    session.answers(session.rng.randrange(session.wanted - 1))
    session.is_saved()
    session.fills()
    session.page.context.set_offline(True)
    session.person.submits_by_key()
    session.answers()
    session.page.context.set_offline(False)


def test_offline_while_the_answer_is_on_its_way(new_session: NewSession) -> None:
    session = new_session()
    session.fills_a_random_trial()
    held: list[Route] = []
    session.page.route(ANSWERS, lambda route: held.append(route))
    session.person.submits_by_key()
    session.until(lambda: held)
    session.page.context.set_offline(True)
    held[0].abort("internetdisconnected")
    session.page.get_by_text(WAITING).wait_for()
    session.page.unroute(ANSWERS)
    session.page.context.set_offline(False)
    session.finishes()


def test_offline_after_the_answer_arrived_but_before_its_reply(new_session: NewSession) -> None:
    session = new_session()
    session.fills_a_random_trial()
    reached: list[int] = []

    def lose_the_reply(route: Route) -> None:
        reached.append(route.fetch().status)
        session.page.context.set_offline(True)
        route.abort("internetdisconnected")

    session.page.route(ANSWERS, lose_the_reply, times=1)
    session.person.submits_by_key()
    session.page.get_by_text(WAITING).wait_for()
    assert reached == [201]
    session.page.context.set_offline(False)
    session.finishes()


def test_offline_after_an_answer_is_saved(new_session: NewSession) -> None:
    session = new_session()
    session.person.begins()
    session.answers(1 + session.rng.randrange(session.wanted - 1))
    session.is_saved()
    session.page.context.set_offline(True)
    session.fills()
    session.page.context.set_offline(False)
    session.person.submits_by_key()
    session.finishes()


def test_offline_for_five_minutes(new_session: NewSession) -> None:
    """Nobody tells the page that the connection is back; it tries again by itself."""
    session = new_session(joining=False)
    session.page.clock.install()
    session.joins()
    session.fills_a_random_trial()
    tries: list[Route] = []
    session.page.route(ANSWERS, lambda route: (tries.append(route), route.abort()))
    session.person.submits_by_key()
    session.page.get_by_text(WAITING).wait_for()
    before = len(tries)
    for _ in range(30):
        session.page.clock.fast_forward(10_000)
    session.until(lambda: len(tries) > before)
    session.page.unroute(ANSWERS)
    session.page.clock.fast_forward(16_000)
    session.finishes()


def test_finishing_while_the_last_answer_waits_gives_no_code(new_session: NewSession) -> None:
    session = new_session()
    session.person.begins()
    session.answers(session.wanted - 1)
    session.is_saved()
    session.fills()
    session.page.context.set_offline(True)
    session.person.submits_by_key()
    session.page.locator('#page[data-page="waiting"]').wait_for()
    session.page.get_by_text(WAITING).wait_for()
    assert session.count("code") == 0
    session.page.context.set_offline(False)
    session.finishes()
    assert session.count("code") == 1


# --- replies that are not the server's ---

BAD_GATEWAY = {"status": 502, "content_type": "text/html", "body": "<h1>Bad Gateway</h1>"}
OVERLOADED = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"code": "store-down", "found": "found"}}
TOO_MANY = {"status": 429, "headers": {"Retry-After": "1"}, "json": {"code": "too-many"}}
HOTEL = {"status": 200, "content_type": "text/html", "body": "<h1>Welcome to our hotel</h1>"}
NOT_OURS = {"bad gateway": BAD_GATEWAY, "overloaded": OVERLOADED, "too many": TOO_MANY, "hotel": HOTEL}


@pytest.mark.parametrize("reply", NOT_OURS)
def test_replies_that_say_nothing_of_the_answer(new_session: NewSession, reply: str) -> None:
    session = new_session()
    session.fills_a_random_trial()
    session.page.route("**/api/*", lambda route: route.fulfill(**NOT_OURS[reply]), times=2)
    session.person.submits_by_key()
    session.page.get_by_text(WAITING).wait_for()
    session.finishes()


# --- the page goes, the answers stay ---


@pytest.mark.parametrize("way", ["reload", "close", "crash"])
def test_answers_that_wait_outlive_the_page(new_session: NewSession, way: str) -> None:
    session = new_session()
    context = session.page.context
    session.person.begins()
    session.answers(session.rng.randrange(session.wanted - 1))
    session.is_saved()
    context.route(ANSWERS, lambda route: route.abort())
    session.answers(2)
    session.page.get_by_text(f"2 answers {WAITING}").wait_for()
    if way == "reload":
        session.page.reload()
        session.page.get_by_text(f"2 answers {WAITING}").wait_for()
        context.unroute(ANSWERS)
    else:
        if way == "crash":
            # Nothing in the page gets to run any more.
            with suppress(Error):
                session.page.goto("chrome://crash", timeout=2_000)
        session.page.close()
        context.unroute(ANSWERS)
        session.person = session.opens(context.new_page())
    session.finishes()


def test_tab_closed_while_an_answer_is_on_its_way(new_session: NewSession) -> None:
    session = new_session()
    context = session.page.context
    session.fills_a_random_trial()
    held: list[Route] = []
    context.route(ANSWERS, lambda route: held.append(route))
    session.person.submits_by_key()
    session.until(lambda: held)
    other = context.new_page()
    session.page.close()
    with suppress(Error):
        held[0].continue_()
    context.unroute(ANSWERS)
    session.person = session.opens(other)
    session.finishes()


# --- the audit itself ---


def test_a_queue_that_stops_after_the_first_error_is_found_out(new_session: NewSession) -> None:
    """The negative control: the same scenario with an outbox as others had it."""
    session = new_session(joining=False)
    session.page.route("**/static/outbox.js", lambda route: route.fulfill(path=QUEUE_THAT_STOPS))
    session.joins()
    offline_before_submit(session)
    session.is_saved()
    audit = session.audit()
    assert len(audit.lost) == 2
    assert audit.early
    assert audit.early <= audit.lost
