"""What people's devices do to a study: no storage, small screens, wrong clocks, sleep, pictures that do not load.

Every scenario ends in the same audit as those of `test_faults_in_browser.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, Page
from sitting import ANSWERS, KINDS, SEEDS, Sits, sitting_factory
from study_server import StudyServer

from browser import by_pointer, by_touch

of_each_kind = pytest.mark.parametrize("kind", KINDS)
A_YEAR = 365 * 24 * 3600
pytestmark = [pytest.mark.parametrize("seed", SEEDS)]


@pytest.fixture
def sits(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> Sits:
    return sitting_factory(seed, visitor, shared)


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
def test_storage_that_does_not_work(sits: Sits, broken: str) -> None:
    """Answers go on from memory: a failed connection is outlived all the same, as long as the page is open."""
    sitting = sits(script=BROKEN_STORAGE[broken])
    sitting.fills_a_random_trial()
    sitting.page.context.set_offline(True)
    sitting.person.submits_by_key()
    sitting.page.get_by_text("not sent yet").wait_for()
    sitting.page.context.set_offline(False)
    sitting.finishes()


@pytest.mark.parametrize("broken", ["no IndexedDB", "quota full"])
def test_without_storage_closing_the_page_asks_first(sits: Sits, broken: str) -> None:
    """An answer that lives in the page only: the browser asks before it closes; people who stay lose nothing."""
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    sitting = sits(script=BROKEN_STORAGE[broken])
    sitting.page.on("dialog", stay)
    sitting.fills_a_random_trial()
    sitting.page.context.set_offline(True)
    sitting.person.submits_by_key()
    sitting.page.close(run_before_unload=True)
    sitting.until(lambda: asked == ["beforeunload"])
    sitting.page.context.set_offline(False)
    sitting.finishes()


# --- screens, devices, clocks ---


def test_zoomed_to_200_percent(sits: Sits) -> None:
    sitting = sits(viewport={"width": 600, "height": 400}, device_scale_factor=2)
    sitting.person.begins()
    for _ in range(sitting.wanted):
        sitting.fills(enter=by_pointer)
        assert sitting.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        sitting.person.submits_by_click()
    sitting.finishes()


@of_each_kind
def test_a_phone_and_fingers(sits: Sits, kind: str) -> None:
    sitting = sits(kind, viewport={"width": 360, "height": 640}, device_scale_factor=3, has_touch=True, is_mobile=True)
    sitting.person.begins()
    for _ in range(sitting.wanted):
        sitting.fills(enter=by_touch)
        sitting.person.submits_by_tap()
    sitting.finishes()
    assert {json.loads(row["record"])["pointer"] for row in sitting.stored()} == {"touch"}


@pytest.mark.parametrize("years", [-1, 1])
def test_the_clock_of_the_computer_is_a_year_off(sits: Sits, years: int) -> None:
    sitting = sits(joining=False)
    begun = time.time()
    sitting.page.clock.install(time=begun + years * A_YEAR)
    sitting.joins()
    sitting.fills_a_random_trial()
    sitting.page.context.set_offline(True)
    sitting.person.submits_by_key()
    sitting.page.context.set_offline(False)
    sitting.finishes()
    for row in sitting.stored():
        assert begun - 1 <= row["submitted_at"] / 1000 <= time.time() + 1
        assert row["submitted_at"] <= row["received_at"]
        assert 0 <= row["seconds"] < time.time() - begun


def test_the_clock_is_set_while_an_answer_waits(sits: Sits) -> None:
    """An answer left over from an earlier page is as old as the computer's clock says, and that was set meanwhile."""
    sitting = sits()
    begun = time.time()
    context = sitting.page.context
    sitting.fills_a_random_trial()
    context.route(ANSWERS, lambda route: route.abort())
    sitting.person.submits_by_key()
    sitting.page.get_by_text("not sent yet").wait_for()
    sitting.page.close()
    context.unroute(ANSWERS)
    page = context.new_page()
    page.clock.install(time=begun - A_YEAR)
    sitting.person = sitting.opens(page)
    sitting.finishes()
    for row in sitting.stored():
        assert begun - 1 <= row["submitted_at"] / 1000 <= time.time() + 1


def test_a_laptop_asleep_for_two_hours(sits: Sits) -> None:
    """Timers all fire at once on waking, and the connection is not there yet."""
    sitting = sits(joining=False)
    sitting.page.clock.install()
    sitting.joins()
    sitting.fills_a_random_trial()
    sitting.page.context.set_offline(True)
    sitting.person.submits_by_key()
    sitting.page.clock.fast_forward("02:00:00")
    sitting.page.get_by_text("not sent yet").wait_for()
    sitting.page.context.set_offline(False)
    sitting.finishes()


@pytest.mark.parametrize("way_on", ["retry", "skip"])
def test_the_picture_does_not_come(sits: Sits, way_on: str) -> None:
    """The page says so, tries again on request, and lets the participant continue meanwhile; the trial comes back."""
    sitting = sits(joining=False)
    page = sitting.page
    missing: list[str] = []
    page.route("**/pictures/**", lambda route: (missing.append(route.request.url), route.abort()))
    sitting.joins().person.goes_to("picture")
    says_so = page.get_by_role("heading", name="could not be loaded")
    says_so.wait_for()
    tried = len(missing)
    sitting.person.named("retry").click()
    sitting.until(lambda: len(missing) > tried)
    says_so.wait_for()
    page.unroute("**/pictures/**")
    sitting.person.named(way_on).click()
    late = missing[0].split("/")[-2]
    assert (sitting.person.trial() == late) is (way_on == "retry")
    sitting.finishes()
    assert late in sitting.submitted()
