"""What stays in a participant's browser: nothing, once they are done and every answer is acknowledged."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import Page, Route
from sitting import ANSWERS, SEEDS, sitting_factory
from study_server import StudyServer

KEPT = """async () => {
  const kept = Object.entries({ ...localStorage, ...sessionStorage }).map(([key, value]) => `${key}=${value}`);
  for (const { name } of await indexedDB.databases()) {
    const database = await new Promise((resolve, reject) => {
      const request = indexedDB.open(name);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    for (const store of database.objectStoreNames) {
      const rows = await new Promise((resolve, reject) => {
        const request = database.transaction(store).objectStore(store).getAll();
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
      kept.push(...rows.map((row) => `${store}: ${JSON.stringify(row)}`));
    }
    database.close();
  }
  return [...kept, ...(await caches.keys())];
}"""


def test_nothing_is_left_after_finishing(visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> None:
    sitting = sitting_factory(SEEDS[0], visitor, shared)("choice")
    sitting.person.begins()
    held: list[Route] = []
    sitting.page.route(ANSWERS, lambda route: held.append(route), times=1)
    sitting.answers(1)
    sitting.until(lambda: held)
    # An answer that is not acknowledged is kept, so that it survives the page.
    (kept,) = [each for each in sitting.page.evaluate(KEPT) if each.startswith("queue")]
    assert '"answer' in json.loads(kept.removeprefix("queue: "))["body"]
    held[0].continue_()
    sitting.is_saved()
    assert [each for each in sitting.page.evaluate(KEPT) if each.startswith(("queue", "refused"))] == []
    sitting.finishes()
    sitting.until(lambda: sitting.page.evaluate(KEPT) == [])
    # Nor after the last page is opened again.
    sitting.page.reload()
    sitting.page.locator("#code").wait_for()
    sitting.until(lambda: sitting.page.evaluate(KEPT) == [])


def test_an_answer_that_was_refused_is_removed_in_the_end(
    visitor: Callable[..., Page], shared: Callable[..., StudyServer]
) -> None:
    sitting = sitting_factory(SEEDS[0], visitor, shared)("choice")
    sitting.person.begins()
    reply = json.dumps({"code": "bad-answer", "found": "f", "expected": "e", "fix": "x"})

    def refuse(route: Route) -> None:
        route.fulfill(status=422, body=reply, content_type="application/json")

    sitting.page.route(ANSWERS, refuse, times=1)
    sitting.fills()
    sitting.person.submits_by_key()
    sitting.until(lambda: any(each.startswith("refused") for each in sitting.page.evaluate(KEPT)))
    sitting.goes_on(sitting.person)
    sitting.page.locator("#code").wait_for()
    sitting.until(lambda: sitting.page.evaluate(KEPT) == [])
