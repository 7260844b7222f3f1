"""A participant's browser session with faults; a script in each page (the recorder) reports what happened.

`BrowserSession.audit` compares the pages' messages with the store. It decides every fault trial in the browser.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from playwright.sync_api import BrowserContext, Page
from study_server import StudyServer

from browser import CLASSES, Person, by_keys

RECORDER = Path(__file__).parents[1] / "browser" / "recorder.js"
ALL_SAVED = "All answers saved"
ENDS = ("finished", "empty", "withdrawn", "gone")
TIMEOUT_MS = 15_000
SEEDS = range(int(os.environ.get("SFUMATO_SEEDS", "1")))
KINDS = ("tokens", "choice", "top_two") if len(SEEDS) > 1 else ("choice",)
"""The question types of trials that run with several; the others use tokens. The forms have tests of their own."""
WANTED = 4
"""Default number of trials per person."""
ANSWERS = "**/api/answers"


@dataclass(frozen=True)
class Report:
    """A report of the recorder: the event, its trial or text, and the page."""

    page: int
    what: str
    detail: str
    stored: frozenset[str] = frozenset()
    """If the page says that answers are saved: the trials with stored answers at this time."""


@dataclass(frozen=True)
class Audit:
    """All errors, as handles of trials; empty if there are none."""

    lost: frozenset[str]
    """The page accepted an answer, but the store has it neither as an answer nor as a refused one."""
    doubled: tuple[str, ...]
    """Items with two answers, or answers to trials for which no page accepted one."""
    changed: frozenset[str]
    """The stored answer differs from the one that was given."""
    early: frozenset[str]
    """The page said that all is saved, or showed the code, before the server had acknowledged this trial."""


CLEAN = Audit(frozenset(), (), frozenset(), frozenset())


@dataclass
class BrowserSession:
    """One person with one link, in one or more tabs and browsers."""

    server: StudyServer
    kind: str
    rng: random.Random
    person: Person
    wanted: int = WANTED
    reports: list[Report] = field(default_factory=list)
    given: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The answers entered for each trial; the last one was submitted, unless two tabs submitted."""
    thrown: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.person.page

    def watch(self, context: BrowserContext) -> BrowserContext:
        """Add the recording script to every page of a context."""
        context.expose_binding("reportToTest", lambda source, *reports: self._receive(id(source["page"]), *reports))
        context.add_init_script(path=RECORDER)
        context.on("weberror", lambda error: self.thrown.append(str(error.error)))
        return context

    def _receive(self, page: int, what: str, detail: str) -> None:
        is_claim = detail and (what == "code" or (what, detail) == ("saved", ALL_SAVED))
        stored = frozenset(row["trial"] for row in self.stored()) if is_claim and self.person.link else frozenset()
        self.reports.append(Report(page, what, detail, stored))

    def joins(self) -> BrowserSession:
        """Join by the open link, up to the consent page."""
        self.person = Person.joins(self.page, self.server)
        return self

    def opens(self, page: Page) -> Person:
        """Open the same link in another page."""
        page.goto(self.person.link)
        other = Person(page, self.person.link)
        other.at_page()
        return other

    # --- answering ---

    def fills(self, person: Person | None = None, enter: Callable[..., None] = by_keys) -> str:
        """Enter a random answer without submitting it; returns the trial's handle."""
        person = person or self.person
        handle = person.trial()
        answer = some_answer(self.kind, self.rng)
        enter(person, self.kind, answer)
        person.page.locator('#submit[aria-disabled="false"]').wait_for()
        self.given.setdefault(handle, []).append(answer)
        return handle

    def answers(self, n: int = 1, person: Person | None = None) -> None:
        """Answer `n` trials by keys."""
        for _ in range(n):
            self.fills(person)
            (person or self.person).submits_by_key()

    def fills_a_random_trial(self) -> str:
        """Answer a random number of trials, then fill in the next one."""
        self.person.begins()
        self.answers(self.rng.randrange(self.wanted))
        return self.fills()

    def goes_on(self, person: Person | None = None) -> str:
        """Answer all remaining trials; returns the name of the last page."""
        person = person or self.person
        while True:
            person.page.wait_for_function(
                "ends => document.querySelector('.trial')?.dataset.open || ends.includes(page.dataset.page)",
                arg=ENDS,
                timeout=TIMEOUT_MS,
            )
            if (page := person.page.locator("#page").get_attribute("data-page") or "") in ENDS:
                return page
            self.answers(1, person)

    def finishes(self, person: Person | None = None) -> None:
        """Answer the remaining trials, and check that all are stored once and that the code is correct."""
        person = person or self.person
        if person.at_page() not in ("trial", *ENDS):
            person.begins()
        assert self.goes_on(person) == "finished"
        self.is_saved(person)
        self.is_clean()
        stored = self.rows("select code from annotators where token_hash = :person")
        assert person.page.locator("#code").inner_text() == stored[0]["code"]
        assert len(self.stored()) == self.wanted

    def is_saved(self, person: Person | None = None) -> None:
        """Wait until the page says that all answers are saved."""
        if self.submitted():
            (person or self.person).page.locator("#saved").get_by_text(ALL_SAVED).wait_for()

    def is_clean(self) -> None:
        """Check that no answer is lost, doubled, changed or reported too early, and that nothing was thrown."""
        assert self.audit() == CLEAN, self.audit()
        assert self.thrown == [], self.thrown

    # --- reports of the pages ---

    def count(self, what: str) -> int:
        return sum(report.what == what for report in self.reports)

    def until(self, condition: Callable[[], Any], page: Page | None = None) -> None:
        """Let the browser run until the condition is true."""
        page = page or self.page
        for _ in range(TIMEOUT_MS // 10):
            if condition():
                return
            page.wait_for_timeout(10)
        raise AssertionError("timeout: the condition is still false")

    def submitted(self) -> set[str]:
        return {report.detail for report in self.reports if report.what == "submitted"}

    def audit(self) -> Audit:
        """Compare all reports of the recorder with the store."""
        stored, refused = self.stored(), self.refused()
        items = [row["item"] for row in stored]
        unasked = [row["trial"] for row in stored if row["trial"] not in self.submitted()]
        return Audit(
            lost=frozenset(self.submitted() - {row["trial"] for row in stored} - {row["trial"] for row in refused}),
            doubled=tuple(item for item in set(items) if items.count(item) > 1) + tuple(unasked),
            changed=frozenset(row["trial"] for row in stored if not self._was_given(row)),
            early=frozenset(self._early()),
        )

    def _was_given(self, row: dict[str, Any]) -> bool:
        return any(json.loads(row["payload"]) == given for given in self.given.get(row["trial"], ()))

    def _early(self) -> set[str]:
        early: set[str] = set()
        for at, claim in enumerate(self.reports):
            if (claim.what, claim.detail) != ("saved", ALL_SAVED) and (claim.what != "code" or not claim.detail):
                continue
            # The line "saved" is about its own page, a code about the person.
            before = [report for report in self.reports[:at] if claim.what == "code" or report.page == claim.page]
            known = {report.detail for report in self.reports[:at] if report.what in ("stored", "aside")}
            early |= (
                {report.detail for report in before if report.what == "submitted"}
                - known
                - self._reported_by_another_page(at)
            )
        return early

    def _reported_by_another_page(self, at: int) -> set[str]:
        """Trials whose page was closed before it could report the reply; another page correctly learned from the server
        that their answers are stored."""
        claim = self.reports[at]
        births = [number for number, report in enumerate(self.reports[:at]) if report.what == "born"]
        gone = {
            report.detail
            for number, report in enumerate(self.reports[:at])
            if report.what == "submitted" and any(birth > number for birth in births)
        }
        return gone & claim.stored

    # --- the store ---

    def stored(self) -> list[dict[str, Any]]:
        """The person's answers, with the handles of their trials."""
        return self.rows(
            "select answers.item, payload, submitted_at, received_at, seconds, answers.handle as answer, record,"
            " trials.handle as trial from answers join trials on trials.id = answers.trial"
            " join annotators on annotators.id = answers.annotator where token_hash = :person order by answers.id"
        )

    def refused(self) -> list[dict[str, Any]]:
        """The person's answers that were refused because they came too late."""
        return self.rows(
            "select refused.code, body, trials.handle as trial from refused join trials on trials.id = refused.trial"
            " join annotators on annotators.id = refused.annotator where token_hash = :person order by refused.id"
        )

    def rows(self, query: str) -> list[dict[str, Any]]:
        token = self.person.link.rsplit("/", 1)[1]
        file = self.server.study / "store" / "answers.sqlite"
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
            store.row_factory = sqlite3.Row
            person = hashlib.sha256(token.encode()).hexdigest()
            return [dict(row) for row in store.execute(query, {"person": person})]


class NewSession(Protocol):
    """A function that creates sessions of a kind, with an initial script and options of the browser context."""

    def __call__(
        self,
        kind: str = "tokens",
        *,
        server: StudyServer | None = None,
        joining: bool = True,
        script: str = "",
        **options: Any,
    ) -> BrowserSession: ...


def session_factory(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> NewSession:
    """Creates sessions of new participants in separate contexts, by default with one server per kind."""

    def new_session(
        kind: str = "tokens",
        *,
        server: StudyServer | None = None,
        joining: bool = True,
        script: str = "",
        **options: Any,
    ) -> BrowserSession:
        page = visitor(forgiving=True, **options)
        server = server or shared(kind, batch_size=WANTED)
        session = BrowserSession(server, kind, random.Random(seed), Person(page, ""))
        if script:
            page.context.add_init_script(script)
        session.watch(page.context)
        return session.joins() if joining else session

    return new_session


def some_answer(kind: str, rng: random.Random) -> dict[str, Any]:
    """A random valid answer."""
    first, second = rng.sample(CLASSES, 2)
    if kind == "choice":
        return {"class": first}
    if kind == "tokens":
        fewer = rng.randrange(1, 4)
        return {"tokens": {first: 10 - fewer, second: fewer}, "others": rng.random() < 0.5}
    percent = rng.randrange(50, 90)
    answer = {"first": first, "first_percent": percent, "second": second, "second_percent": 95 - percent}
    return {**answer, "impossible": []}
