"""What people do to a study in their browsers: reload, go back, press twice, open it twice, mistype the link.

Every scenario happens at a random trial and ends in the same audit (`sitting.Sitting.audit`): every answer that a page
took is stored once, as given; no page says "saved" before the server has; the code comes only when all is stored.
`SFUMATO_SEEDS=3` runs each with three seeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page
from sitting import ANSWERS, KINDS, SEEDS, Sits, sitting_factory
from study_server import StudyServer

from browser import Person
from sfumato.elicitation.study_registration import new_links
from sfumato.study import read_study

pytestmark = [pytest.mark.parametrize("seed", SEEDS)]
of_each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def sits(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> Sits:
    return sitting_factory(seed, visitor, shared)


# --- reload, back, forward ---


@pytest.mark.parametrize("at", ["consent", "instructions"])
def test_reload_before_the_first_trial(sits: Sits, at: str) -> None:
    sitting = sits()
    sitting.person.goes_to(at)
    sitting.page.reload()
    assert sitting.person.at_page() == at
    sitting.finishes()


@of_each_kind
def test_reloading_during_a_trial_shows_the_same_trial(sits: Sits, kind: str) -> None:
    sitting = sits(kind)
    handle = sitting.fills_a_random_trial()
    sitting.page.reload()
    assert sitting.person.begins() == handle
    assert sitting.person.named("submit").get_attribute("aria-disabled") == "true"
    sitting.finishes()
    [row] = [row for row in sitting.stored() if row["trial"] == handle]
    assert json.loads(row["record"])["resumed"] is True


@of_each_kind
def test_reload_just_after_submit(sits: Sits, kind: str) -> None:
    sitting = sits(kind)
    sitting.fills_a_random_trial()
    sitting.page.keyboard.press("Enter")
    sitting.page.reload()
    sitting.finishes()


def test_reload_in_the_moment_of_submit(sits: Sits) -> None:
    sitting = sits()
    handle = sitting.fills_a_random_trial()
    with sitting.page.expect_navigation():
        sitting.page.evaluate("() => { document.querySelector('#submit').click(); location.reload(); }")
    sitting.finishes()
    assert len(sitting.given[handle]) == 1


@of_each_kind
def test_back_after_submit_and_forward_again(sits: Sits, kind: str) -> None:
    sitting = sits(kind)
    sitting.fills_a_random_trial()
    sitting.person.submits_by_key()
    sitting.page.go_back()
    sitting.page.wait_for_url(sitting.server.url + "/")
    sitting.page.go_forward()
    sitting.finishes()
    sitting.page.go_back()
    sitting.page.go_forward()
    assert sitting.person.at_page() == "finished"


def test_who_has_stopped_finds_nothing_by_going_back(sits: Sits) -> None:
    sitting = sits()
    sitting.fills_a_random_trial()
    sitting.person.named("stop").click()
    sitting.person.named("stop-yes").click()
    sitting.page.locator('#page[data-page="withdrawn"]').wait_for()
    sitting.page.go_back()
    sitting.page.go_forward()
    assert sitting.person.at_page() == "withdrawn"
    assert sitting.page.locator(".stimulus, #code").count() == 0
    sitting.is_clean()


def test_who_stops_hands_in_first_what_waits(sits: Sits) -> None:
    """After a withdrawal the server takes no answer, so the page sends what waits before it withdraws."""
    sitting = sits()
    handle = sitting.fills_a_random_trial()
    sitting.page.context.set_offline(True)
    sitting.person.submits_by_key()
    sitting.page.get_by_text("not sent yet").wait_for()
    sitting.person.named("stop").click()
    sitting.person.named("stop-yes").click()
    sitting.page.context.set_offline(False)
    sitting.page.locator('#page[data-page="withdrawn"]').wait_for()
    assert handle in {row["trial"] for row in sitting.stored()}
    assert sitting.refused() == []


# --- pressed too often ---


@of_each_kind
def test_double_click_on_submit(sits: Sits, kind: str) -> None:
    sitting = sits(kind)
    sitting.fills_a_random_trial()
    before = sitting.count("submitted")
    sitting.person.named("submit").dblclick(delay=10)
    sitting.until(lambda: sitting.count("stored") > before)
    assert sitting.count("submitted") == before + 1
    sitting.finishes()


def test_two_clicks_twenty_milliseconds_apart(sits: Sits) -> None:
    sitting = sits()
    sitting.fills_a_random_trial()
    before = sitting.count("submitted")
    sitting.page.evaluate(
        """() => { const press = () => document.querySelector('#submit')?.click();
                   press(); press(); setTimeout(press, 20); setTimeout(press, 40); }"""
    )
    sitting.until(lambda: sitting.count("stored") > before)
    assert sitting.count("submitted") == before + 1
    sitting.finishes()


@of_each_kind
def test_enter_held_down_submits_once(sits: Sits, kind: str) -> None:
    sitting = sits(kind)
    sitting.person.begins()
    handle = sitting.fills()
    keyboard = sitting.page.keyboard
    for _ in range(20):
        keyboard.down("Enter")
    # The next one is filled in while the key is still down: it must wait for a press of its own.
    following = sitting.person.trial(after=handle)
    assert sitting.fills() == following
    for _ in range(20):
        keyboard.down("Enter")
    assert sitting.submitted() == {handle}
    keyboard.up("Enter")
    sitting.person.submits_by_key()
    sitting.finishes()


# --- the same person twice ---


def test_two_tabs_taking_turns(sits: Sits) -> None:
    sitting = sits()
    sitting.person.begins()
    other = sitting.opens(sitting.page.context.new_page())
    turns = [sitting.person, other] * sitting.wanted
    while len(sitting.submitted()) < sitting.wanted:
        person = turns.pop()
        person.page.bring_to_front()
        # A tab that comes to the front looks where the person stands, and they look at the tab.
        while person.trial() in sitting.submitted():
            person.page.wait_for_timeout(10)
        sitting.answers(1, person)
        sitting.until(lambda: sitting.count("stored") == len(sitting.submitted()))
    for person in (sitting.person, other):
        person.page.bring_to_front()
        sitting.finishes(person)
    assert sitting.refused() == []


def test_two_tabs_at_the_same_moment(sits: Sits) -> None:
    """Both show the same trial: the first answer counts, the other is kept aside, and both tabs go on."""
    sitting = sits()
    first = sitting.person
    first.begins()
    sitting.answers(sitting.rng.randrange(sitting.wanted))
    other = sitting.opens(sitting.page.context.new_page())
    before = len(sitting.submitted())
    assert sitting.fills(other) == sitting.fills(first)
    moment = first.page.evaluate("Date.now()") + 1000
    for person in (first, other):
        person.page.evaluate(
            "at => { setTimeout(() => document.querySelector('#submit')?.click(), at - Date.now()); }", moment
        )
    sitting.until(lambda: sitting.count("stored") == len(sitting.submitted()) > before)
    for person in (first, other):
        person.page.bring_to_front()
        sitting.finishes(person)
    assert len(sitting.refused()) <= 1


def test_one_link_in_two_browsers(sits: Sits, visitor: Callable[..., Page]) -> None:
    """The other browser cannot know of the answer: its own to the same trial is kept aside, and said not to count."""
    sitting = sits()
    first = sitting.person
    first.begins()
    sitting.answers(sitting.rng.randrange(sitting.wanted))
    page = visitor(forgiving=True)
    sitting.watch(page.context)
    other = sitting.opens(page)
    handle = sitting.fills(other)
    assert sitting.fills(first) == handle
    first.submits_by_key()
    sitting.until(lambda: sitting.count("stored") == len(sitting.submitted()))
    # Both kept their answer at hand, so the first one stored is the one that counts.
    counted = sitting.given[handle][-1]
    other.submits_by_key()
    other.page.get_by_text("One of your answers was not counted").wait_for()
    sitting.finishes(other)
    sitting.page.reload()
    sitting.finishes(first)
    [row] = [row for row in sitting.stored() if row["trial"] == handle]
    assert json.loads(row["payload"]) == counted
    assert [row["code"] for row in sitting.refused()] == ["already-answered"]


def test_a_new_link_opened_twice_is_one_person(sits: Sits, visitor: Callable[..., Page]) -> None:
    sitting = sits(joining=False)
    link = f"{sitting.server.url}/s/{new_links(read_study(sitting.server.study), 1)[0]}"
    sitting.person = Person(sitting.page, link)
    other = visitor(forgiving=True)
    sitting.watch(other.context)
    for page in (sitting.page, other):
        page.goto(link, wait_until="commit")
    for person in (sitting.person, Person(other, link)):
        person.begins()
    assert len(sitting.rows("select id from annotators where token_hash = :person")) == 1
    sitting.answers(sitting.rng.randrange(sitting.wanted))
    sitting.page.close()
    other.reload()
    sitting.person = Person(other, link)
    sitting.finishes()


def test_the_same_answer_posted_again_is_not_stored_again(sits: Sits) -> None:
    sitting = sits()
    sitting.fills_a_random_trial()
    with sitting.page.expect_response(ANSWERS) as first:
        sitting.person.submits_by_key()
    again = sitting.page.evaluate(
        """async ([address, body]) => {
             const headers = {'Content-Type': 'application/json'};
             const reply = await fetch(address, {method: 'POST', headers, body});
             return [reply.status, (await reply.json()).answer]; }""",
        [first.value.url, first.value.request.post_data],
    )
    assert first.value.status == 201
    assert again == [200, first.value.json()["answer"]]
    sitting.finishes()


def test_a_link_nobody_has(sits: Sits) -> None:
    sitting = sits(joining=False)
    page = sitting.page
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    reply = page.goto(f"{sitting.server.url}/s/{'x' * 32}", wait_until="networkidle")
    assert reply is not None
    assert reply.status == 404
    assert page.get_by_role("heading").inner_text() == "This link is not valid."
    assert not any("/api/" in url for url in calls)
