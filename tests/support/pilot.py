"""Runs the pilot study of docs/guide.md: its study file and commands, and simulated participants in real browsers.

Four participants answer carefully, one always presses the same key. Their answers and response times are defined here;
the times pass on the browser's artificial clock, so that tests need not wait.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from drawn_animals import draw_animal
from http_participants import wait_until_reachable
from playwright.sync_api import Browser, Page, expect
from study_server import StudyServer

from browser import CONTINUE_BUTTONS, Person, asked, by_keys, by_pointer, steps_of_tokens

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
SESSION = re.compile(r"^```text\n(\$ .*?)^```", re.DOTALL | re.MULTILINE)
"""A block of the guide with commands, each after a `$`, and their output."""
PICTURES = {
    "practice-1": (0.0, 1.0),
    "check-1": (0.05, 1.2),
    "check-2": (1.0, 1.2),
    "photo-1": (0.1, 2.2),
    "photo-2": (0.24, 2.6),
    "photo-3": (0.36, 3.0),
    "photo-4": (0.46, 3.4),
    "photo-5": (0.54, 3.4),
    "photo-6": (0.64, 3.0),
    "photo-7": (0.76, 2.6),
    "photo-8": (0.92, 2.2),
}
"""Per picture: 0 for a cat to 1 for a dog, and the blur radius."""
DOG_TOKENS: Mapping[str, Sequence[int]] = {
    "practice-1": (0, 0, 0, 0),
    "check-1": (0, 0, 1, 0),
    "check-2": (10, 10, 10, 9),
    "photo-1": (0, 0, 0, 0),
    "photo-2": (0, 0, 0, 5),
    "photo-3": (2, 3, 1, 5),
    "photo-4": (5, 4, 5, 6),
    "photo-5": (1, 9, 0, 10),
    "photo-6": (7, 6, 8, 9),
    "photo-7": (10, 10, 5, 10),
    "photo-8": (10, 10, 10, 10),
}
"""Tokens on dog of each careful participant. All are unsure about photo-4; on photo-5 all are sure but disagree."""
N_CAREFUL = 4
N_DISPUTED = 7
"""All photos except the clear cat, because the careless participant always answers cat."""
CARELESS_MS = 350
TRANSIENT = ("", "trial", "connecting", "waiting", "picture")
SHOWS_SOMETHING = '.trial[data-open]:not([data-open=""]), #page' + "".join(
    f':not([data-page="{name}"])' for name in TRANSIENT
)
"""A trial that can be answered, or a page to read."""
BUTTONS = {name: way for name, way in CONTINUE_BUTTONS.items() if name != "rest"} | {
    "comprehension": ("question:0:I say how likely each class is", "check"),
    "feedback": ("continue",),
}
"""The buttons that leave each page. A study with one batch has no break page."""
TIMEOUT_MS = 60_000
Run = Callable[[list[str]], str]
Look = Callable[[Page, str], None]


@dataclass(frozen=True)
class Typed:
    """A command of the guide, and its output according to the guide."""

    command: str
    output: str


def typed_in(guide: str) -> list[Typed]:
    """All commands of the guide, in order."""
    parts = [part for block in SESSION.findall(guide) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [Typed(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def as_process(folder: Path) -> Run:
    """A function that runs commands as processes in `folder`."""

    def run(words: list[str]) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = os.environ | {"PATH": path, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@dataclass
class Pilot:
    """One run of the guide, in an empty folder. `look` is called with the pages to take screenshots of."""

    folder: Path
    chromium: Browser
    run: Run
    look: Look = lambda page, name: None
    size: Mapping[str, int] = field(default_factory=lambda: {"width": 1000, "height": 640})
    scale: float = 1.0
    port: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    """The output of each command."""
    seconds: dict[str, float] = field(default_factory=dict)
    """The seconds of each command and of each participant."""

    def run_guide(self) -> None:
        """Run everything in the order of the guide."""
        guide = GUIDE.read_text(encoding="utf-8")
        (study_file,) = re.findall(r"^```toml\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
        for typed in typed_in(guide):
            if typed.command.startswith("sfumato serve"):
                self._serve(typed.command)
                continue
            with self._timed(typed.command):
                self.outputs[typed.command] = self.run(shlex.split(typed.command))
            if typed.command.startswith("sfumato study new"):
                for name, (dogness, blur) in PICTURES.items():
                    draw_animal(self.folder / "pets" / "images" / f"{name}.png", dogness, blur)
                (self.folder / "pets" / "study.toml").write_text(study_file)

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds[what] = time.perf_counter() - begun

    def _serve(self, command: str) -> None:
        # Simulated participants answer faster than people, so there is no rate limit.
        server = StudyServer(self.folder / "pets", port=self.port)
        with self._timed(command):
            server.start()
        try:
            wait_until_reachable(server)
            for number in range(N_CAREFUL + 1):
                with self._timed(f"person {number + 1}"):
                    self._take_part(number, server)
            with self._timed("studio"):
                self._use_dashboard(server)
        finally:
            server.kill(signal.SIGINT)
        self.outputs[command] = server.log.read_text()

    def _new_page(self) -> Page:
        context = self.chromium.new_context(
            viewport=self.size,  # type: ignore[arg-type]
            device_scale_factor=self.scale,
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        return page

    # --- participants ---

    def _take_part(self, number: int, server: StudyServer) -> None:
        """One participant, from the first page to the completion code."""
        page = self._new_page()
        page.clock.install()
        looks = self.look if number == 0 else lambda page, name: None
        person = Person.joins(page, server)
        if number == 1:
            self._fail_comprehension(person)
        seen: list[str] = []
        while (now := self._current_page(person)) != "finished":
            if now != "trial":
                looks(page, now)
                for name in BUTTONS[now]:
                    page.locator(f'main [data-name="{name}"]').click()
                page.locator(f'#page[data-page="{now}"]').wait_for(state="detached")
                continue
            item = asked(server, person.trial()).item
            self._answer(person, number, item, again=item in seen)
            seen.append(item)
            if item == "photo-4" and seen.count(item) == 1:
                looks(page, "trial")
            person.submits_by_key()
        page.locator("#saved").get_by_text("All answers saved").wait_for()
        looks(page, "finished")
        page.context.close()

    def _current_page(self, person: Person) -> str:
        person.page.locator(SHOWS_SOMETHING).first.wait_for(state="attached")
        return person.page.locator("#page").get_attribute("data-page") or ""

    def _fail_comprehension(self, person: Person) -> None:
        """Choose a wrong answer in the comprehension check, and return to the instructions."""
        person.goes_to("comprehension")
        for name in ("question:0:I guess one class", "check", "again"):
            person.page.locator(f'main [data-name="{name}"]').click()

    def _answer(self, person: Person, number: int, item: str, *, again: bool) -> None:
        if number == N_CAREFUL:
            person.presses(person.key_of("cat"))
            person.page.clock.fast_forward(CARELESS_MS)
            return
        dog = dog_tokens(item, number, again=again)
        answer = {"tokens": {"cat": 10 - dog, "dog": dog}, "others": False}
        (by_pointer if number == 3 else by_keys)(person, "tokens", answer)
        # Participants who split their tokens take longer.
        n_steps = len(steps_of_tokens(answer["tokens"]))
        person.page.clock.fast_forward(5000 + 700 * n_steps + 300 * number)

    # --- the researcher ---

    def _use_dashboard(self, server: StudyServer) -> None:
        """Check the flags and disputed items on the dashboard after everybody has finished; then pause the study."""
        page = self._new_page()
        page.goto(re.findall(r"works once: (\S+)", server.log.read_text())[-1])
        page.locator('[data-name="enter"]').click()
        expect(page.locator("#state-text")).to_have_text("All answers collected", timeout=TIMEOUT_MS)
        expect(page.locator("#figures")).to_contain_text("5 finished", timeout=TIMEOUT_MS)
        careless = page.locator("#people tbody tr", has_text="hasty, same answer in a row")
        expect(careless).to_contain_text("1 of 2", timeout=TIMEOUT_MS)
        expect(page.locator("#disputed > li", has_text="5 answers")).to_have_count(N_DISPUTED, timeout=TIMEOUT_MS)
        self.look(page, "studio")
        page.locator("#pause").click()
        page.locator('[data-name="pause-yes"]').click()
        expect(page.locator("#state-text")).to_contain_text("Paused since", timeout=TIMEOUT_MS)
        page.context.close()


def dog_tokens(item: str, number: int, *, again: bool = False) -> int:
    """Tokens on dog of a careful participant; when asked again, one token more on the class with more tokens."""
    first = DOG_TOKENS[item][number]
    return first if not again or first in (0, 5, 10) else first + (1 if first > 5 else -1)
