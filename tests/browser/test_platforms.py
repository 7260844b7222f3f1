"""People from platforms in a real browser: in by the door, back with the code, also within Amazon's frame."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs

import pytest
from accessibility_checks import TWO_WAYS, look_closely
from platform_study import assignment_id, hex_id
from platform_study import mturk as mturk_query
from platform_study import prolific as prolific_query
from playwright.sync_api import Page, Request, Route
from study_server import StudyServer

from browser import Person, rows
from sfumato.recruitment.arrival import entry_address
from sfumato.recruitment.bonus_rules import BrierBonus
from sfumato.study import read_study

Served = Callable[..., StudyServer]
CODES = 'completed = "DONE-1"\nscreened_out = "OUT-2"\nno_consent = "NO-3"\n'
STUDY = "https://study.example"
FRAME = """<!doctype html><title>Worker</title><h1>A HIT</h1>
<iframe id="hit" src="{address}" width="1000" height="700"></iframe>"""


def from_platform(shared: Served, name: str) -> StudyServer:
    tail = f'[pay.bonus]\nrule = "brier"\nmost = 1\n[platform]\nname = "{name}"\n{CODES}'
    return shared("choice", batch_size=2, comprehension=True, pay=True, tail=tail)


@pytest.fixture
def prolific(shared: Served) -> StudyServer:
    return from_platform(shared, "prolific")


@pytest.fixture
def mturk(shared: Served) -> StudyServer:
    return from_platform(shared, "mturk")


def door(server: StudyServer) -> str:
    return entry_address(read_study(server.study), server.url).partition("?")[0]


def arrives(page: Page, server: StudyServer, person: str, session: str = "session1") -> Person:
    page.goto(f"{door(server)}?{prolific_query(hex_id(person), hex_id(session))}")
    someone = Person(page, page.url)
    someone.at_page()
    return someone


def answers(person: Person) -> None:
    person.begins()
    person.presses("1")
    person.submits_by_key()


def test_from_prolific_and_back(prolific: StudyServer, visitor: Callable[..., Page]) -> None:
    page = visitor()
    person = arrives(page, prolific, "pidaaaa1")
    assert hex_id("pidaaaa1") not in page.url + page.content()
    for name in ("consent", "instructions"):
        person.goes_to(name)
        assert page.inner_text("main").count(BrierBonus.said) == 1
    look_closely(page, "instructions-bonus", TWO_WAYS)
    person.goes_to("comprehension")
    person.goes_to("trial")
    answers(person)
    assert "DONE-1" not in page.content()
    answers(person)
    page.locator('#page[data-page="finished"]').wait_for(state="attached")
    back = page.locator('[data-name="back"]:visible')
    assert back.get_attribute("href") == "https://app.prolific.com/submissions/complete?cc=DONE-1"
    assert "Prolific" in back.inner_text()
    assert page.locator("#code").inner_text() == "DONE-1"
    assert page.inner_text("main").count("DONE-1") == 1
    look_closely(page, "finished-prolific", TWO_WAYS)
    assert len(person.stored(prolific, 2)) == 2


def test_without_cookies_the_page_shows_the_link_to_save(prolific: StudyServer, visitor: Callable[..., Page]) -> None:
    page = visitor()
    arrives(page, prolific, "pidaaaa9")
    note = page.locator("#no-cookies")
    assert note.is_hidden()
    page.context.clear_cookies()
    page.reload()
    note.wait_for(state="visible")
    assert page.url in note.inner_text()
    look_closely(page, "no-cookies", TWO_WAYS)
    page.locator("#no-cookies-close").click()
    assert note.is_hidden()


def test_no_code_before_the_last_answer_is_confirmed(prolific: StudyServer, visitor: Callable[..., Page]) -> None:
    page = visitor(forgiving=True)
    person = arrives(page, prolific, "pidaaaa2")
    answers(person)
    person.begins()
    page.context.set_offline(True)
    person.presses("1")
    person.submits_by_key()
    page.locator('#page[data-page="waiting"], #page[data-page="connecting"]').wait_for(state="attached")
    assert "DONE-1" not in page.content()
    assert len(rows(prolific, person.link)) == 1
    page.context.set_offline(False)
    page.locator('#page[data-page="finished"]').wait_for(state="attached")
    assert len(rows(prolific, person.link)) == 2
    assert page.locator('[data-name="back"]:visible').get_attribute("href").endswith("cc=DONE-1")  # type: ignore[union-attr]


def test_who_does_not_consent_goes_back_with_the_code_for_that(
    prolific: StudyServer, visitor: Callable[..., Page]
) -> None:
    page = visitor()
    arrives(page, prolific, "pidaaaa4")
    page.locator('main [data-name="decline"]').click()
    page.locator('#page[data-page="declined"]').wait_for(state="attached")
    assert page.locator('[data-name="back"]:visible').get_attribute("href").endswith("cc=NO-3")  # type: ignore[union-attr]
    assert page.inner_text("main").count("NO-3") == 1


def test_who_fails_the_questions_goes_back_with_the_code_for_that(
    prolific: StudyServer, visitor: Callable[..., Page]
) -> None:
    page = visitor()
    person = arrives(page, prolific, "pidaaaa5")
    for again in (True, True, False):
        person.goes_to("comprehension")
        person.clicks("question:0:a guess")
        page.locator('main [data-name="check"]').click()
        if again:
            page.locator('main [data-name="again"]').click()
    page.locator('#page[data-page="excluded"]').wait_for(state="attached")
    assert page.locator('[data-name="back"]:visible').get_attribute("href").endswith("cc=OUT-2")  # type: ignore[union-attr]
    assert page.inner_text("main").count("OUT-2") == 1


def framed(page: Page, server: StudyServer, query: str, by: str = "https://worker.mturk.com") -> None:
    """Another site's page with the study in its frame, reached by https as through a proxy. No network is asked."""
    address = f"{door(server).replace(server.url, STUDY)}?{query}".replace("&", "&amp;")

    def through_proxy(route: Route) -> None:
        # Followed here: a redirect that is made up is not asked for by way of this again.
        route.fulfill(response=route.fetch(url=route.request.url.replace(STUDY, server.url)))

    def frame(route: Route) -> None:
        route.fulfill(body=FRAME.format(address=address), content_type="text/html")

    page.route(f"{STUDY}/**", through_proxy)
    page.route(f"{by}/**", frame)
    page.goto(f"{by}/projects/1/tasks/2")


def test_within_amazons_frame_and_handed_in_there(mturk: StudyServer, visitor: Callable[..., Page]) -> None:
    page = visitor()
    handed_in: list[Request] = []

    def taken(route: Route) -> None:
        handed_in.append(route.request)
        route.fulfill(body="<p>handed in at the platform</p>", content_type="text/html")

    page.route("https://www.mturk.com/mturk/externalSubmit", taken)
    query = mturk_query()
    framed(page, mturk, query)
    inside = page.frame_locator("#hit")
    for name in ("agree", "continue", "question:0:what I think", "check"):
        inside.locator(f'main [data-name="{name}"]').click()
    for _ in range(2):
        trial = inside.locator(".trial[data-open]")
        handle = trial.get_attribute("data-open")
        inside.locator('[data-name="class:cat"]').click()
        inside.locator('[data-name="submit"]').click()
        inside.locator(f'.trial[data-open="{handle}"]').wait_for(state="detached")
    inside.locator('[data-name="back"]:visible').click()
    inside.get_by_text("handed in at the platform").wait_for()
    (request,) = handed_in
    assert request.method == "POST"
    assert parse_qs(request.post_data or "") == {"assignmentId": [assignment_id("assignment1")], "code": ["DONE-1"]}


def test_a_preview_shows_what_it_is_about_and_nothing_to_press(
    mturk: StudyServer, visitor: Callable[..., Page]
) -> None:
    page = visitor()
    framed(page, mturk, "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=HIT1")
    inside = page.frame_locator("#hit")
    inside.get_by_text("Say what you see").wait_for()
    assert inside.locator("button, a[href], input").count() == 0
    assert "2.5" in inside.locator(".pay").inner_text()


def test_another_site_may_not_show_it(mturk: StudyServer, visitor: Callable[..., Page]) -> None:
    page = visitor(forgiving=True)
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        framed(page, mturk, "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE", by="https://evil.example")
    assert page.frame_locator("#hit").get_by_text("Say what you see").count() == 0
