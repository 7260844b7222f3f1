"""Every kind's form in a real browser: what a person enters by keys, by mouse or by touch is what is stored."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from keystroke_model import (
    nearest_tokens,
    operators,
    planned_tokens,
    planned_top_two,
    seconds,
)
from playwright.sync_api import Page, expect
from study_server import StudyServer

from browser import DRIVERS, Person, asked, by_keys, by_pointer, by_touch, rows
from sfumato.elicitation.kinds import KINDS, kind_of
from sfumato.elicitation.kinds.top_two import TopTwoKind
from sfumato.labeling import TopTwoClamp
from sfumato.study import read_study
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import InvalidAnswer
from sfumato.tables.payloads import payload_kind

Visitor = Callable[..., Page]
Served = Callable[..., StudyServer]

NAMES = [kind.name for kind in KINDS]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
WAYS: dict[str, tuple[Callable[..., None], Callable[[Person], None], dict[str, Any], str]] = {
    "keys": (by_keys, Person.submits_by_key, {}, "none"),
    "pointer": (by_pointer, Person.submits_by_click, {}, "mouse"),
    "touch": (by_touch, Person.submits_by_tap, PHONE, "touch"),
}
HOSTILE = ("<img src=x onerror=alert(1)>", '"><script>alert(2)</script>', "plain & 'quoted'")
N_PUBLISHED = 24


def beliefs(rng: np.random.Generator, study: Study, n_shown: int) -> list[list[list[float]]]:
    """What people may believe of what is shown: all of it certain, two classes alike, spread out, next to nothing."""
    n = len(study.classes)
    certain, two = np.eye(n), np.eye(n) / 2 + np.roll(np.eye(n), 1, axis=1) / 2
    drawn = [rng.dirichlet(np.full(n, concentration), n_shown) for concentration in (0.4, 2.0)]
    return [
        each.tolist() for each in (certain[rng.integers(n, size=n_shown)], two[rng.integers(n, size=n_shown)], *drawn)
    ]


def as_stored(payload: Any) -> Any:
    """A payload as plain values; which class was marked first says nothing."""
    plain = msgspec.json.decode(msgspec.json.encode(payload))
    return plain | {"impossible": sorted(plain["impossible"])} if "impossible" in plain else plain


def entering(record: dict[str, Any]) -> list[list[Any]]:
    """The events that are somebody's doing; the others follow from them."""
    return [event for event in record["events"] if event[1] in ("keydown", "pointerdown", "pointerup")]


def test_every_kind_has_a_driver() -> None:
    assert sorted(DRIVERS) == sorted(NAMES)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_entered_is_what_is_stored(name: str, way: str, visitor: Visitor, shared: Served) -> None:
    enter, submit, options, pointer = WAYS[way]
    server = shared(name)
    study = read_study(server.study)
    kind = kind_of(study)
    rng = np.random.default_rng([NAMES.index(name), list(WAYS).index(way)])
    person = Person.joins(visitor(**options), server)
    handle, expected, said = person.begins(), [], []
    n_shown = len(asked(server, handle).shown)
    for belief in beliefs(rng, study, n_shown):
        stimulus = asked(server, handle)
        raw = kind.simulate(belief, stimulus, study, rng)
        expected.append(as_stored(kind.parse(raw, stimulus, study)))
        person.pressed.clear()
        person.touched.clear()
        sides = person.page.locator(".side").evaluate_all("all => all.map(each => each.dataset.name.split(':')[1])")
        enter(person, name, raw)
        submit(person)
        said.append((list(person.pressed), list(person.touched), sides))
        handle = person.trial(after=handle)
    stored = person.stored(server, len(expected))
    assert [as_stored(row["payload"]) for row in stored] == expected

    config = person.config
    for row, (pressed, touched, sides) in zip(stored, said, strict=True):
        record = row["record"]
        typed = [event[3] for event in record["events"] if event[1] == "keydown"]
        downs, ups, clicked = (
            [event[2] for event in record["events"] if event[1] == what]
            for what in ("pointerdown", "pointerup", "click")
        )
        assert typed == pressed
        assert downs == ups == touched
        # A press on a label is a click of its own and another of its button; neither may be missing.
        assert set(touched) <= set(clicked)
        assert record["order"] == (sides or [each["name"] for each in config["classes"]])
        assert record["keys"] == {each["name"]: each["key"] for each in config["classes"]}
        assert record["viewport"] == [360, 740, 2] if options else record["viewport"] == [1200, 800, 1]
        assert record["pointer"] == pointer
        assert 0 < row["seconds"] <= record["elapsed_ms"] / 1000
        times = [event[0] for event in entering(record)]
        assert times == sorted(times)
        assert times[-1] <= record["elapsed_ms"]
        assert not record["hidden"]
        assert not record["idle"]
        assert record["cut"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_selected_and_nothing_can_be_submitted(name: str, visitor: Visitor, shared: Served) -> None:
    server = shared(name)
    person = Person.joins(visitor(), server)
    handle = person.begins()
    chosen = ':checked, [aria-pressed="true"], [aria-checked="true"], .set, .held'
    assert person.page.locator(f".form :is({chosen})").count() == 0
    typed = person.page.locator(".form input:is([type=text], [type=number])").evaluate_all(
        "all => all.map(x => x.value)"
    )
    assert set(typed) <= {""}
    submit = person.named("submit")
    expect(submit).to_have_attribute("aria-disabled", "true")
    for press in (lambda: person.presses("Enter"), lambda: submit.click(force=True)):
        press()
        hint = person.page.locator("#hint").inner_text()
        assert hint
        expect(person.page.locator("#status")).to_have_text(hint)
        # People who submit too early are taken to what is missing.
        assert person.page.evaluate("document.querySelector('.form').contains(document.activeElement)")
    assert person.trial() == handle
    assert rows(server, person.link) == []


def tabs_to(person: Person, name: str) -> None:
    """Press Tab until the control is reached."""
    for _ in range(80):
        person.page.keyboard.press("Tab")
        if person.page.evaluate("document.activeElement.closest('[data-name]')?.dataset.name") == name:
            return
    raise AssertionError(f"{name} is not reached by Tab")


def without_shortcuts(person: Person) -> None:
    person.clicks("help")
    person.clicks("shortcuts")
    person.clicks("help-close")


def test_tokens_without_shortcuts(visitor: Visitor, shared: Served) -> None:
    server = shared("tokens")
    person = Person.joins(visitor(), server)
    person.begins()
    without_shortcuts(person)
    person.presses("1", "o")
    expect(person.named("submit")).to_have_attribute("aria-disabled", "true")
    tabs_to(person, "class:dog")
    person.presses(" ")
    tabs_to(person, "class:ship")
    person.presses(" ", " ", " ")
    tabs_to(person, "take:ship")
    person.presses(" ")
    tabs_to(person, "others")
    person.presses(" ", "Enter")
    [row] = person.stored(server, 1)
    assert row["payload"] == {"tokens": {"dog": 8, "ship": 2}, "others": True}
    assert row["record"]["shortcuts"] is False


def test_choice_without_shortcuts(visitor: Visitor, shared: Served) -> None:
    server = shared("choice")
    person = Person.joins(visitor(), server)
    person.begins()
    without_shortcuts(person)
    tabs_to(person, "class:frog")
    person.presses(" ")
    # On a button that Tab led to, Enter would press it; Space has pressed it, so Enter submits.
    person.submits_by_key()
    [row] = person.stored(server, 1)
    assert row["payload"] == {"class": "frog"}


@pytest.mark.parametrize(
    ("name", "control", "answer"),
    [("similarity", "rating", {"rating": 2}), ("typicality", "step", {"typicality": 0.2})],
)
def test_scales_without_shortcuts(
    name: str, control: str, answer: dict[str, float], visitor: Visitor, shared: Served
) -> None:
    server = shared(name)
    person = Person.joins(visitor(), server)
    person.begins()
    without_shortcuts(person)
    tabs_to(person, f"{control}:0")
    person.presses(" ", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    person.submits_by_key()
    [row] = person.stored(server, 1)
    assert row["payload"].items() >= answer.items()


def test_people_see_classes_in_orders_of_their_own(visitor: Visitor, shared: Served) -> None:
    server = shared("choice")
    person, orders = Person.joins(visitor(), server), set()
    for _ in range(8):
        joined = urllib.request.Request(f"{server.url}/join", method="POST", headers={"Origin": server.url})
        with urllib.request.urlopen(joined) as reply:
            address = reply.url
        person.page.goto(address)
        person.at_page()
        orders.add(tuple(each["name"] for each in person.config["classes"]))
    assert len(orders) > 1
    assert {tuple(sorted(order)) for order in orders} == {("cat", "dog", "frog", "ship")}


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()


def on_track(person: Person, name: str, share: float) -> tuple[float, float]:
    box = person.named(f"class:{name}").locator(".track").bounding_box()
    assert box is not None
    return box["x"] + share * box["width"], box["y"] + box["height"] / 2


def test_tokens_by_dragging_and_by_clicks_alone(visitor: Visitor, shared: Served) -> None:
    server = shared("tokens", settings={"drag": True})
    person = Person.joins(visitor(), server)
    handle = person.begins()
    # Press on cat, let go at three tenths of dog's track; what the two hold is split there.
    drag(person.page, on_track(person, "cat", 0.5), on_track(person, "dog", 0.25))
    drag(person.page, on_track(person, "cat", 0.1), on_track(person, "ship", 0.15))
    person.submits_by_click()
    handle = person.trial(after=handle)
    # The same without dragging: click one, click the other, press on the bar below.
    person.clicks("class:cat")
    person.clicks("class:dog")
    split = person.named("split")
    box = split.bounding_box()
    assert box is not None
    split.focus()
    person.presses("ArrowLeft", "ArrowLeft")
    expect(split).to_have_attribute("aria-valuetext", "cat 7, dog 3")
    person.clicks("class:ship")
    person.clicks("class:ship")
    person.submits_by_click()
    dragged, clicked = person.stored(server, 2)
    assert dragged["payload"] == clicked["payload"] == {"tokens": {"cat": 5, "dog": 3, "ship": 2}, "others": False}


def test_mixture_by_dragging(visitor: Visitor, shared: Served) -> None:
    server = shared("mixture", settings={"drag": True})
    person = Person.joins(visitor(), server)
    person.begins()
    bar = person.page.locator('[data-question="share"] .mix').bounding_box()
    assert bar is not None
    middle = bar["y"] + bar["height"] / 2
    drag(person.page, (bar["x"] + 4, middle), (bar["x"] + 0.37 * bar["width"], middle))
    person.clicks("confidence:80")
    person.submits_by_click()
    [row] = person.stored(server, 1)
    assert row["payload"]["share"] == pytest.approx(0.37, abs=0.011)
    assert row["payload"]["confidence"] == 0.8


@pytest.mark.parametrize("name", ["choice", "tokens", "top_two", "plausible", "sliders"])
def test_text_from_outside_stays_text(name: str, visitor: Visitor, served: Served) -> None:
    markup = "<b onclick=alert(3)>bold</b> <script>alert(4)</script>"
    server = served(name, classes=HOSTILE, texts=[markup] * 3, title=markup, instructions=markup, consent=markup)
    page = visitor()
    opened: list[str] = []
    page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    page.goto(server.url)
    expect(page.locator("h1")).to_have_text(markup)
    person = Person.joins(page, server)
    for stage in ("consent", "instructions"):
        person.goes_to(stage)
        expect(page.locator('main [data-part="text"]')).to_have_text(markup)
    expect(page.locator(".gallery")).to_contain_text(HOSTILE[0])
    person.begins()
    expect(page.locator(".stimulus")).to_have_text(markup)
    for each in HOSTILE:
        expect(page.locator(".form .name", has_text=each).first).to_be_visible()
    assert page.locator("main :is(img, script, b[onclick])").count() == 0
    study = read_study(server.study)
    raw = kind_of(study).simulate([[1.0, 0.0, 0.0]], Stimulus("t0"), study, np.random.default_rng(0))
    by_pointer(person, name, raw)
    expect(page.locator("#status")).not_to_be_empty()
    person.submits_by_click()
    [row] = person.stored(server, 1)
    assert HOSTILE[0] in str(row["payload"])
    assert opened == []


def published(first_pass: Annotations) -> tuple[list[Any], list[list[float]]]:
    """All published answers, and the beliefs read in them."""
    [(answers, inverse, _)] = first_pass.decoded(payload_kind("top_two/1"))
    soft = TopTwoClamp().label(first_pass).soft
    assert soft is not None
    return [answers[k] for k in inverse.tolist()], soft.tolist()


@pytest.mark.slow
def test_published_answers_as_tokens_take_the_events_planned(
    first_pass: Annotations, visitor: Visitor, served: Served
) -> None:
    _, soft = published(first_pass)
    chosen = np.random.default_rng(10).choice(len(soft), N_PUBLISHED, replace=False)
    answers = [nearest_tokens(soft[k], first_pass.classes) for k in chosen]
    texts = [f"text {k}" for k in range(N_PUBLISHED + 1)]
    server = served("tokens", classes=first_pass.classes, texts=texts, batch_size=N_PUBLISHED + 1)
    person = Person.joins(visitor(), server)
    handle = person.begins()
    for answer in answers:
        by_keys(person, "tokens", msgspec.to_builtins(answer))
        person.submits_by_key()
        handle = person.trial(after=handle)
    for row, answer in zip(person.stored(server, N_PUBLISHED), answers, strict=True):
        record, planned = row["record"], planned_tokens(answer, row["record"]["keys"])
        assert row["payload"] == msgspec.to_builtins(answer)
        assert [event[1:] for event in entering(record)] == [list(event[1:]) for event in planned]
        assert operators(record["events"]) == operators(planned) == operators(planned_tokens(answer))
        assert seconds(record["events"]) == pytest.approx(seconds(planned))


@pytest.mark.slow
def test_published_answers_in_the_published_form_take_the_events_planned(
    first_pass: Annotations, visitor: Visitor, served: Served
) -> None:
    given, _ = published(first_pass)
    texts = [f"text {k}" for k in range(N_PUBLISHED + 1)]
    server = served("top_two", classes=first_pass.classes, texts=texts, batch_size=N_PUBLISHED + 1)
    study = read_study(server.study)
    # A percentage next to "no other option" means nothing: our form has no place for it, and neither has the plan.
    said = [msgspec.structs.replace(each, second_percent=None) if each.second is None else each for each in given]
    taken = [answer for answer in said if is_taken(answer, study)]
    # Second above first, more than 100 together, one class named twice, or named and ruled out: our form refuses them.
    assert len(given) - len(taken) == 717
    answers = [taken[k] for k in np.random.default_rng(11).choice(len(taken), N_PUBLISHED, replace=False)]
    person = Person.joins(visitor(), server)
    handle = person.begins()
    for answer in answers:
        by_pointer(person, "top_two", msgspec.to_builtins(answer))
        person.submits_by_click()
        handle = person.trial(after=handle)
    for row, answer in zip(person.stored(server, N_PUBLISHED), answers, strict=True):
        record, planned = row["record"], planned_top_two(answer)
        assert as_stored(row["payload"]) == as_stored(answer)
        assert [event[1:] for event in entering(record)] == [list(event[1:]) for event in planned]
        assert operators(record["events"]) == operators(planned)
        assert seconds(record["events"]) == pytest.approx(seconds(planned))


def is_taken(answer: Any, study: Study) -> bool:
    try:
        TopTwoKind().parse(msgspec.to_builtins(answer), Stimulus("t0"), study)
    except InvalidAnswer:
        return False
    return True
