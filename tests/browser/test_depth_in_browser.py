"""A single choice first: people who press "I am not sure" get the deeper form, and so do people who are drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from accessibility_checks import ALL_WAYS, look_closely
from playwright.sync_api import Page, expect
from study_server import StudyServer

from browser import DRIVERS, Person

CLASSES = ("cat", "dog")


def test_who_is_not_sure_says_more(served: Callable[..., StudyServer], visitor: Callable[..., Page]) -> None:
    server = served("choice", classes=CLASSES, deeper={"kind": "tokens", "share": 0})
    person = Person.joins(visitor(), server)
    person.goes_to("instructions")
    assert "not sure: tell us more about this one" in person.page.locator("main dl.keys dd").all_text_contents()
    person.begins()
    usual, deeper = (each["prompt"] for each in person.config["questions"])
    door, prompt = person.named("unsure"), person.page.locator("#prompt")
    look_closely(person.page, "depth-first", ALL_WAYS)
    # By the button, with a choice that was made before and is not kept.
    person.presses(person.key_of("dog"))
    person.clicks("unsure")
    expect(prompt).to_have_text(deeper)
    expect(door).to_be_hidden()
    expect(person.page.locator(".more")).to_be_visible()
    assert person.page.locator(".thing-picture").count() == 1
    look_closely(person.page, "depth-deeper", ALL_WAYS)
    DRIVERS["tokens"].simplest(person)
    person.submits_by_key()
    # By its key; and the next one is a choice again.
    person.trial()
    expect(prompt).to_have_text(usual)
    expect(person.page.locator(".more")).to_be_hidden()
    person.presses(".")
    expect(prompt).to_have_text(deeper)
    person.presses(".")
    DRIVERS["tokens"].simplest(person)
    person.submits_by_click()
    person.trial()
    person.presses(person.key_of("cat"))
    person.submits_by_key()
    found = person.stored(server, 3)
    assert [row["kind"] for row in found] == ["tokens/1", "tokens/1", "choice/1"]
    assert [row["record"]["opened"] for row in found] == ["unsure", "unsure", ""]
    assert [row["record"]["first"] for row in found] == [None, None, None]
    # The record runs from the first painted frame: it has what was done in both forms.
    events = [(kind, name) for _, kind, name, _ in found[0]["record"]["events"]]
    assert ("click", "unsure") in events
    assert events.index(("click", "unsure")) < len(events) - 1


@pytest.mark.parametrize("at_once", [False, True])
def test_who_is_drawn_is_asked_after_the_choice(
    served: Callable[..., StudyServer], visitor: Callable[..., Page], at_once: bool
) -> None:
    server = served(
        "choice",
        classes=CLASSES,
        settings={"submit_at_once": at_once},
        deeper={"kind": "top_two", "share": 1, "unsure": False},
    )
    person = Person.joins(visitor(), server)
    handle = person.begins()
    expect(person.named("unsure")).to_be_hidden()
    person.presses(".", person.key_of("dog"))
    if not at_once:
        person.presses("Enter")
    expect(person.page.locator(".more")).to_be_visible()
    assert person.trial() == handle
    DRIVERS["top_two"].simplest(person)
    person.submits_by_key()
    (row,) = person.stored(server, 1)
    assert (row["kind"], row["record"]["opened"]) == ("top_two/1", "asked")
    assert row["record"]["first"] == {"class": "dog"}


def test_practice_says_whether_the_answer_is_as_expected(
    served: Callable[..., StudyServer], visitor: Callable[..., Page]
) -> None:
    server = served("choice", classes=CLASSES, practice=True, practice_region={"classes": ["cat"], "at_least": 0.9})
    said = {"dog": "Your answer is not what we expect here.", "cat": "Your answer is what we expect here."}
    for name, verdict in said.items():
        person = Person.joins(visitor(), server)
        person.goes_to("trial")
        person.trial()
        person.presses(person.key_of(name), "Enter")
        expect(person.page.locator(".verdict")).to_have_text(verdict)
        expect(person.page.locator(".feedback .prose")).to_have_text("This one is clear.")
        look_closely(person.page, f"practice-{name}", ALL_WAYS)
        person.page.locator('main [data-name="continue"]').click()
        person.begins()
