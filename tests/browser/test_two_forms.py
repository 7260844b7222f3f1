"""A study with a usual and a deeper form: each trial shows its own, and the researcher's page what was saved."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page
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
    # The keys of both forms are listed before.
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
