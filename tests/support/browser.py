"""A simulated participant in a browser: writes a small study, goes through its pages, and fills in each kind's form.

`by_keys`, `by_pointer` and `by_touch` enter an answer as a person would: with the keys in the form's legend, or by
clicking or tapping controls, which are found by their `data-name`. `DRIVERS` lists one small driver per kind.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect
from study_server import StudyServer

from sfumato.study.stimulus import Stimulus

CLASSES = ("cat", "dog", "ship", "frog")
TIMEOUT_SECONDS = 60
expect.set_options(timeout=1000 * TIMEOUT_SECONDS)
THUMB_MARGIN_PX = 14
"""Distance on a slider's track from its ends to 0% and 100%."""


def write_study(
    folder: Path,
    kind: str,
    *,
    classes: Sequence[str] = CLASSES,
    settings: Mapping[str, Any] | None = None,
    texts: Sequence[str] | None = None,
    n_each: int = 3,
    title: str = "What do you see?",
    consent: str = "Taking part is voluntary.",
    instructions: str = "Say what you see, and **how sure** you are.",
    practice: bool = False,
    practice_region: Mapping[str, Any] | None = None,
    comprehension: bool = False,
    framing: str = "own",
    pay: bool = False,
    answers_per_item: int = 1000,
    batch_size: int | None = None,
    repeats: int = 0,
    lease_minutes: float = 10,
    deeper: Mapping[str, Any] | None = None,
    languages: Sequence[str] = ("en",),
    tail: str = "",
) -> Path:
    """Write a study of `kind` with `n_each` pictures per class, or with `texts`; by default all in one batch.

    `tail` is appended to its file, for further tables.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if texts is None:
        _draw(folder / "images", classes, n_each)
    else:
        rows = [
            f"t{number},{json.dumps(text).replace(chr(92) + chr(34), chr(34) * 2)}" for number, text in enumerate(texts)
        ]
        (folder / "texts.csv").write_text("\n".join(["item,text", *rows]) + "\n")
    # As many combinations as a batch has, for kinds that combine items.
    few = {"similarity": {"pairs": 12}, "triplet": {"triplets": 12}, "mixture": {"pairs": 12}}.get(kind, {})
    tables: dict[str, dict[str, Any]] = {
        "items": {"csv": "texts.csv"} if texts is not None else {"folder": "images"},
        "question": {"kind": kind, "framing": framing, **few, **(settings or {})},
        "pages": {"consent": consent, "instructions": instructions},
        "people": {"answers_per_item": answers_per_item, "batch_size": batch_size or 12, "repeats": repeats},
        "limits": {"lease_minutes": lease_minutes},
    }
    if deeper is not None:
        # Adaptive assignment needs the value of a deeper answer in votes.
        tables["people"]["assignment"] = "adaptive" if "votes" in deeper else "fewest"
        tables["deeper"] = dict(deeper)
    if pay:
        tables["pay"] = {"amount": 2.5, "currency": "EUR", "minutes": 8}
    lines = [f"title = {_toml(title)}", f"classes = {_toml(list(classes))}", f"languages = {_toml(list(languages))}"]
    for name, values in tables.items():
        lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
    if practice:
        first = "t0" if texts is not None else f"{classes[0]}/{classes[0]}-0"
        lines += ["[[practice]]", f"item = {_toml(first)}", 'feedback = "This one is **clear**."']
        lines += [f"{key} = {_toml(value)}" for key, value in (practice_region or {}).items()]
    if comprehension:
        lines += ["[[comprehension]]", 'question = "What is asked?"', 'choices = ["a guess", "what I think"]']
        lines += ['answer = "what I think"']
    (folder / "study.toml").write_text("\n".join(lines) + "\n" + tail)
    return folder


def _toml(value: Any) -> str:
    # JSON strings, lists, numbers and booleans are valid TOML.
    return json.dumps(value)


def _draw(folder: Path, classes: Sequence[str], n_each: int) -> None:
    from PIL import Image, ImageDraw

    for index, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(n_each):
            picture = Image.new("RGB", (48, 48), (230, 226, 216))
            edges = (6 + 3 * number, 8, 40, 40 - 4 * number)
            draw = ImageDraw.Draw(picture)
            draw.rounded_rectangle(edges, 2 + 4 * index, fill=(40 + 20 * index, 90, 200 - 18 * index))
            picture.save(folder / name / f"{name}-{number}.png")


def rows(server: StudyServer, link: str | None = None, *, practice: bool = False) -> list[dict[str, Any]]:
    """The answers in the server's SQLite file, oldest first; those of one person if their `link` is given.

    `payload` and `record` are decoded; `item`, `others` and `told` describe the stimulus.
    """
    query = (
        "select answers.*, items.item as item_id, items.others, items.told from answers "
        "join items on items.id = answers.item join annotators on annotators.id = answers.annotator "
        "where (? is null or annotators.token_hash = ?) order by answers.id"
    )
    hashed = None if link is None else hashlib.sha256(link.rsplit("/", 1)[1].encode()).hexdigest()
    file = server.study / "store" / "answers.sqlite"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
        store.row_factory = sqlite3.Row
        found = [dict(row) for row in store.execute(query, (hashed, hashed))]
    for row in found:
        for name in ("payload", "record", "others", "told"):
            row[name] = json.loads(row[name])
    return [row for row in found if practice or row["purpose"] != "practice"]


def asked(server: StudyServer, handle: str) -> Stimulus:
    """The stimulus of the trial with this handle."""
    query = "select item.item, others, told from trials join items as item on item.id = trials.item where handle = ?"
    file = server.study / "store" / "answers.sqlite"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
        item, others, told = store.execute(query, (handle,)).fetchone()
    return Stimulus(item, tuple(json.loads(others)), json.loads(told))


@dataclass
class Person:
    """A participant: their page and their link."""

    page: Page
    link: str
    pressed: list[str] = field(default_factory=list)
    """All keys pressed so far."""
    touched: list[str] = field(default_factory=list)
    """The `data-name` of all controls clicked or tapped so far."""

    @classmethod
    def joins(cls, page: Page, server: StudyServer) -> Person:
        """A new participant who has pressed "Take part" and sees the first page of the study."""
        page.goto(server.url)
        page.locator('[data-name="join"]').click()
        page.wait_for_url("**/s/*")
        person = cls(page, page.url)
        person.at_page()
        return person

    @property
    def config(self) -> dict[str, Any]:
        """The configuration in the page: classes and their keys, settings and so on."""
        return json.loads(self.page.locator("#config").text_content() or "")

    def key_of(self, name: str) -> str:
        return next(each["key"] for each in self.config["classes"] if each["name"] == name)

    def at_page(self, *, even: str = "") -> str:
        """Wait for a page and return its name; pages that continue by themselves count only if named by `even`."""
        # Selectors instead of functions: the content security policy forbids waiting for a function.
        passing = [name for name in ("", "connecting", "waiting", "picture") if not even or name != even]
        nowhere = ", ".join(f'[data-page="{name}"]' for name in passing)
        shown = self.page.locator(f"#page:not({nowhere})")
        shown.wait_for(state="attached")
        return shown.get_attribute("data-page") or ""

    def goes_to(self, wanted: str) -> None:
        """Continue to the page `wanted`: consent, instructions, comprehension, trial, ... rest, finished."""
        while (now := self.at_page(even=wanted)) != wanted:
            assert now in CONTINUE_BUTTONS, f"no way to continue from the page {now}"
            for name in CONTINUE_BUTTONS[now]:
                self.page.locator(f'main [data-name="{name}"]').click()
            self.page.locator(f'#page[data-page="{now}"]').wait_for(state="detached")

    def begins(self) -> str:
        """Go to the first trial that is not practice (or the next one after a break) and return its handle."""
        while True:
            if self.at_page() != "trial":
                self.goes_to("trial")
            handle = self.trial()
            if not self.page.locator(".practice").is_visible():
                return handle
            self.practices()

    def practices(self) -> None:
        """Answer a practice trial in the simplest way, and continue after the feedback."""
        handle = self.trial()
        answer = self.page.evaluate("document.querySelector('.form').localName")
        DRIVERS[answer.removeprefix("sfumato-").replace("-", "_")].simplest(self)
        self.page.keyboard.press("Enter")
        self._until_answered(handle)
        if self.at_page() == "feedback":
            self.page.locator('main [data-name="continue"]').click()
            self.page.locator('#page[data-page="feedback"]').wait_for(state="detached")

    def trial(self, after: str = "") -> str:
        """Wait until a trial (another than `after`) is open to be answered; returns its handle."""
        shown = self.page.locator(f'.trial[data-open]:not([data-open="{after}"])')
        shown.wait_for(state="attached")
        return shown.get_attribute("data-open") or ""

    def stored(self, server: StudyServer, n: int) -> list[dict[str, Any]]:
        """This person's `n` answers that count, once the server has stored so many."""
        limit = time.monotonic() + TIMEOUT_SECONDS
        while len(found := rows(server, self.link)) < n:
            assert time.monotonic() < limit, f"{len(found)} of {n} answers stored"
            self.page.wait_for_timeout(10)
        return found

    def _until_answered(self, handle: str) -> None:
        self.page.locator(f'.trial[data-open="{handle}"]').wait_for(state="detached")

    def submits_by_key(self) -> None:
        """Press Enter once the answer is complete, and wait until the trial has disappeared."""
        self.trial()
        self.page.locator('.trial [data-name="submit"]:not([aria-disabled="true"])').wait_for()
        self._submits(lambda: self.presses("Enter"))

    def submits_by_click(self) -> None:
        self._submits(lambda: self.clicks("submit"))

    def submits_by_tap(self) -> None:
        self._submits(lambda: self.taps("submit"))

    def _submits(self, press: Callable[[], None]) -> None:
        handle = self.trial()
        press()
        self._until_answered(handle)

    def presses(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.pressed += keys

    def clicks(self, name: str, share: float | None = None) -> None:
        """Click the control `name`; for a slider, at `share` of its track."""
        self.named(name).click(position=self._place(name, share))
        self.touched.append(name)

    def taps(self, name: str, share: float | None = None) -> None:
        self.named(name).tap(position=self._place(name, share))
        self.touched.append(name)

    def _place(self, name: str, share: float | None) -> Any:
        if share is None:
            return None
        box = self.named(name).bounding_box()
        assert box is not None
        x = THUMB_MARGIN_PX + share * (box["width"] - 2 * THUMB_MARGIN_PX)
        return {"x": x, "y": box["height"] / 2}

    def named(self, name: str) -> Locator:
        """The control with this `data-name`, with any characters."""
        return self.page.locator(f"[data-name={json.dumps(name)}]")


CONTINUE_BUTTONS: Mapping[str, tuple[str, ...]] = {
    "consent": ("agree",),
    "instructions": ("continue",),
    "comprehension": ("question:0:what I think", "check"),
    "practised": ("continue",),
    "rest": ("continue",),
}
"""The buttons to press on each page that is only read."""


@dataclass(frozen=True)
class Driver:
    """How to fill in one kind's form: by keys, and by controls (`press` is the person's `clicks` or `taps`)."""

    by_keys: Callable[[Person, dict[str, Any]], None]
    by_controls: Callable[[Person, dict[str, Any], Callable[..., None]], None]
    simplest: Callable[[Person], None]
    """Any complete answer, with few keys."""


def by_keys(person: Person, kind: str, answer: dict[str, Any]) -> None:
    """Enter `answer` with keys; the caller presses Enter."""
    DRIVERS[kind].by_keys(person, answer)


def by_pointer(person: Person, kind: str, answer: dict[str, Any]) -> None:
    """Enter `answer` with the mouse, except numbers that are typed into fields."""
    DRIVERS[kind].by_controls(person, answer, person.clicks)


def by_touch(person: Person, kind: str, answer: dict[str, Any]) -> None:
    DRIVERS[kind].by_controls(person, answer, person.taps)


Press = Callable[..., None]
Answer = dict[str, Any]


def steps_of_tokens(tokens: Mapping[str, int]) -> list[str]:
    """The classes to press, in order, so that each gets its tokens: the largest first, then one press per token."""
    largest, *others = sorted((name for name in tokens if tokens[name]), key=lambda name: -tokens[name])
    return [largest, *(name for name in others for _ in range(tokens[name]))]


def _tokens_keys(person: Person, answer: Answer) -> None:
    person.presses(*(person.key_of(name) for name in steps_of_tokens(answer["tokens"])))
    if answer["others"]:
        person.presses("o")


def _tokens_controls(person: Person, answer: Answer, press: Press) -> None:
    for name in steps_of_tokens(answer["tokens"]):
        press(f"class:{name}")
    if answer["others"]:
        press("others")


def _choice_keys(person: Person, answer: Answer) -> None:
    person.presses(person.key_of(answer["class"]))


def _choice_controls(person: Person, answer: Answer, press: Press) -> None:
    press(f"class:{answer['class']}")


def _top_two_keys(person: Person, answer: Answer) -> None:
    person.presses(person.key_of(answer["first"]), *f"{answer['first_percent']:g}", "Tab")
    if answer["second"] is None:
        person.presses("n")
    else:
        person.presses(person.key_of(answer["second"]), *f"{answer['second_percent']:g}", "Tab")
    person.presses(*(person.key_of(name) for name in answer["impossible"]))


def _top_two_controls(person: Person, answer: Answer, press: Press) -> None:
    press(f"first:{answer['first']}")
    press("first_percent")
    person.presses(*f"{answer['first_percent']:g}")
    press(f"second:{answer['second'] or 'none'}")
    if answer["second"] is not None:
        press("second_percent")
        person.presses(*f"{answer['second_percent']:g}")
    for name in answer["impossible"]:
        press(f"impossible:{name}")


def _tenth(share: float) -> str:
    """The key for a share in tenths: its digit, or `f` for 100%."""
    return "f" if share == 1 else str(round(10 * share))


def _mixture_keys(person: Person, answer: Answer) -> None:
    person.presses(_tenth(answer["share"]), _tenth(answer["confidence"]))


def _mixture_controls(person: Person, answer: Answer, press: Press) -> None:
    for question in ("share", "confidence"):
        press(f"{question}:{round(100 * answer[question])}")


def _plausible_keys(person: Person, answer: Answer) -> None:
    for name, mark in answer.items():
        if mark != "no":
            person.presses(*[person.key_of(name)] * (1 + (mark == "unsure")))
    if "no" in answer.values():
        person.presses("n")


def _plausible_controls(person: Person, answer: Answer, press: Press) -> None:
    for name, mark in answer.items():
        press(f"{mark}:{name}")


def _sliders_keys(person: Person, answer: Answer) -> None:
    for name, share in answer.items():
        if share == 0:
            continue
        person.presses(person.key_of(name), _tenth(int(10 * share + 1e-9) / 10))
        # A digit sets tens; an arrow key adds one step.
        if round(100 * share) % 10:
            person.presses("ArrowRight")
    if 0 in answer.values():
        person.presses("n")


def _sliders_controls(person: Person, answer: Answer, press: Press) -> None:
    for name, share in answer.items():
        press(f"fit:{name}", share)


def _typicality_keys(person: Person, answer: Answer) -> None:
    person.presses(_tenth(answer["typicality"]))


def _typicality_controls(person: Person, answer: Answer, press: Press) -> None:
    press(f"step:{round(10 * answer['typicality'])}")


def _similarity_keys(person: Person, answer: Answer) -> None:
    person.presses(str(answer["rating"]))


def _similarity_controls(person: Person, answer: Answer, press: Press) -> None:
    press(f"rating:{answer['rating']}")


def _triplet_keys(person: Person, answer: Answer) -> None:
    sides = person.page.locator(".side").evaluate_all("sides => sides.map(side => side.dataset.name)")
    person.presses(["ArrowLeft", "ArrowRight"][sides.index(f"closer:{answer['closer']}")])


def _triplet_controls(person: Person, answer: Answer, press: Press) -> None:
    press(f"closer:{answer['closer']}")


DRIVERS: Mapping[str, Driver] = {
    "choice": Driver(_choice_keys, _choice_controls, lambda person: person.presses("1")),
    "tokens": Driver(_tokens_keys, _tokens_controls, lambda person: person.presses("1")),
    "top_two": Driver(_top_two_keys, _top_two_controls, lambda person: person.presses("1", "9", "0", "Tab", "n")),
    "mixture": Driver(_mixture_keys, _mixture_controls, lambda person: person.presses("5", "5")),
    "plausible": Driver(_plausible_keys, _plausible_controls, lambda person: person.presses("n")),
    "sliders": Driver(_sliders_keys, _sliders_controls, lambda person: person.presses("n")),
    "typicality": Driver(_typicality_keys, _typicality_controls, lambda person: person.presses("5")),
    "similarity": Driver(_similarity_keys, _similarity_controls, lambda person: person.presses("5")),
    "triplet": Driver(_triplet_keys, _triplet_controls, lambda person: person.presses("1")),
}
