"""A study with a usual and a deeper form: each trial shows its own, and the researcher's page what was saved."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from looking import ALL_WAYS, look_closely
from playwright.sync_api import Page, expect
from study_server import StudyServer

from browser import DRIVERS, Person, rows

DEEPER = {"kind": "tokens", "votes": 2.0, "seconds": 1000.0, "items": ["cat/cat-0", "dog/dog-1"]}


def answers(person: Person) -> tuple[str, str | None]:
    """Answer the trial that is shown, whatever its form; returns the kind, and the sentence above the form."""
    handle = person.trial()
    prompt = person.page.locator("#prompt").text_content()
    form = person.page.evaluate("document.querySelector('main .form').localName")
    kind = form.removeprefix("sfumato-").replace("-", "_")
    DRIVERS[kind].simplest(person)
    person.page.keyboard.press("Enter")
    person._until_answered(handle)
    return kind, prompt


def test_each_trial_shows_its_own_form(served: Callable[..., StudyServer], visitor: Callable[..., Page]) -> None:
    server = served("choice", classes=("cat", "dog"), n_each=3, batch_size=6, deeper=DEEPER)
    person = Person.joins(visitor(), server)
    person.goes_to("instructions")
    prompts = [each["prompt"] for each in person.config["questions"]]
    # The keys of both forms are told before.
    assert person.page.locator("main h3").all_text_contents() == prompts
    person.begins()
    given = []
    for _ in range(6):
        kind, prompt = answers(person)
        assert prompt == prompts[["choice", "tokens"].index(kind)]
        given.append(kind)
    person.stored(server, 6)
    stored = {row["item_id"]: row["kind"] for row in rows(server, person.link)}
    assert {item for item, kind in stored.items() if kind == "tokens/1"} == set(DEEPER["items"])
    assert sorted(given) == ["choice"] * 4 + ["tokens"] * 2


def test_the_researchers_page(served: Callable[..., StudyServer], visitor: Callable[..., Page]) -> None:
    server = served("choice", classes=("cat", "dog"), n_each=3, batch_size=6, answers_per_item=4, deeper=DEEPER)
    person = Person.joins(visitor(), server)
    person.begins()
    for _ in range(3):
        answers(person)
    person.stored(server, 3)
    address = re.search(r"http://\S+/studio/\S+", server.log.read_text())
    assert address is not None
    page = visitor()
    page.goto(address[0])
    figures: dict[str, Any] = dict(
        zip(
            page.locator(".figures dt").all_text_contents(),
            page.locator(".figures dd").all_text_contents(),
            strict=True,
        )
    )
    assert figures["answers"] == "3at most 24"
    assert figures["people"].startswith("1")
    assert page.locator("#histogram tbody tr").count() == 2
    look_closely(page, "studio", ALL_WAYS)
    # Without reloading it follows what happens.
    answers(person)
    person.stored(server, 4)
    expect(page.locator(".figures dd").first).to_have_text("4at most 24", timeout=15_000)
    wrong = visitor(forgiving=True)
    reply = wrong.goto(address[0][:-1] + ("A" if address[0][-1] != "A" else "B"))
    assert reply is not None
    assert reply.status == 404
