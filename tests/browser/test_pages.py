"""How pages and forms look and can be reached: axe-core, light and dark, on a desk and on a telephone.

With SFUMATO_SCREENSHOTS set to a folder, every page and form is also saved there as a picture.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from accessibility_checks import TWO_WAYS, look_closely
from http_participants import wait_until_reachable
from playwright.sync_api import Page
from study_server import StudyServer

from browser import CONTINUE_BUTTONS, DRIVERS, Person, write_study
from sfumato.elicitation.kinds import KINDS

Visitor = Callable[..., Page]
Served = Callable[..., StudyServer]

NAMES = [kind.name for kind in KINDS]
BRIEFLY = ("choice", "tokens", "top_two", "sliders")
"""Those that `make test` looks at; `make faults` at all."""
MORE_WITH_TEN = ("plausible", "sliders", "choice")
MOST_STOPS = 80

LOOKS = """() => {
  const look = (element) => {
    const style = getComputedStyle(element);
    return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow].join(' ');
  };
  const controls = [...document.querySelectorAll('button, input:not([type=hidden]), [role=slider]')];
  return controls.map((control) => {
    const label = control.closest('label') ?? control;
    return [label, ...label.querySelectorAll('*')].map(look).join('; ');
  });
}"""
FOCUSED = """() => [...document.querySelectorAll('button, input:not([type=hidden]), [role=slider]')]
  .indexOf(document.activeElement)"""


def tab_through(page: Page, name: str) -> None:
    """Every control that Tab leads to looks different with the focus on it."""
    page.evaluate("document.activeElement.blur()")
    before = page.evaluate(LOOKS)
    seen: list[int] = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at in seen:
            break
        if at >= 0:
            seen.append(at)
            assert page.evaluate(LOOKS)[at] != before[at], f"{name}: the focus on control {at} cannot be seen"
    assert seen


@pytest.mark.parametrize(
    "name", [name if name in BRIEFLY else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_forms_can_be_read_reached_and_hit(name: str, visitor: Visitor, shared: Served) -> None:
    person = Person.joins(visitor(bypass_csp=True), shared(name))
    person.begins()
    look_closely(person.page, name)
    tab_through(person.page, name)
    person.page.reload()
    person.begins()
    DRIVERS[name].simplest(person)
    look_closely(person.page, f"{name}-answered", TWO_WAYS)


@pytest.mark.parametrize(
    "name", ["tokens", "top_two", *(pytest.param(name, marks=pytest.mark.slow) for name in MORE_WITH_TEN)]
)
def test_forms_with_ten_classes(name: str, visitor: Visitor, served: Served) -> None:
    ten = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "container ship at sea")
    settings = {"drag": True} if name == "tokens" else {}
    person = Person.joins(visitor(bypass_csp=True), served(name, classes=ten, n_each=1, settings=settings))
    person.begins()
    DRIVERS[name].simplest(person)
    look_closely(person.page, f"{name}-ten", TWO_WAYS)


def test_pages_can_be_read_reached_and_hit(visitor: Visitor, served: Served) -> None:
    server = served("choice", batch_size=1, practice=True, comprehension=True, pay=True)
    page = visitor(bypass_csp=True, forgiving=True)
    page.goto(f"{server.url}/s/nobody")
    look_closely(page, "unknown-link", TWO_WAYS)
    page.goto(server.url)
    look_closely(page, "landing")
    tab_through(page, "landing")
    person = Person.joins(page, server)
    look_closely(page, "consent")
    tab_through(page, "consent")
    for stage in ("instructions", "comprehension"):
        person.goes_to(stage)
        look_closely(page, stage)
        tab_through(page, stage)
    person.clicks("question:0:a guess")
    person.clicks("check")
    page.locator('#page[data-page="wrong"]').wait_for()
    look_closely(page, "wrong", TWO_WAYS)
    person.clicks("again")
    person.goes_to("trial")
    person.clicks("help")
    look_closely(page, "help", TWO_WAYS)
    person.clicks("help-close")
    person.clicks("stop")
    look_closely(page, "stop", TWO_WAYS)
    person.clicks("stop-no")
    DRIVERS["choice"].simplest(person)
    person.presses("Enter")
    page.locator(".feedback").wait_for()
    look_closely(page, "feedback", TWO_WAYS)
    person.clicks("continue")
    page.locator('#page[data-page="practised"]').wait_for()
    look_closely(page, "practised", TWO_WAYS)
    person.begins()
    DRIVERS["choice"].simplest(person)
    person.presses("Enter")
    page.locator('#page[data-page="finished"]').wait_for()
    look_closely(page, "finished")
    tab_through(page, "finished")


def test_people_rest_between_batches_and_not_before_the_last_few(tmp_path: Path, visitor: Visitor) -> None:
    check = '[[checks]]\nitem = "cat/cat-0"\nclasses = ["cat"]\nat_least = 0.6\nat = 1\n'
    file = write_study(tmp_path / "study", "choice", batch_size=3, tail=check) / "study.toml"
    file.write_text(file.read_text().replace("[people]", "[people]\nbatches = 2"))
    with StudyServer(file.parent) as server:
        person = Person.joins(visitor(), wait_until_reachable(server))
        rested_after = []
        for done in range(7):
            while (now := person.at_page()) != "trial":
                rested_after += [done] if now == "rest" else []
                for name in CONTINUE_BUTTONS[now]:
                    person.clicks(name)
                person.page.locator(f'#page[data-page="{now}"]').wait_for(state="detached")
            person.trial()
            DRIVERS["choice"].simplest(person)
            person.submits_by_key()
        person.page.locator('#page[data-page="finished"]').wait_for()
    # Two batches of three and a check: seven answers, in parts that do not show how many checks there are.
    assert rested_after == [4]
