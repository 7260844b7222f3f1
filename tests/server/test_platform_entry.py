"""People from platforms: let in at their door alone, one annotator an id, sent back with the code of how it ended."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from platform_stub import PlatformStub
from platform_study import CODES, arrives, comes, door, mturk, prolific, through, write_platform_study
from site_client import AskedSite, asked_site

PERSON, SESSION = "pid5f0a9c1e", "ses60d1b2aa"


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
    name = hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    return f"pid{name}", f"ses{name}"


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
    first = comes(asked, prolific(*me)).header("location")
    assert [comes(asked, prolific(*me)).header("location") for _ in range(3)] == [first] * 3
    # Another visit, another browser, another window: the same person, who goes on where they were.
    assert comes(asked, prolific(me[0], "another9")).header("location") == first
    (row,) = ids_of(asked, me[0])
    refs = json.loads(row["refs"])
    assert (refs["session"], refs["earlier"]) == ("another9", [me[1]])
    n_people = len(asked.stored("annotators"))
    assert comes(asked, prolific(f"{me[0]}x", me[1])).header("location") != first
    assert len(asked.stored("annotators")) == n_people + 1


def test_two_browsers_at_once_are_one_annotator(asked: AskedSite, me: tuple[str, str]) -> None:
    target = f"{door(asked)}?{prolific(*me)}"

    async def fifty() -> list[str]:
        client = asked.client
        replies = await asyncio.gather(*(client._send("GET", target, b"", ()) for _ in range(50)))
        return [reply.header("location") or "" for reply in replies]

    n_people = len(asked.stored("annotators"))
    assert len(set(asked.runner.run(fifty()))) == 1
    assert len(ids_of(asked, me[0])) == len(asked.stored("annotators")) - n_people == 1


def test_a_returning_person_continues_where_they_stopped(asked: AskedSite, me: tuple[str, str]) -> None:
    visit = through(arrives(asked, prolific(*me)), until=3)
    again = arrives(asked, prolific(me[0], "another9"))
    assert again.state()["answered"] == visit.state()["answered"] == 2  # one of the three was practice


def test_another_server_on_the_same_store_knows_them(tmp_path: Path) -> None:
    folder = write_platform_study(tmp_path / "pets")
    places = []
    for _ in range(2):
        with asked_site(folder) as opened:
            places.append(comes(opened, prolific(PERSON, SESSION)).header("location"))
    assert places[0] == places[1]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "PROLIFIC_PID=abcd1234",
        "STUDY_ID=study1&SESSION_ID=session1",
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
        prolific(PERSON) + "&x=" + "y" * 3000,
        mturk(),
    ],
    ids=lambda query: query[:30] or "nothing",
)
def test_arrivals_with_unfilled_placeholders_are_refused(asked: AskedSite, query: str) -> None:
    before = asked.rows()
    reply = comes(asked, query)
    assert reply.status == 404
    assert "could not confirm that you come from the platform" in reply.text
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
    with asked_site(write_platform_study(tmp_path / "pets", more='study = "study1"')) as asked:
        assert comes(asked, prolific(study="study2")).status == 404
        assert asked.stored("annotators") == []
        assert comes(asked, prolific(study="study1")).status == 303


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
    from site_client import Visit

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
    state = through(arrives(framed, mturk("WORKER9"), "mturk")).state()
    assert state["back"] == {
        "platform": "Mechanical Turk",
        "code": "DONE-1",
        "url": "https://www.mturk.com/mturk/externalSubmit",
        "fields": {"assignmentId": "ASSIGNMENT1", "code": "DONE-1"},
    }


def test_a_second_assignment_is_handed_in_as_the_second(framed: AskedSite) -> None:
    """Somebody returned the HIT and accepted it again: the assignment to hand in is the one they have now."""
    through(arrives(framed, mturk("WORKER2", "ASSIGNMENT1"), "mturk"), until=2)
    state = through(arrives(framed, mturk("WORKER2", "ASSIGNMENT2"), "mturk")).state()
    assert state["back"]["fields"]["assignmentId"] == "ASSIGNMENT2"
    assert len(ids_of(framed, "WORKER2")) == 1


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
    assert comes(framed, mturk("NEWWORKER", to=to), "mturk").status == 404
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
    with PlatformStub() as stub:
        stub.add(*me, "ACTIVE")
        for name, value in stub.environment.items():
            monkeypatch.setenv(name, value)
        for _ in range(3):
            arrives(asked, prolific(*me))
        arrives(asked, prolific("madeup1234", "madeup5678"))
        assert stub.effects == {("get", me[1]): 1, ("get", "madeup5678"): 1}
        arrives(asked, prolific(me[0], "another9"))
        assert stub.effects["get", "another9"] == 1
        # The last visit of each was not announced there.
        for person in (me[0], "madeup1234"):
            assert [json.loads(row["refs"])["check"] for row in ids_of(asked, person)] == ["unknown"]


def test_a_platform_that_is_down_keeps_nobody_out(
    asked: AskedSite, monkeypatch: pytest.MonkeyPatch, me: tuple[str, str]
) -> None:
    monkeypatch.setattr("sfumato.recruitment.platform_api.FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setenv("SFUMATO_PROLIFIC_TOKEN", "t")
    monkeypatch.setenv("SFUMATO_PROLIFIC_API", "http://127.0.0.1:9")
    assert through(arrives(asked, prolific(*me))).state()["code"] == CODES["completed"]
    assert "check" not in json.loads(ids_of(asked, me[0])[0]["refs"])


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
