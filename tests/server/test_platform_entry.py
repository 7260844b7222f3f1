"""People from platforms: let in at their door alone, one annotator an id, sent back with the code of how it ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from platform_stub import PlatformStub
from platform_study import (
    CODES,
    Browser,
    arrives,
    assignment_id,
    comes,
    door,
    hex_id,
    mturk,
    prolific,
    through,
    worker_id,
    write_platform_study,
)
from site_client import AskedSite, Visit, asked_site

from sfumato.elicitation.researcher_actions import set_paused
from sfumato.recruitment.arrival import person_hash
from sfumato.recruitment.platform import Arrival

PERSON, SESSION = hex_id("a person"), hex_id("a visit")
ANOTHER = hex_id("another visit")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    with asked_site(write_platform_study(tmp_path_factory.mktemp("prolific"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def framed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    with asked_site(write_platform_study(tmp_path_factory.mktemp("mturk"), "mturk")) as opened:
        yield opened


@pytest.fixture
def me(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Somebody new, and their visit: ids that no other test has."""
    return hex_id(f"person of {request.node.name}"), hex_id(f"visit of {request.node.name}")


def ids_of(asked: AskedSite, person: str) -> list[dict[str, Any]]:
    """What the store has of a person."""
    return [row for row in asked.stored("platform_ids") if row["person"] == person]


def test_somebody_from_prolific_is_sent_on_to_an_address_without_their_id(
    asked: AskedSite, me: tuple[str, str]
) -> None:
    reply = comes(asked, prolific(*me))
    place = reply.header("location") or ""
    assert reply.status == 303
    assert place.startswith("/s/")
    assert me[0] not in place
    assert reply.header("cache-control") == "no-store"
    assert reply.header("referrer-policy") == "no-referrer"
    assert asked.client.get(place).status == 200


def test_repeated_arrivals_with_one_id_are_one_annotator(asked: AskedSite, me: tuple[str, str]) -> None:
    browser = Browser(asked)
    first = browser.comes(prolific(*me)).header("location")
    asked.client.get(first or "")
    assert [browser.comes(prolific(*me)).header("location") for _ in range(3)] == [first] * 3
    # Another visit in the same browser: the same person, who goes on where they were.
    assert browser.comes(prolific(me[0], ANOTHER)).header("location") == first
    (row,) = ids_of(asked, me[0])
    refs = json.loads(row["refs"])
    assert (refs["session"], refs["earlier"]) == (ANOTHER, [me[1]])
    n_people = len(asked.stored("annotators"))
    # Another person in the same browser is another annotator, and the first one stays who they were.
    assert browser.comes(prolific(hex_id(f"{me[0]}x"), me[1])).header("location") != first
    assert len(asked.stored("annotators")) == n_people + 1
    assert browser.comes(prolific(*me)).header("location") == first


def test_two_tabs_at_once_are_one_annotator(asked: AskedSite, me: tuple[str, str]) -> None:
    target = f"{door(asked)}?{prolific(*me)}"

    async def fifty() -> list[str]:
        client = asked.client
        replies = await asyncio.gather(*(client._send("GET", target, b"", ()) for _ in range(50)))
        return [reply.header("location") or "" for reply in replies]

    n_people = len(asked.stored("annotators"))
    links = asked.runner.run(fifty())
    assert len(ids_of(asked, me[0])) == len(asked.stored("annotators")) - n_people == 1
    # Each tab has a link of its own to the same session.
    visits = [Visit(asked.client, link.removeprefix("/s/")) for link in (links[0], links[-1])]
    visits[0].step("consent")
    assert visits[1].state()["stage"] == "instructions"


def test_a_returning_person_continues_where_they_stopped(asked: AskedSite, me: tuple[str, str]) -> None:
    browser = Browser(asked)
    visit = through(browser.arrives(prolific(*me)), until=3)
    again = browser.arrives(prolific(me[0], ANOTHER))
    assert again.state()["answered"] == visit.state()["answered"] == 2  # one of the three was practice


def test_the_key_in_the_browser_is_for_no_script(asked: AskedSite, me: tuple[str, str]) -> None:
    reply = comes(asked, prolific(*me))
    kept, link = reply.header("set-cookie") or "", reply.header("location") or ""
    assert "HttpOnly" in kept
    # It was the link, which scripts can read in the address.
    value = kept.partition("=")[2].partition(";")[0]
    assert len(value) == 32
    assert value not in link
    assert link.removeprefix("/s/") not in kept
    # The key alone opens nothing.
    assert asked.client.get(f"/s/{value}").status == 404
    assert "SameSite=lax" in kept
    assert me[0] not in kept
    asked.site.public = True
    try:
        kept = comes(asked, prolific(hex_id(f"{me[0]}y"))).header("set-cookie") or ""
    finally:
        asked.site.public = False
    assert kept.startswith("__Host-sfumato-")
    assert "Secure" in kept


def test_a_key_that_somebody_put_into_the_browser_is_replaced(asked: AskedSite, me: tuple[str, str]) -> None:
    """Otherwise they could come in later, with that key and the id."""
    arrival = Arrival(me[0], "", me[1])
    hashed = asked.site.writer.run(lambda running: person_hash(running, asked.site.platform, arrival))
    browser = Browser(asked, cookies={f"sfumato-{hashed[:16]}": "A" * 32})
    browser.arrives(prolific(*me))
    assert browser.cookies[f"sfumato-{hashed[:16]}"] != "A" * 32


def test_a_browser_without_cookies_is_told_to_save_the_link(asked: AskedSite, me: tuple[str, str]) -> None:
    browser = Browser(asked)
    link = browser.comes(prolific(*me)).header("location") or ""
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    for headers, keeps in (({}, False), ({"cookie": cookie}, True)):
        page = asked.client.get(link, headers).text
        config = json.loads(page.partition('id="config">')[2].partition("</script>")[0])
        assert config["keeps_cookies"] is keeps
        assert "This browser keeps no cookies" in page


def test_in_a_frame_the_link_is_kept_for_that_frame(framed: AskedSite) -> None:
    framed.site.public = True
    try:
        kept = comes(framed, mturk(worker_id("framed")), "mturk").header("set-cookie") or ""
    finally:
        framed.site.public = False
    assert [each for each in ("SameSite=none", "Secure", "Partitioned", "HttpOnly") if each not in kept] == []


def test_another_server_on_the_same_store_knows_them(tmp_path: Path) -> None:
    folder = write_platform_study(tmp_path / "pets")
    places, cookies = [], {}
    for _ in range(2):
        with asked_site(folder) as opened:
            browser = Browser(opened, cookies=cookies)
            places.append(browser.comes(prolific(PERSON, SESSION)).header("location"))
            opened.client.get(places[-1] or "")
    assert places[0] == places[1]


@pytest.mark.parametrize(
    "query",
    [
        "",
        f"PROLIFIC_PID={PERSON}",
        f"STUDY_ID={SESSION}&SESSION_ID={SESSION}",
        prolific("{{%PROLIFIC_PID%}}"),
        prolific("%PROLIFIC_PID%"),
        prolific("a b"),
        prolific("../../etc"),
        prolific("x" * 65),
        prolific("abc"),
        prolific("abcd\u00e91"),
        prolific("abcd\n1"),
        prolific(PERSON, "'; DROP TABLE"),
        prolific(PERSON) + "&PROLIFIC_PID=second12",
        prolific(PERSON) + "&x=" + "y" * 5000,
        mturk(),
    ],
    ids=lambda query: query[:30] or "nothing",
)
def test_arrivals_with_unfilled_placeholders_are_refused(asked: AskedSite, query: str) -> None:
    before = asked.rows()
    reply = comes(asked, query)
    assert reply.status == 404
    assert "could not confirm that you come from Prolific" in reply.text
    assert asked.rows() == before


def test_only_the_studys_own_door_opens(asked: AskedSite, tmp_path: Path, me: tuple[str, str]) -> None:
    own = door(asked)
    key = own.rpartition("/")[2]
    with asked_site(write_platform_study(tmp_path / "other")) as other:
        another = door(other).rpartition("/")[2]
    for path in (
        f"/from/prolific/{key[:-1]}",
        f"/from/prolific/{key}A",
        f"/from/prolific/{key.swapcase()}",
        f"/from/prolific/{another}",
        f"/from/mturk/{key}",
        f"/from/nowhere/{key}",
        "/from/prolific/%ff%00",
        "/from/prolific/x",
    ):
        reply = asked.client.get(f"{path}?{prolific(*me)}")
        assert reply.status == 404, path
        assert me[0] not in reply.text
    assert ids_of(asked, me[0]) == []


def test_people_of_another_study_there_are_refused_where_the_file_names_its_own(tmp_path: Path) -> None:
    with asked_site(write_platform_study(tmp_path / "pets", more=f'study = "{hex_id("one")}"')) as asked:
        assert comes(asked, prolific(study=hex_id("two"))).status == 404
        assert asked.stored("annotators") == []
        assert comes(asked, prolific(study=hex_id("one"))).status == 303


def test_a_wrong_study_id_is_logged_once_per_minute_without_an_id(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with asked_site(write_platform_study(tmp_path / "pets", more=f'study = "{hex_id("one")}"')) as asked:
        for number in range(3):
            assert comes(asked, prolific(hex_id(f"person {number}"), study=hex_id("two"))).status == 404
        (event,) = asked.stored("happenings")
        logged = [record.getMessage() for record in caplog.records if record.name == "sfumato.server"]
    assert event["what"] == "arrival refused"
    assert "differs from [platform]" in event["about"]
    assert logged == ["arrivals refused: the study's id of the arrival differs from [platform] in the study file"]
    assert not any(hex_id(f"person {number}") in f"{event} {logged}" for number in range(3))


def test_who_leaves_is_told_what_to_do_on_the_platform(asked: AskedSite, me: tuple[str, str]) -> None:
    page = asked.client.get(arrives(asked, prolific(*me)).base).text
    for name, expected in (
        ("finished", "so that Prolific knows that you have finished"),
        ("declined", "so that Prolific knows that you have left the study"),
        ("excluded", "so that Prolific knows that you have left the study"),
        ("withdrawn", "If you came from Prolific, please return your submission there. There is no completion code."),
    ):
        assert expected in page.partition(f'<template id="page-{name}">')[2].partition("</template>")[0], name


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "Please return your submission on Prolific"),
        ("de", "Bitte geben Sie Ihre Teilnahme auf Prolific zurück"),
        ("fr", "Merci de rendre votre participation sur Prolific"),
    ],
)
def test_a_paused_study_asks_new_arrivals_to_return_their_submission(
    tmp_path: Path, language: str, expected: str
) -> None:
    folder = write_platform_study(tmp_path / "pets")
    file = folder / "study.toml"
    file.write_text(f'languages = ["{language}"]\n{file.read_text()}')
    with asked_site(folder) as opened:
        opened.site.writer.run(lambda running: set_paused(running, True, "test"))
        reply = comes(opened, prolific(), accept="text/html")
        assert (reply.status, expected in reply.text) == (409, True)
        assert opened.stored("annotators") == []


def test_a_second_browser_is_told_how_to_ask_for_a_link(asked: AskedSite, me: tuple[str, str]) -> None:
    asked.client.get(Browser(asked).comes(prolific(*me)).header("location") or "")
    reply = Browser(asked).comes(prolific(*me), accept="text/html")
    assert reply.status == 409
    assert "through the messages of Prolific, with your Prolific ID" in reply.text


def test_a_study_without_a_platform_has_no_such_door(tmp_path: Path) -> None:
    from picture_study import write_picture_study

    with asked_site(write_picture_study(tmp_path / "plain")) as asked:
        assert comes(asked, prolific()).status == 404


# Going back.


def test_the_code_comes_only_after_every_answer_is_stored(asked: AskedSite, me: tuple[str, str]) -> None:
    visit = arrives(asked, prolific(*me))
    said = [asked.client.get(visit.base).text]
    for step in ("consent", "instructions"):
        said.append(visit.step(step).text)
    said.append(visit.comprehension(["yes", "2"]).text)
    while (state := visit.state())["stage"] == "trials":
        said.append(json.dumps(state))
        reply = visit.submit(visit.body({"class": "cat"}, trial=state["trials"][0]["trial"]))
        said.append(reply.text)
        n_stored = visit.state()["answered"]
    # The last answer's own reply is the first to hold it: it was stored when that was said.
    assert [CODES["completed"] in text for text in said] == [False] * (len(said) - 1) + [True]
    assert n_stored == state["wanted"] == 4
    assert state["code"] == CODES["completed"]
    assert state["back"] == {
        "platform": "Prolific",
        "code": "DONE-1",
        "url": "https://app.prolific.com/submissions/complete?cc=DONE-1",
        "fields": {},
    }
    assert visit.state() == state


def test_who_fails_the_questions_goes_back_with_the_code_for_that(asked: AskedSite, me: tuple[str, str]) -> None:
    visit = arrives(asked, prolific(*me))
    visit.step("consent")
    visit.step("instructions")
    assert CODES["screened_out"] not in visit.comprehension(["no", "1"]).text
    state = visit.comprehension(["no", "1"]).json
    assert (state["stage"], state["back"]["code"]) == ("excluded", "OUT-2")
    assert CODES["completed"] not in json.dumps(state)


def test_the_first_page_has_the_link_for_no_consent_and_no_other_code(asked: AskedSite, me: tuple[str, str]) -> None:
    page = asked.client.get(arrives(asked, prolific(*me)).base).text
    assert "complete?cc=NO-3" in page
    assert CODES["completed"] not in page
    assert CODES["screened_out"] not in page


def test_outcomes_without_a_code_have_no_way_back(tmp_path: Path) -> None:
    with asked_site(write_platform_study(tmp_path / "pets", codes={"completed": "DONE-1"})) as asked:
        visit = arrives(asked, prolific(PERSON, SESSION))
        assert "declined" not in asked.client.get(visit.base).text.split('id="config"')[1].split("</script>")[0]
        visit.step("consent")
        visit.step("instructions")
        for _ in range(2):
            state = visit.comprehension(["no", "1"]).json
        assert state["stage"] == "excluded"
        assert "back" not in state


def test_who_came_by_a_link_gets_a_code_of_their_own(asked: AskedSite) -> None:
    from sfumato.elicitation.study_registration import new_links

    (token,) = new_links(asked.study, 1)
    asked.client.get(f"/s/{token}")
    state = through(Visit(asked.client, token)).state()
    assert state["code"] not in CODES.values()
    assert "back" not in state


def test_who_withdraws_gets_no_code(asked: AskedSite, me: tuple[str, str]) -> None:
    visit = through(arrives(asked, prolific(*me)), until=2)
    state = visit.step("withdraw").json
    assert state["stage"] == "withdrawn"
    assert not {"code", "back"} & set(state)


# Mechanical Turk.


@pytest.mark.parametrize("session", ["ASSIGNMENT_ID_NOT_AVAILABLE", ""])
def test_who_only_looks_sees_what_it_is_about_and_nothing_is_kept(framed: AskedSite, session: str) -> None:
    before = framed.rows()
    reply = comes(framed, mturk("", session), "mturk")
    assert reply.status == 200
    assert "Look, and say." in reply.text
    assert "2.5" in reply.text
    assert framed.rows() == before
    assert "/s/" not in reply.text  # there is no way in from here


def test_a_preview_needs_the_door_too(framed: AskedSite) -> None:
    assert framed.client.get("/from/mturk/wrong?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE").status == 404


def test_somebody_from_mturk_hands_in_a_form_at_amazon(framed: AskedSite) -> None:
    state = through(arrives(framed, mturk(worker_id("nine")), "mturk")).state()
    assert state["back"] == {
        "platform": "Mechanical Turk",
        "code": "DONE-1",
        "url": "https://www.mturk.com/mturk/externalSubmit",
        "fields": {"assignmentId": assignment_id("assignment1"), "code": "DONE-1"},
    }


def test_a_second_assignment_is_handed_in_as_the_second(framed: AskedSite) -> None:
    """Somebody returned the HIT and accepted it again: the assignment to hand in is the one they have now."""
    browser, two = Browser(framed, "mturk"), worker_id("two")
    through(browser.arrives(mturk(two, assignment_id("first"))), until=2)
    state = through(browser.arrives(mturk(two, assignment_id("second")))).state()
    assert state["back"]["fields"]["assignmentId"] == assignment_id("second")
    assert len(ids_of(framed, two)) == 1


@pytest.mark.parametrize(
    "to",
    [
        "",
        "https://evil.example",
        "http://www.mturk.com",
        "https://www.mturk.com.evil.example",
        "https://www.mturk.com@evil.example",
        "https://www.mturk.com/elsewhere",
        "https://www.mturk.com?x=1",
        "https://workersandbox.mturk.com",
        "javascript:alert(1)",
        "https://www.m\u00fcturk.com",
    ],
)
def test_answers_are_handed_in_at_amazon_or_not_at_all(framed: AskedSite, to: str) -> None:
    before = framed.rows()
    assert comes(framed, mturk(worker_id("new"), to=to), "mturk").status == 404
    assert framed.rows() == before


def test_the_sandbox_is_another_place(tmp_path: Path) -> None:
    with asked_site(write_platform_study(tmp_path / "pets", "mturk", more="sandbox = true")) as asked:
        assert comes(asked, mturk(), "mturk").status == 404
        assert comes(asked, mturk(to="https://workersandbox.mturk.com"), "mturk").status == 303


def test_amazon_alone_may_show_the_study_in_a_frame(framed: AskedSite, asked: AskedSite) -> None:
    visit = arrives(framed, mturk(), "mturk")
    for target in (visit.base, f"{door(framed, 'mturk')}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE"):
        reply = framed.client.get(target)
        policy = reply.header("content-security-policy") or ""
        assert "frame-ancestors https://worker.mturk.com https://www.mturk.com;" in f"{policy};"
        assert "form-action 'self' https://worker.mturk.com https://www.mturk.com" in policy
        assert reply.header("x-frame-options") is None
    for client, target in ((framed.client, "/"), (framed.client, "/studio"), (asked.client, f"{door(asked)}?x=1")):
        reply = client.get(target)
        assert "frame-ancestors 'none'" in (reply.header("content-security-policy") or "")
        assert reply.header("x-frame-options") == "DENY"


# Asking the platform about them.


def test_the_platform_is_asked_once_about_each_visit(
    asked: AskedSite, monkeypatch: pytest.MonkeyPatch, me: tuple[str, str]
) -> None:
    invented = (hex_id("made up"), hex_id("made up visit"))
    with PlatformStub() as stub:
        stub.add(*me, "ACTIVE", study=hex_id("study1"))
        for name, value in stub.environment.items():
            monkeypatch.setenv(name, value)
        browser = Browser(asked)
        for _ in range(3):
            visit = browser.arrives(prolific(*me))
        assert visit.state()["stage"] == "consent"
        arrives(asked, prolific(*invented))
        assert stub.effects == {("get", me[1]): 1, ("get", invented[1]): 1}
        # The next visit was not announced there; the person is known all the same.
        browser.arrives(prolific(me[0], ANOTHER))
        assert stub.effects["get", ANOTHER] == 1
        assert visit.state()["stage"] == "consent"
        for person in (me[0], invented[0]):
            assert [json.loads(row["refs"])["check"] for row in ids_of(asked, person)] == ["unknown"]


def test_a_platform_that_finds_a_visit_later_takes_its_word_back(
    asked: AskedSite, monkeypatch: pytest.MonkeyPatch, me: tuple[str, str]
) -> None:
    browser = Browser(asked)
    with PlatformStub() as stub:
        for name, value in stub.environment.items():
            monkeypatch.setenv(name, value)
        assert browser.arrives(prolific(*me)).state()["stage"] == "refused"
        stub.add(*me, "ACTIVE", study=hex_id("study1"))
        assert browser.arrives(prolific(*me)).state()["stage"] == "consent"


# Who they are stays where it is.


def test_the_id_stands_in_its_table_and_nowhere_else(
    asked: AskedSite, capfd: pytest.CaptureFixture[str], me: tuple[str, str]
) -> None:
    visit = through(arrives(asked, prolific(*me)))
    pages = [asked.client.get(visit.base).text, json.dumps(visit.state())]
    for name, rows in asked.rows().items():
        assert [each in str(rows) for each in me] == [name == "platform_ids"] * 2, name
    pages.append("".join(capfd.readouterr()))
    assert not [page for page in pages if me[0] in page or me[1] in page]


def test_no_export_has_the_id(asked: AskedSite, tmp_path: Path, me: tuple[str, str]) -> None:
    from sfumato.store.export import export

    through(arrives(asked, prolific(*me)))
    for name in ("a.csv", "a.parquet"):
        export(asked.site.place, asked.study.name, tmp_path / name, tmp_path / f"records-{name}")
        for written in (tmp_path / name, tmp_path / f"records-{name}"):
            assert not [each for each in me if each.encode() in written.read_bytes()]
