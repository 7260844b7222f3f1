"""The researcher's page in a browser: live, in charge, reachable by keyboard, and gone when the session is."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from accessibility_checks import look_closely
from http_participants import SimulatedParticipant, wait_until_reachable
from playwright.sync_api import Browser, Page, expect
from study_server import StudyServer

from browser import CLASSES, rows, write_study
from sfumato.elicitation.researcher_actions import set_second_factor
from sfumato.server.passwords import hash_password
from sfumato.server.server import open_site
from sfumato.store.credentials import new_second_factor
from sfumato.study import read_study

PATIENT_MS = 120_000
PASSWORD = "nine grey geese by the lake"
LIVE = "Live: the figures update automatically."
DECODED = """images => Promise.all(images.map(async (image) => {
  image.loading = 'eager';
  await image.decode();
  return image.naturalWidth;
}))"""
NOTE_WHAT_IS_SHOWN = """addEventListener('pageshow', (event) => {
  const figures = document.querySelector('#answers') ? ' figures' : '';
  sessionStorage.shown = `${sessionStorage.shown ?? ''}${event.persisted ? 'kept' : 'loaded'}${figures};`;
})"""
expect.set_options(timeout=PATIENT_MS)


def link_of(server: StudyServer) -> str:
    """The link that the server printed last."""
    return re.findall(r"works once: (\S+)", server.log.read_text())[-1]


def press_enter(page: Page) -> None:
    page.locator('[data-name="enter"]').click()


def come_in(page: Page, server: StudyServer) -> None:
    page.goto(link_of(server))
    press_enter(page)
    expect(page.locator("#live")).to_have_text(LIVE)


def simulated_participants(
    server: StudyServer, n: int, kinds: tuple[str, ...] = ("choice",), seed: int = 0
) -> list[SimulatedParticipant]:
    return [SimulatedParticipant(server, CLASSES, kinds, seed + i) for i in range(n)]


@contextmanager
def people_keep_coming(server: StudyServer) -> Iterator[list[int]]:
    """Somebody answers all the while; yields how many answers each has given."""
    done, ended = [0], threading.Event()

    def come() -> None:
        while not ended.is_set():
            # A paused study lets nobody in.
            with contextlib.suppress(HTTPError):
                person = SimulatedParticipant(server, CLASSES, ("choice",), done[0])
                while not ended.is_set() and person.answers(1):
                    done[0] += 1
            ended.wait(0.05)

    thread = threading.Thread(target=come)
    thread.start()
    try:
        yield done
    finally:
        ended.set()
        thread.join()


def until(is_so: Callable[[], bool], page: Page) -> None:
    """Wait on the page's clock until something holds elsewhere."""
    for _ in range(600):
        if is_so():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it never came")


def test_figures_follow_without_reloading(served: Callable[..., StudyServer], visitor: Callable[..., Page]) -> None:
    server = served("choice", answers_per_item=6, batch_size=6, repeats=2, pay=True)
    page = visitor()
    come_in(page, server)
    page.evaluate("window.untouched = true")
    expect(page.locator("#answers")).to_have_text("0")
    expect(page.locator("#agreement")).to_contain_text("when two people")
    for n_people, n_answers in ((1, "6"), (5, "36")):
        for person in simulated_participants(server, n_people, seed=n_people):
            person.answers()
        expect(page.locator("#answers")).to_have_text(n_answers)
    expect(page.locator("#agreement strong").first).to_be_visible(timeout=PATIENT_MS)
    expect(page.locator("#steady strong").first).to_be_visible()
    expect(page.locator("#people tbody tr")).to_have_count(6)
    expect(page.locator("#figures")).to_contain_text("EUR 15.00")
    pictures = page.locator("#disputed img")
    expect(pictures.first).to_be_visible()
    assert min(pictures.evaluate_all(DECODED)) > 0
    assert page.evaluate("window.untouched")
    page.evaluate("scrollTo(0, 0)")
    look_closely(page, "studio")
    # The table of each chart says what the chart says.
    page.locator("summary").first.click()
    expect(page.locator("#items-table tbody tr")).to_have_count(7)


def test_by_keyboard_alone(served: Callable[..., StudyServer], visitor: Callable[..., Page]) -> None:
    server = served("choice", answers_per_item=6, batch_size=6)
    for person in simulated_participants(server, 3):
        person.answers()
    page = visitor()
    come_in(page, server)
    expect(page.locator("#people tbody tr")).to_have_count(3)
    page.keyboard.press("Tab")
    expect(page.locator("#pause")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#confirm")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#confirm")).to_be_hidden()
    expect(page.locator("#pause")).to_be_focused()
    heading = page.locator('[data-sort="answers"]')
    heading.focus()
    page.keyboard.press("Enter")
    sorted_by = page.locator("#people th[aria-sort]")
    expect(sorted_by).to_have_text("answers ↓")
    # New figures come, and the focus stays where it was.
    simulated_participants(server, 1, seed=9)[0].answers()
    expect(page.locator("#people tbody tr")).to_have_count(4)
    expect(page.locator('[data-sort="answers"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(sorted_by).to_have_text("answers ↑")


def test_in_charge_while_answers_come_in(served: Callable[..., StudyServer], visitor: Callable[..., Page]) -> None:
    server = served("choice", answers_per_item=50, batch_size=6)
    page = visitor()
    come_in(page, server)
    with people_keep_coming(server) as done:
        until(lambda: done[0] > 5, page)
        page.locator("#pause").click()
        page.locator('[data-name="pause-yes"]').click()
        expect(page.locator("#state-text")).to_contain_text("Paused since")
        with pytest.raises(HTTPError, match="409"):
            simulated_participants(server, 1)
        page.locator("#resume").click()
        expect(page.locator("#state-text")).to_have_text("Running")
        page.locator("#answers-per-item").fill("40")
        page.locator('[data-name="extend"]').click()
        assert page.locator("#answers-per-item").evaluate("field => !field.validity.valid"), "fewer is no extension"
        page.locator("#answers-per-item").fill("60")
        page.locator('[data-name="extend"]').click()
        expect(page.locator("#of-wanted")).to_have_text("of 720 answers wanted")
        before = done[0]
        with page.expect_download() as waiting:
            page.locator('[data-download="annotations"][data-format="csv"]').click()
        with open(waiting.value.path(), newline="") as file:
            items = [row["item"] for row in csv.DictReader(file)]
        n_after = len(rows(server))
    assert waiting.value.suggested_filename == "study-annotations.csv"
    assert before <= len(items) <= n_after
    assert Counter(items) <= Counter(row["item_id"] for row in rows(server))
    expect(page.locator("#happened")).to_contain_text("Exported")
    for what in ("Paused", "Resumed", "Extended", "Logged in"):
        expect(page.locator("#happened")).to_contain_text(what)


def test_it_goes_on_after_the_server_was_killed(
    served: Callable[..., StudyServer], visitor: Callable[..., Page]
) -> None:
    server = served("choice", answers_per_item=6, batch_size=6)
    page = visitor(forgiving=True)
    come_in(page, server)
    page.evaluate("window.untouched = true")
    server.kill()
    expect(page.locator("#live")).to_have_text("No connection to the server. The figures may be out of date.")
    server.start()
    expect(page.locator("#live")).to_have_text(LIVE)
    simulated_participants(wait_until_reachable(server), 1)[0].answers(4)
    expect(page.locator("#answers")).to_have_text("4")
    assert page.evaluate("window.untouched")
    # A session that has ended meanwhile is not taken up again: the page shows the door, and nothing else.
    server.kill()
    (server.study / "store" / "answers.sqlite.sessions").unlink()
    server.start()
    expect(page.locator("main")).to_contain_text("Open the link that the server printed")
    assert page.locator("#answers").count() == 0


def test_nothing_is_left_after_going(served: Callable[..., StudyServer], visitor: Callable[..., Page]) -> None:
    server = served("choice", answers_per_item=6, batch_size=6)
    simulated_participants(server, 1)[0].answers(3)
    page = visitor(forgiving=True)
    link = link_of(server)
    come_in(page, server)
    expect(page.locator("#answers")).to_have_text("3")
    page.goto(f"{server.url}/")
    page.goto(f"{server.url}/studio")
    page.locator("#logout").click()
    expect(page.locator("main")).to_contain_text("Open the link that the server printed")
    look_closely(page, "studio-door")
    for _ in range(2):
        page.go_back()
        assert page.locator("#answers").count() == 0
        assert "config" not in page.content()
    page.goto(link)
    look_closely(page, "studio-link")
    press_enter(page)
    expect(page.locator("main")).to_contain_text("A link that has expired, was used, or is not valid.")
    expect(page.locator("main")).to_contain_text("sfumato study login STUDY")
    assert page.locator("#answers").count() == 0


def test_a_page_that_the_browser_keeps_shows_nothing_after_logging_out(
    chromium: Browser, served: Callable[..., StudyServer]
) -> None:
    """Browsers keep whole pages for the back button, even with no-store; those of Playwright do with a setting."""
    server = served("choice", answers_per_item=6, batch_size=6)
    with chromium.browser_type.launch(
        executable_path="/usr/bin/chromium",
        args=["--headless", "--no-sandbox", "--disable-gpu"],
        ignore_default_args=["--disable-back-forward-cache"],
    ) as browser:
        context = browser.new_context()
        context.add_init_script(NOTE_WHAT_IS_SHOWN)
        page, other = context.new_page(), context.new_page()
        # The control: this browser does keep a page that is left.
        page.goto(f"{server.url}/static/style.css")
        page.goto(f"{server.url}/")
        page.evaluate("history.back()")
        page.wait_for_function("sessionStorage.shown.endsWith('kept;')")
        come_in(page, server)
        assert page.evaluate("sessionStorage.shown").endswith("loaded figures;")
        page.goto(f"{server.url}/")
        other.goto(f"{server.url}/studio")
        other.locator("#logout").click()
        expect(other.locator("main")).to_contain_text("Open the link that the server printed")
        page.evaluate("sessionStorage.shown = ''")
        page.evaluate("history.back()")
        expect(page.locator("main")).to_contain_text("Open the link that the server printed")
        page.wait_for_function("sessionStorage.shown")
        assert page.evaluate("sessionStorage.shown") == "loaded;"


def test_by_password(visitor: Callable[..., Page], tmp_path: Path) -> None:
    file = tmp_path / "password.txt"
    file.write_text(PASSWORD)
    server = StudyServer(write_study(tmp_path / "study", "choice"))
    server._store = ["--password-file", str(file)]
    with server:
        page = visitor(forgiving=True)
        page.goto(f"{wait_until_reachable(server).url}/studio")
        look_closely(page, "studio-login")
        expect(page.locator("#password")).to_be_focused()
        page.keyboard.type("not it")
        page.keyboard.press("Enter")
        expect(page.locator("#wrong")).to_have_text("Wrong password. Try again.")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator("#live")).to_have_text(LIVE)


def test_by_password_and_code(visitor: Callable[..., Page], tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", "choice")
    factor, codes = new_second_factor()
    with open_site(read_study(folder)) as site:
        site.dashboard.set_password(hash_password(PASSWORD))
        site.writer.run(lambda running: set_second_factor(running, factor, "test"))
    with StudyServer(folder) as server:
        page = visitor(forgiving=True)
        page.goto(f"{wait_until_reachable(server).url}/studio")
        look_closely(page, "studio-code")
        for code, is_right in (("123456", False), (codes[0], True)):
            page.locator("#password").fill(PASSWORD)
            page.locator("#code").fill(code)
            page.keyboard.press("Enter")
            if not is_right:
                expect(page.locator("#wrong")).to_have_text("Wrong password or code. Try again.")
        expect(page.locator("#live")).to_have_text(LIVE)
        # Every session ends, and this device is still known.
        page.locator("#logout-everywhere").click()
        expect(page.locator("#password")).to_be_focused()
        assert [cookie["name"] for cookie in page.context.cookies()] == ["sfumato-device"]


@pytest.mark.parametrize("kind", ["arms", "adaptive"])
def test_other_studies_show_their_panels(visitor: Callable[..., Page], tmp_path: Path, kind: str) -> None:
    folder = write_study(tmp_path / "study", "tokens", answers_per_item=4, batch_size=6, repeats=1)
    with (folder / "study.toml").open("r+") as file:
        text = file.read()
        if kind == "arms":
            text = re.sub(r"\[question\][^\[]*", "", text)
            text += '[[arms]]\nkind = "choice"\n[[arms]]\nname = "ten tokens"\nkind = "tokens"\n'
            text += '[[checks]]\nitem = "cat/cat-0"\nclasses = ["cat"]\nat_least = 0.9\n'
        else:
            text = text.replace("[people]", '[people]\nassignment = "adaptive"')
        file.seek(0)
        file.write(text)
        file.truncate()
    with StudyServer(folder) as server:
        kinds = ("choice", "tokens") if kind == "arms" else ("tokens",)
        for person in simulated_participants(wait_until_reachable(server), 5, kinds):
            person.answers()
        page = visitor()
        come_in(page, server)
        expect(page.locator("#people tbody tr")).to_have_count(5)
        if kind == "arms":
            expect(page.locator("#arms tbody tr")).to_have_count(2)
            expect(page.locator("#arms")).to_contain_text("ten tokens")
            expect(page.locator("#people thead")).to_contain_text("arm")
            expect(page.locator("#people thead")).to_contain_text("checks failed")
        else:
            expect(page.locator("#adaptive")).to_be_visible()
            expect(page.locator("#no-extension")).to_be_visible()
            expect(page.locator("#extend")).to_be_hidden()
        expect(page.locator("#agreement strong").first).to_be_visible(timeout=PATIENT_MS)
        look_closely(page, f"studio-{kind}")
        page.close()


def test_what_people_wrote_is_shown_as_text(visitor: Callable[..., Page], tmp_path: Path) -> None:
    evil = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "plain"]
    folder = write_study(
        tmp_path / "study", "choice", texts=evil, title="<b>Title</b>", answers_per_item=9, batch_size=3
    )
    with StudyServer(folder) as server:
        for person in simulated_participants(wait_until_reachable(server), 4):
            person.answers()
        page = visitor()
        dialogs: list[Any] = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        come_in(page, server)
        expect(page.locator("h1")).to_have_text("<b>Title</b>")
        expect(page.locator("#disputed")).to_contain_text(evil[0])
        assert json.loads(page.locator("#config").text_content() or "")["study"]["title"] == "<b>Title</b>"
        assert not dialogs
        page.close()
