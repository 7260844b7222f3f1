"""What people do to a study in their browsers: reload, go back, press twice, open it twice, mistype the link.

Every scenario happens at a random trial and ends in the same audit (`BrowserSession.audit`): every answer that a page
took is stored once, as given; no page says "saved" before the server has; the code comes only when all is stored.
`SFUMATO_SEEDS=3` runs each with three seeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from browser_session import ANSWERS, KINDS, SEEDS, NewSession, session_factory
from playwright.sync_api import Page
from study_server import StudyServer

from browser import Person
from sfumato.elicitation.study_registration import new_links
from sfumato.study import read_study

pytestmark = [pytest.mark.parametrize("seed", SEEDS)]
of_each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def new_session(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> NewSession:
    return session_factory(seed, visitor, shared)


# --- reload, back, forward ---


@pytest.mark.parametrize("at", ["consent", "instructions"])
def test_reload_before_the_first_trial(new_session: NewSession, at: str) -> None:
    session = new_session()
    session.person.goes_to(at)
    session.page.reload()
    assert session.person.at_page() == at
    session.finishes()


@of_each_kind
def test_reloading_during_a_trial_shows_the_same_trial(new_session: NewSession, kind: str) -> None:
    session = new_session(kind)
    handle = session.fills_a_random_trial()
    session.page.reload()
    assert session.person.begins() == handle
    assert session.person.named("submit").get_attribute("aria-disabled") == "true"
    session.finishes()
    [row] = [row for row in session.stored() if row["trial"] == handle]
    assert json.loads(row["record"])["resumed"] is True


@of_each_kind
def test_reload_just_after_submit(new_session: NewSession, kind: str) -> None:
    session = new_session(kind)
    session.fills_a_random_trial()
    session.page.keyboard.press("Enter")
    session.page.reload()
    session.finishes()


def test_reload_in_the_moment_of_submit(new_session: NewSession) -> None:
    session = new_session()
    handle = session.fills_a_random_trial()
    with session.page.expect_navigation():
        session.page.evaluate("() => { document.querySelector('#submit').click(); location.reload(); }")
    session.finishes()
    assert len(session.given[handle]) == 1


@of_each_kind
def test_back_after_submit_and_forward_again(new_session: NewSession, kind: str) -> None:
    session = new_session(kind)
    session.fills_a_random_trial()
    session.person.submits_by_key()
    session.page.go_back()
    session.page.wait_for_url(session.server.url + "/")
    session.page.go_forward()
    session.finishes()
    session.page.go_back()
    session.page.go_forward()
    assert session.person.at_page() == "finished"


def test_who_has_stopped_finds_nothing_by_going_back(new_session: NewSession) -> None:
    session = new_session()
    session.fills_a_random_trial()
    session.person.named("stop").click()
    session.person.named("stop-yes").click()
    session.page.locator('#page[data-page="withdrawn"]').wait_for()
    session.page.go_back()
    session.page.go_forward()
    assert session.person.at_page() == "withdrawn"
    assert session.page.locator(".stimulus, #code").count() == 0
    session.is_clean()


def test_who_stops_hands_in_first_what_waits(new_session: NewSession) -> None:
    """After a withdrawal the server takes no answer, so the page sends what waits before it withdraws."""
    session = new_session()
    handle = session.fills_a_random_trial()
    session.page.context.set_offline(True)
    session.person.submits_by_key()
    session.page.get_by_text("not sent yet").wait_for()
    session.person.named("stop").click()
    session.person.named("stop-yes").click()
    session.page.context.set_offline(False)
    session.page.locator('#page[data-page="withdrawn"]').wait_for()
    assert handle in {row["trial"] for row in session.stored()}
    assert session.refused() == []


# --- pressed too often ---


@of_each_kind
def test_double_click_on_submit(new_session: NewSession, kind: str) -> None:
    session = new_session(kind)
    session.fills_a_random_trial()
    before = session.count("submitted")
    session.person.named("submit").dblclick(delay=10)
    session.until(lambda: session.count("stored") > before)
    assert session.count("submitted") == before + 1
    session.finishes()


def test_two_clicks_twenty_milliseconds_apart(new_session: NewSession) -> None:
    session = new_session()
    session.fills_a_random_trial()
    before = session.count("submitted")
    session.page.evaluate(
        """() => { const press = () => document.querySelector('#submit')?.click();
                   press(); press(); setTimeout(press, 20); setTimeout(press, 40); }"""
    )
    session.until(lambda: session.count("stored") > before)
    assert session.count("submitted") == before + 1
    session.finishes()


@of_each_kind
def test_enter_held_down_submits_once(new_session: NewSession, kind: str) -> None:
    session = new_session(kind)
    session.person.begins()
    handle = session.fills()
    keyboard = session.page.keyboard
    for _ in range(20):
        keyboard.down("Enter")
    # The next one is filled in while the key is still down: it must wait for a press of its own.
    following = session.person.trial(after=handle)
    assert session.fills() == following
    for _ in range(20):
        keyboard.down("Enter")
    assert session.submitted() == {handle}
    keyboard.up("Enter")
    session.person.submits_by_key()
    session.finishes()


# --- the same person twice ---


def test_two_tabs_taking_turns(new_session: NewSession) -> None:
    session = new_session()
    session.person.begins()
    other = session.opens(session.page.context.new_page())
    turns = [session.person, other] * session.wanted
    while len(session.submitted()) < session.wanted:
        person = turns.pop()
        person.page.bring_to_front()
        # A tab that comes to the front looks where the person stands, and they look at the tab.
        while person.trial() in session.submitted():
            person.page.wait_for_timeout(10)
        session.answers(1, person)
        session.until(lambda: session.count("stored") == len(session.submitted()))
    for person in (session.person, other):
        person.page.bring_to_front()
        session.finishes(person)
    assert session.refused() == []


def test_two_tabs_at_the_same_moment(new_session: NewSession) -> None:
    """Both show the same trial: the first answer counts, the other is kept aside, and both tabs go on."""
    session = new_session()
    first = session.person
    first.begins()
    session.answers(session.rng.randrange(session.wanted))
    other = session.opens(session.page.context.new_page())
    before = len(session.submitted())
    assert session.fills(other) == session.fills(first)
    moment = first.page.evaluate("Date.now()") + 1000
    for person in (first, other):
        person.page.evaluate(
            "at => { setTimeout(() => document.querySelector('#submit')?.click(), at - Date.now()); }", moment
        )
    session.until(lambda: session.count("stored") == len(session.submitted()) > before)
    for person in (first, other):
        person.page.bring_to_front()
        session.finishes(person)
    assert len(session.refused()) <= 1


def test_one_link_in_two_browsers(new_session: NewSession, visitor: Callable[..., Page]) -> None:
    """The other browser cannot know of the answer: its own to the same trial is kept aside, and said not to count."""
    session = new_session()
    first = session.person
    first.begins()
    session.answers(session.rng.randrange(session.wanted))
    page = visitor(forgiving=True)
    session.watch(page.context)
    other = session.opens(page)
    handle = session.fills(other)
    assert session.fills(first) == handle
    first.submits_by_key()
    session.until(lambda: session.count("stored") == len(session.submitted()))
    # Both kept their answer at hand, so the first one stored is the one that counts.
    counted = session.given[handle][-1]
    other.submits_by_key()
    other.page.get_by_text("One of your answers was not counted").wait_for()
    session.finishes(other)
    session.page.reload()
    session.finishes(first)
    [row] = [row for row in session.stored() if row["trial"] == handle]
    assert json.loads(row["payload"]) == counted
    assert [row["code"] for row in session.refused()] == ["already-answered"]


def test_a_new_link_opened_twice_is_one_person(new_session: NewSession, visitor: Callable[..., Page]) -> None:
    session = new_session(joining=False)
    link = f"{session.server.url}/s/{new_links(read_study(session.server.study), 1)[0]}"
    session.person = Person(session.page, link)
    other = visitor(forgiving=True)
    session.watch(other.context)
    for page in (session.page, other):
        page.goto(link, wait_until="commit")
    for person in (session.person, Person(other, link)):
        person.begins()
    assert len(session.rows("select id from annotators where token_hash = :person")) == 1
    session.answers(session.rng.randrange(session.wanted))
    session.page.close()
    other.reload()
    session.person = Person(other, link)
    session.finishes()


def test_the_same_answer_posted_again_is_not_stored_again(new_session: NewSession) -> None:
    session = new_session()
    session.fills_a_random_trial()
    with session.page.expect_response(ANSWERS) as first:
        session.person.submits_by_key()
    again = session.page.evaluate(
        """async ([address, body]) => {
             const headers = {'Content-Type': 'application/json'};
             const reply = await fetch(address, {method: 'POST', headers, body});
             return [reply.status, (await reply.json()).answer]; }""",
        [first.value.url, first.value.request.post_data],
    )
    assert first.value.status == 201
    assert again == [200, first.value.json()["answer"]]
    session.finishes()


def test_a_link_nobody_has(new_session: NewSession) -> None:
    session = new_session(joining=False)
    page = session.page
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    reply = page.goto(f"{session.server.url}/s/{'x' * 32}", wait_until="networkidle")
    assert reply is not None
    assert reply.status == 404
    assert page.get_by_role("heading").inner_text() == "This link is not valid."
    assert not any("/api/" in url for url in calls)
