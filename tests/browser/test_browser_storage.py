"""What stays in a participant's browser: nothing, once they are done and every answer is acknowledged."""

from __future__ import annotations

import json
from collections.abc import Callable

from browser_session import ANSWERS, SEEDS, session_factory
from playwright.sync_api import Page, Route
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
    session = session_factory(SEEDS[0], visitor, shared)("choice")
    session.person.begins()
    held: list[Route] = []
    session.page.route(ANSWERS, lambda route: held.append(route), times=1)
    session.answers(1)
    session.until(lambda: held)
    # An answer that is not acknowledged is kept, so that it survives the page.
    (kept,) = [each for each in session.page.evaluate(KEPT) if each.startswith("queue")]
    assert '"answer' in json.loads(kept.removeprefix("queue: "))["body"]
    held[0].continue_()
    session.is_saved()
    assert [each for each in session.page.evaluate(KEPT) if each.startswith(("queue", "refused"))] == []
    session.finishes()
    session.until(lambda: session.page.evaluate(KEPT) == [])
    # Nor after the last page is opened again.
    session.page.reload()
    session.page.locator("#code").wait_for()
    session.until(lambda: session.page.evaluate(KEPT) == [])


def test_an_answer_that_was_refused_is_removed_in_the_end(
    visitor: Callable[..., Page], shared: Callable[..., StudyServer]
) -> None:
    session = session_factory(SEEDS[0], visitor, shared)("choice")
    session.person.begins()
    reply = json.dumps({"code": "bad-answer", "found": "f", "expected": "e", "fix": "x"})

    def refuse(route: Route) -> None:
        route.fulfill(status=422, body=reply, content_type="application/json")

    session.page.route(ANSWERS, refuse, times=1)
    session.fills()
    session.person.submits_by_key()
    session.until(lambda: any(each.startswith("refused") for each in session.page.evaluate(KEPT)))
    session.goes_on(session.person)
    session.page.locator("#code").wait_for()
    session.until(lambda: session.page.evaluate(KEPT) == [])
