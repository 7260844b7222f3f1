"""What people's devices do to a study: no storage, small screens, wrong clocks, sleep, pictures that do not load.

Every scenario ends in the same audit as those of `test_faults_in_browser.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from browser_session import ANSWERS, KINDS, SEEDS, NewSession, session_factory
from playwright.sync_api import Dialog, Page
from study_server import StudyServer

from browser import by_pointer, by_touch

of_each_kind = pytest.mark.parametrize("kind", KINDS)
A_YEAR = 365 * 24 * 3600
pytestmark = [pytest.mark.parametrize("seed", SEEDS)]


@pytest.fixture
def new_session(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> NewSession:
    return session_factory(seed, visitor, shared)


# --- storage ---

NO_INDEXED_DB = (
    "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError'); } });"
)
NO_OPEN = "IDBFactory.prototype.open = () => { throw new DOMException('no', 'InvalidStateError'); };"
NEVER_OPENS = "IDBFactory.prototype.open = () => ({});"
FULL = "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); };"
NEVER_WRITES = """
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (value) {
  const request = put.call(this, value);
  IDBObjectStore.prototype.put = put;
  Object.defineProperty(request.transaction, 'oncomplete', { set() {} });
  return request;
};"""
NO_LOCAL_STORAGE = NO_INDEXED_DB.replace("indexedDB", "localStorage")
NO_COOKIES = "Object.defineProperty(document, 'cookie', { get() { throw new DOMException('no', 'SecurityError'); } });"
NO_TABS = "delete window.BroadcastChannel; delete Navigator.prototype.locks;"
BROKEN_STORAGE = {
    "no IndexedDB": NO_INDEXED_DB,
    "IndexedDB refuses": NO_OPEN,
    "IndexedDB never opens": NEVER_OPENS,
    "quota full": FULL,
    "a write never ends": NEVER_WRITES,
    "no localStorage": NO_LOCAL_STORAGE,
    "nothing at all": NO_INDEXED_DB + NO_LOCAL_STORAGE + NO_COOKIES + NO_TABS,
}


@pytest.mark.parametrize("broken", BROKEN_STORAGE)
def test_storage_that_does_not_work(new_session: NewSession, broken: str) -> None:
    """Answers go on from memory: a failed connection is outlived all the same, as long as the page is open."""
    session = new_session(script=BROKEN_STORAGE[broken])
    session.fills_a_random_trial()
    session.page.context.set_offline(True)
    session.person.submits_by_key()
    session.page.get_by_text("not sent yet").wait_for()
    session.page.context.set_offline(False)
    session.finishes()


@pytest.mark.parametrize("broken", ["no IndexedDB", "quota full"])
def test_without_storage_closing_the_page_asks_first(new_session: NewSession, broken: str) -> None:
    """An answer that lives in the page only: the browser asks before it closes; people who stay lose nothing."""
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    session = new_session(script=BROKEN_STORAGE[broken])
    session.page.on("dialog", stay)
    session.fills_a_random_trial()
    session.page.context.set_offline(True)
    session.person.submits_by_key()
    session.page.close(run_before_unload=True)
    session.until(lambda: asked == ["beforeunload"])
    session.page.context.set_offline(False)
    session.finishes()


# --- screens, devices, clocks ---


def test_zoomed_to_200_percent(new_session: NewSession) -> None:
    session = new_session(viewport={"width": 600, "height": 400}, device_scale_factor=2)
    session.person.begins()
    for _ in range(session.wanted):
        session.fills(enter=by_pointer)
        assert session.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        session.person.submits_by_click()
    session.finishes()


@of_each_kind
def test_a_phone_and_fingers(new_session: NewSession, kind: str) -> None:
    session = new_session(
        kind, viewport={"width": 360, "height": 640}, device_scale_factor=3, has_touch=True, is_mobile=True
    )
    session.person.begins()
    for _ in range(session.wanted):
        session.fills(enter=by_touch)
        session.person.submits_by_tap()
    session.finishes()
    assert {json.loads(row["record"])["pointer"] for row in session.stored()} == {"touch"}


@pytest.mark.parametrize("years", [-1, 1])
def test_the_clock_of_the_computer_is_a_year_off(new_session: NewSession, years: int) -> None:
    session = new_session(joining=False)
    begun = time.time()
    session.page.clock.install(time=begun + years * A_YEAR)
    session.joins()
    session.fills_a_random_trial()
    session.page.context.set_offline(True)
    session.person.submits_by_key()
    session.page.context.set_offline(False)
    session.finishes()
    for row in session.stored():
        assert begun - 1 <= row["submitted_at"] / 1000 <= time.time() + 1
        assert row["submitted_at"] <= row["received_at"]
        assert 0 <= row["seconds"] < time.time() - begun


def test_the_clock_is_set_while_an_answer_waits(new_session: NewSession) -> None:
    """An answer left over from an earlier page is as old as the computer's clock says, and that was set meanwhile."""
    session = new_session()
    begun = time.time()
    context = session.page.context
    session.fills_a_random_trial()
    context.route(ANSWERS, lambda route: route.abort())
    session.person.submits_by_key()
    session.page.get_by_text("not sent yet").wait_for()
    session.page.close()
    context.unroute(ANSWERS)
    page = context.new_page()
    page.clock.install(time=begun - A_YEAR)
    session.person = session.opens(page)
    session.finishes()
    for row in session.stored():
        assert begun - 1 <= row["submitted_at"] / 1000 <= time.time() + 1


def test_a_laptop_asleep_for_two_hours(new_session: NewSession) -> None:
    """Timers all fire at once on waking, and the connection is not there yet."""
    session = new_session(joining=False)
    session.page.clock.install()
    session.joins()
    session.fills_a_random_trial()
    session.page.context.set_offline(True)
    session.person.submits_by_key()
    session.page.clock.fast_forward("02:00:00")
    session.page.get_by_text("not sent yet").wait_for()
    session.page.context.set_offline(False)
    session.finishes()


@pytest.mark.parametrize("way_on", ["retry", "skip"])
def test_the_picture_does_not_come(new_session: NewSession, way_on: str) -> None:
    """The page says so, tries again on request, and lets the participant continue meanwhile; the trial comes back."""
    session = new_session(joining=False)
    page = session.page
    missing: list[str] = []
    page.route("**/pictures/**", lambda route: (missing.append(route.request.url), route.abort()))
    session.joins().person.goes_to("picture")
    says_so = page.get_by_role("heading", name="could not be loaded")
    says_so.wait_for()
    tried = len(missing)
    session.person.named("retry").click()
    session.until(lambda: len(missing) > tried)
    says_so.wait_for()
    page.unroute("**/pictures/**")
    session.person.named(way_on).click()
    late = missing[0].split("/")[-2]
    assert (session.person.trial() == late) is (way_on == "retry")
    session.finishes()
    assert late in session.submitted()
