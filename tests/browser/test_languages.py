"""A study in French and in German: the whole way through it, stored as it was entered, and nothing in English.

With SFUMATO_SCREENSHOTS set to a folder, every page and form looked at is also saved there as a picture.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from accessibility_checks import look_closely
from playwright.sync_api import Page, expect
from sentences import leaves
from study_server import StudyServer

from browser import DRIVERS, Person, asked, by_keys, by_pointer
from sfumato.elicitation.kinds import KINDS, kind_of
from sfumato.server.translations import translations_for
from sfumato.study import read_study
from sfumato.study.study import LANGUAGES

Visitor = Callable[..., Page]
Served = Callable[..., StudyServer]

WHOLE = ("tokens", "top_two", "plausible")
"""The kinds of which a whole session is looked at; the form alone of the others."""
BRIEFLY = (("fr", "tokens"), ("de", "top_two"), ("de", "plausible"))
"""Those that `make test` looks at; `make faults` at all."""
PLACES = {"fr": "fr-CH", "de": "de-AT"}
CLASSES = {
    "fr": ("chat", "chien", "porte-conteneurs", "grenouille"),
    "de": ("Katze", "Hund", "Containerschiff", "Frosch"),
}
ENGLISH_ONLY = {
    sentence
    for key, sentence in leaves(translations_for("en").sentences).items()
    if isinstance(sentence, str)
    and "{" not in sentence
    and " " in sentence
    and sentence[0].isupper()
    and all(leaves(translations_for(name).sentences)[key] != sentence for name in PLACES)
}
PHONE = (("phone", "light"),)
CUT = """() => [...document.querySelectorAll('main *, header *, dialog[open] *')]
  .filter((each) => each.clientWidth > 1 && getComputedStyle(each).display !== 'inline')
  .filter((each) => !['INPUT', 'PROGRESS', 'IMG', 'OUTPUT'].includes(each.tagName) && each.textContent.trim())
  .filter((each) => each.scrollWidth > each.clientWidth + 1
    || (each.tagName === 'BUTTON' && each.scrollHeight > each.clientHeight + 1))
  .map((each) => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 60)}`)"""


def look(person: Person, language: str, name: str, ways: Any = PHONE) -> None:
    """The page is in the language, all of it, can be read and reached, and no text lies outside of its place."""
    page = person.page
    expect(page.locator("html")).to_have_attribute("lang", language)
    seen = page.locator("body").inner_text()
    # What stays in sight while the page is scrolled covers whatever is under it just then, in any language.
    page.add_style_tag(content=".submit-row, .stimulus { position: static !important; }")
    assert [sentence for sentence in ENGLISH_ONLY if sentence in seen] == []
    look_closely(page, f"{language}-{name}", ways)
    assert page.evaluate(CUT) == [], name


@pytest.mark.parametrize(
    ("language", "kind"),
    [
        pytest.param(language, kind, marks=() if (language, kind) in BRIEFLY else pytest.mark.slow)
        for language in PLACES
        for kind in WHOLE
    ],
)
def test_a_session(language: str, kind: str, visitor: Visitor, served: Served) -> None:
    full = kind == "tokens"
    server = served(
        kind,
        classes=CLASSES[language],
        n_each=1,
        batch_size=2,
        practice=full,
        comprehension=full,
        pay=full,
        languages=("en", "fr", "de"),
    )
    say = translations_for(language).say
    person = Person.joins(visitor(bypass_csp=True, locale=PLACES[language]), server)
    page = person.page
    for stage in ("consent", "instructions", "comprehension") if full else ("instructions",):
        person.goes_to(stage)
        expect(page.locator("h1")).to_have_text(say(f"{stage}.title"))
        look(person, language, f"{kind}-{stage}")
    if full:
        around(person, language)
    stored = answered(person, kind, server)
    assert page.locator("#page").get_attribute("data-page") == "finished"
    expect(page.locator("h1")).to_have_text(say("finished.title"))
    if full:
        look(person, language, "finished")
    assert len(stored) == 2


def around(person: Person, language: str) -> None:
    """What is met on the way to the first trial that counts."""
    page, say = person.page, translations_for(language).say
    person.clicks("question:0:a guess")
    person.clicks("check")
    page.locator('#page[data-page="wrong"]').wait_for()
    expect(page.get_by_text(say("wrong.sentence"))).to_be_visible()
    look(person, language, "wrong")
    person.clicks("again")
    person.goes_to("trial")
    expect(page.locator(".practice")).to_have_text(say("trial.practice"))
    for name in ("help", "stop"):
        person.clicks(name)
        look(person, language, name)
        person.clicks({"help": "help-close", "stop": "stop-no"}[name])
    DRIVERS["tokens"].simplest(person)
    person.presses("Enter")
    page.locator(".feedback").wait_for()
    look(person, language, "feedback")
    person.clicks("continue")
    page.locator('#page[data-page="practised"]').wait_for()
    look(person, language, "practised")


def answered(person: Person, kind: str, server: StudyServer) -> list[dict[str, Any]]:
    """Answer everything there is, by keys and by pointer in turn; what is stored is what was entered."""
    study = read_study(server.study)
    asks, language = kind_of(study), person.page.locator("html").get_attribute("lang") or ""
    rng, expected, handle = np.random.default_rng(7), [], ""
    while (at := person.at_page()) != "finished":
        if at != "trial":
            look(person, language, f"{kind}-{at}")
            person.goes_to("trial")
        handle = person.trial(after=handle)
        if not expected:
            expect(person.page.locator("#hint")).not_to_be_empty()
            look(person, language, f"{kind}-open")
        stimulus = asked(server, handle)
        raw = asks.simulate([rng.dirichlet(np.ones(len(study.classes))).tolist()], stimulus, study, rng)
        expected.append(msgspec.to_builtins(asks.parse(raw, stimulus, study)))
        person.page.set_viewport_size({"width": 1200, "height": 800})
        (by_keys if len(expected) % 2 else by_pointer)(person, kind, raw)
        expect(person.page.locator("#status")).not_to_be_empty()
        if len(expected) == 1:
            look(person, language, f"{kind}-answered", (("phone", "dark"),))
        (person.submits_by_key if len(expected) % 2 else person.submits_by_click)()
        # The next trial or another page: until then the page is still called "trial", without an open one.
        after = f'.trial[data-open]:not([data-open="{handle}"]), #page:not([data-page="trial"])'
        person.page.locator(after).first.wait_for(state="attached")
    stored = person.stored(server, len(expected))
    for row, answer in zip(stored, expected, strict=True):
        for name in row["payload"]:
            given, entered = row["payload"][name], answer[name]
            assert given == entered or sorted(given) == sorted(entered)
    return stored


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS if kind.name not in WHOLE])
def test_the_form_in_german(kind: str, visitor: Visitor, served: Served) -> None:
    server = served(kind, classes=CLASSES["de"], n_each=3, languages=("de",), framing="others")
    person = Person.joins(visitor(bypass_csp=True), server)
    person.begins()
    look(person, "de", kind, (("phone", "dark"),))
    DRIVERS[kind].simplest(person)
    look(person, "de", f"{kind}-answered")


@pytest.mark.parametrize("language", LANGUAGES)
def test_scripts_and_server_say_the_same(language: str, visitor: Visitor, shared: Served) -> None:
    """Every sentence that scripts may say, for many numbers, with names like markup or like more to fill in."""
    server = shared("plausible", languages=LANGUAGES)
    texts = translations_for(language)
    person = Person.joins(visitor(locale=language), server)
    values = {
        name: f"<b>{{n}}</b> {name} $& %s" for name in re.findall(r"\{(\w+)\}", str(texts.sentences)) if name != "n"
    }
    keys = sorted(key for key in leaves(texts.for_script(["plausible"])))
    numbers = [0, 1, 2, 3, 5, 11, 21, 100, 101, 1_000_000, 1.5, 0.5]
    said = person.page.evaluate(
        """async ([keys, numbers, values]) => {
          const { say } = await import('/static/texts.js');
          return keys.map((key) => numbers.map((n) => say(key, { ...values, n })));
        }""",
        [keys, numbers, values],
    )
    for key, row in zip(keys, said, strict=True):
        assert row == [texts.say(key, **values, n=n) for n in numbers], key
