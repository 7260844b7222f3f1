"""A sitting: somebody takes a study while things go wrong, and a witness in each of their pages tells what it saw.

`Sitting.audit` holds what the pages said against what the store has: the judge of every trial of faults in the browser.
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

WITNESS = Path(__file__).parents[1] / "browser" / "witness.js"
ALL_SAVED = "All answers saved"
ENDS = ("finished", "empty", "withdrawn", "gone")
PATIENCE_MS = 15_000
SEEDS = range(int(os.environ.get("SFUMATO_SEEDS", "1")))
KINDS = ("tokens", "choice", "top_two") if len(SEEDS) > 1 else ("tokens", "choice")
"""The forms that faults are tried with: where there is time, also the longest."""
WANTED = 4
"""Trials a person, unless told otherwise."""
ANSWERS = "**/api/answers"


@dataclass(frozen=True)
class Told:
    """What a witness told: what happened, to which trial or with which words, on which page."""

    page: int
    what: str
    detail: str
    stored: frozenset[str] = frozenset()
    """For a claim that answers are safe: the trials whose answers the store had when it was made."""


@dataclass(frozen=True)
class Audit:
    """What went wrong; all of it empty when nothing did. Trials are named by their handles."""

    lost: frozenset[str]
    """The page took an answer, and the store has it neither among the answers nor among those kept aside."""
    doubled: tuple[str, ...]
    """Items with two answers, or answers to trials that no page took one for."""
    changed: frozenset[str]
    """The store has another answer than was given."""
    early: frozenset[str]
    """The page said that all is saved, or gave the code, before the server had said so of this trial."""


CLEAN = Audit(frozenset(), (), frozenset(), frozenset())


@dataclass
class Sitting:
    """One person with one link, in as many tabs and browsers as the test opens for them."""

    server: StudyServer
    kind: str
    rng: random.Random
    person: Person
    wanted: int = WANTED
    told: list[Told] = field(default_factory=list)
    given: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What was entered for each trial: the last is what was submitted, unless two tabs did."""
    thrown: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.person.page

    def watch(self, context: BrowserContext) -> BrowserContext:
        """Put the witness into every page of a context."""
        context.expose_binding("tellTheTest", lambda source, *told: self._hear(id(source["page"]), *told))
        context.add_init_script(path=WITNESS)
        context.on("weberror", lambda error: self.thrown.append(str(error.error)))
        return context

    def _hear(self, page: int, what: str, detail: str) -> None:
        is_claim = detail and (what == "code" or (what, detail) == ("saved", ALL_SAVED))
        stored = frozenset(row["trial"] for row in self.stored()) if is_claim and self.person.link else frozenset()
        self.told.append(Told(page, what, detail, stored))

    def joins(self) -> Sitting:
        """Come by the open door, up to the consent."""
        self.person = Person.joins(self.page, self.server)
        return self

    def opens(self, page: Page) -> Person:
        """The same link in another page."""
        page.goto(self.person.link)
        other = Person(page, self.person.link)
        other.at_page()
        return other

    # --- answering ---

    def fills(self, person: Person | None = None, enter: Callable[..., None] = by_keys) -> str:
        """Enter some answer to the trial shown, without submitting it; returns the trial's handle."""
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

    def fills_a_random_one(self) -> str:
        """Answer up to a trial anywhere in the study, and fill in that one."""
        self.person.begins()
        self.answers(self.rng.randrange(self.wanted))
        return self.fills()

    def goes_on(self, person: Person | None = None) -> str:
        """Answer whatever comes until there is no more; returns the name of the last page."""
        person = person or self.person
        while True:
            person.page.wait_for_function(
                "ends => document.querySelector('.trial')?.dataset.open || ends.includes(page.dataset.page)",
                arg=ENDS,
                timeout=PATIENCE_MS,
            )
            if (page := person.page.locator("#page").get_attribute("data-page") or "") in ENDS:
                return page
            self.answers(1, person)

    def finishes(self, person: Person | None = None) -> None:
        """Answer what is left, and hold everything to account: all stored once, and the code only then."""
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
        """Wait until the page says so, of all answers given."""
        if self.submitted():
            (person or self.person).page.locator("#saved").get_by_text(ALL_SAVED).wait_for()

    def is_clean(self) -> None:
        """Nothing lost, doubled, changed, claimed too early or thrown."""
        assert self.audit() == CLEAN, self.audit()
        assert self.thrown == [], self.thrown

    # --- what was seen ---

    def count(self, what: str) -> int:
        return sum(told.what == what for told in self.told)

    def until(self, condition: Callable[[], Any], page: Page | None = None) -> None:
        """Let the browser go on until the condition holds."""
        page = page or self.page
        for _ in range(PATIENCE_MS // 10):
            if condition():
                return
            page.wait_for_timeout(10)
        raise AssertionError("waited in vain")

    def submitted(self) -> set[str]:
        return {told.detail for told in self.told if told.what == "submitted"}

    def audit(self) -> Audit:
        """Everything the witnesses told, held against the store."""
        stored, aside = self.stored(), self.aside()
        items = [row["item"] for row in stored]
        unasked = [row["trial"] for row in stored if row["trial"] not in self.submitted()]
        return Audit(
            lost=frozenset(self.submitted() - {row["trial"] for row in stored} - {row["trial"] for row in aside}),
            doubled=tuple(item for item in set(items) if items.count(item) > 1) + tuple(unasked),
            changed=frozenset(row["trial"] for row in stored if not self._was_given(row)),
            early=frozenset(self._early()),
        )

    def _was_given(self, row: dict[str, Any]) -> bool:
        return any(json.loads(row["payload"]) == given for given in self.given.get(row["trial"], ()))

    def _early(self) -> set[str]:
        early: set[str] = set()
        for at, claim in enumerate(self.told):
            if (claim.what, claim.detail) != ("saved", ALL_SAVED) and (claim.what != "code" or not claim.detail):
                continue
            # A line says something of the page it stands on, a code of the person.
            before = [told for told in self.told[:at] if claim.what == "code" or told.page == claim.page]
            known = {told.detail for told in self.told[:at] if told.what in ("stored", "aside")}
            early |= {told.detail for told in before if told.what == "submitted"} - known - self._outlived(at)
        return early

    def _outlived(self, at: int) -> set[str]:
        """Trials whose page went away before it could tell of the reply: another learned from the server, and rightly,
        that their answers are stored."""
        claim = self.told[at]
        births = [number for number, told in enumerate(self.told[:at]) if told.what == "born"]
        gone = {
            told.detail
            for number, told in enumerate(self.told[:at])
            if told.what == "submitted" and any(birth > number for birth in births)
        }
        return gone & claim.stored

    # --- what is stored ---

    def stored(self) -> list[dict[str, Any]]:
        """The person's answers, with the handles of their trials."""
        return self.rows(
            "select answers.item, payload, submitted_at, received_at, seconds, answers.handle as answer, record,"
            " trials.handle as trial from answers join trials on trials.id = answers.trial"
            " join annotators on annotators.id = answers.annotator where token_hash = :person order by answers.id"
        )

    def aside(self) -> list[dict[str, Any]]:
        """The person's answers that came too late, kept aside."""
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


class Sits(Protocol):
    """A maker of sittings: of a kind, with a script run first in every page, in a context with these options."""

    def __call__(
        self,
        kind: str = "tokens",
        *,
        server: StudyServer | None = None,
        joining: bool = True,
        script: str = "",
        **options: Any,
    ) -> Sitting: ...


def maker_of_sittings(seed: int, visitor: Callable[..., Page], shared: Callable[..., StudyServer]) -> Sits:
    """Sittings in contexts of their own, by default all at one server a kind; somebody new each."""

    def sits(
        kind: str = "tokens",
        *,
        server: StudyServer | None = None,
        joining: bool = True,
        script: str = "",
        **options: Any,
    ) -> Sitting:
        page = visitor(forgiving=True, **options)
        server = server or shared(kind, batch_size=WANTED)
        sitting = Sitting(server, kind, random.Random(seed), Person(page, ""))
        if script:
            page.context.add_init_script(script)
        sitting.watch(page.context)
        return sitting.joins() if joining else sitting

    return sits


def some_answer(kind: str, rng: random.Random) -> dict[str, Any]:
    """An answer a person could give."""
    first, second = rng.sample(CLASSES, 2)
    if kind == "choice":
        return {"class": first}
    if kind == "tokens":
        fewer = rng.randrange(1, 4)
        return {"tokens": {first: 10 - fewer, second: fewer}, "others": rng.random() < 0.5}
    percent = rng.randrange(50, 90)
    answer = {"first": first, "first_percent": percent, "second": second, "second_percent": 95 - percent}
    return {**answer, "impossible": []}
