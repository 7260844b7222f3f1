"""S09, S11, S12, S14, S16, S31: ids of others, fields nobody asked for, signs that mean something to a database, and
steps out of their order. Whatever is sent, nothing is read or written that is not the sender's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from picture_study import write_picture_study
from researcher import Researcher, UnlimitedAttempts
from site_client import AskedSite, Reply, Visit, asked_site

from sfumato.recruitment.arrival import entry_key
from sfumato.server.rate_limit import SlidingWindow
from sfumato.store.export import export

EXTRA = ("worker_id", "annotator", "created_at", "role", "payment", "id", "study", "passed", "__proto__", "state")
SQL = (
    "'",
    '"',
    "' OR '1'='1",
    "1; DROP TABLE answers; --",
    "' UNION SELECT secret FROM studies --",
    "x' AND randomblob(100000000) --",
    "%' OR 1=1 /*",
    "\\'; SELECT pg_sleep(10) --",
    "$$; --",
    ":name",
    "?",
    "%s",
    "%(study)s",
    "{0}",
)
"""What would end a text in a statement, or be taken for one of its parameters."""

PID, STUDY, VISIT = "7e117a1e7e117a1e7e117a1e", "66aa66aa66aa66aa66aa66aa", "5e551005e551005e551005e5"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    folder = write_picture_study(tmp_path_factory.mktemp("pets"))
    file = folder / "study.toml"
    file.write_text(f'{file.read_text()}[platform]\nname = "prolific"\ncompleted = "C0DE"\nstudy = "{STUDY}"\n')
    with asked_site(folder) as opened:
        opened.site.dashboard.attempts = UnlimitedAttempts()
        yield opened


def quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


# --- ids of others (S11) ---


def test_every_id_of_a_request_replaced_by_anothers_finds_nothing(asked: AskedSite) -> None:
    anna, bert = asked.ready(), asked.ready()
    trial = anna.trial()["trial"]
    anna.submit(anna.body({"class": "cat"}, trial=trial, key="annas-key"))
    open_trial, own = anna.trial()["trial"], bert.trial()["trial"]
    before = asked.rows()
    for theirs in (trial, open_trial):
        assert asked.client.get(f"{bert.base}/pictures/{theirs}/0").status == 404
        reply = bert.submit(bert.body({"class": "cat"}, trial=theirs))
        assert (reply.status, reply.json["code"]) == (404, "unknown-trial")
        # Nor under the key it was stored with: a key is its person's.
        assert bert.submit(bert.body({"class": "cat"}, trial=theirs, key="annas-key")).status == 404
    assert asked.rows() == before
    # An unknown object and that of another participant give the same reply.
    missing = bert.submit(bert.body({"class": "cat"}, trial="A" * 16))
    theirs_reply = bert.submit(bert.body({"class": "cat"}, trial=open_trial))
    assert missing.status == theirs_reply.status
    assert missing.text.replace("A" * 16, open_trial) == theirs_reply.text
    # The control: with the own id it is there.
    assert asked.client.get(f"{bert.base}/pictures/{own}/0").status == 200


def test_no_id_can_be_counted_up(asked: AskedSite) -> None:
    people = [asked.ready() for _ in range(3)]
    handles = [trial["trial"] for person in people for trial in person.state()["trials"]]
    answers = [person.submit(person.body({"class": "cat"})).json["answer"] for person in people]
    tokens = [person.token for person in people]
    for ids, length in ((tokens, 44), (handles, 24), (answers, 24)):
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch(rf"[\w-]{{{length}}}", each) for each in ids), ids
        # Consecutive handles do not begin alike, as numbers in a row would.
        assert len({each[:6] for each in ids}) == len(ids)


def test_a_file_is_for_the_session_that_asked_for_it(asked: AskedSite) -> None:
    asked.site.dashboard.downloads.rate = SlidingWindow("downloads", 100)
    researcher = Researcher.by_link(asked)
    path = researcher.post("/studio/downloads", {"what": "annotations"}).json["path"]
    assert re.fullmatch(r"/studio/downloads/[\w-]{22}", path)
    for wrong in (path[:-1], path + "A", path.swapcase().replace("/STUDIO/DOWNLOADS", "/studio/downloads")):
        assert researcher.get(wrong).status == 404
    assert asked.client.get(path).status == 401
    assert researcher.get(path).status == 200
    assert researcher.get(path).status == 404


# --- fields nobody asked for (S12) ---


def with_field(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {**body, name: 1}


@pytest.mark.parametrize("name", EXTRA)
def test_more_fields_than_asked_for_are_refused(asked: AskedSite, name: str) -> None:
    person, researcher = asked.ready(), Researcher.by_link(asked)
    before = asked.rows()
    body = person.body({"class": "cat"})
    for extended in (
        with_field(body, name),
        body | {"record": with_field(body["record"], name)},
        body | {"answer": with_field(body["answer"], name)},
    ):
        assert person.submit(extended).status == 422, extended
    for step in ("state", "consent", "instructions", "trials", "pulse", "withdraw"):
        assert person.step(step, {name: 1}).status == 422, step
    assert person.step("comprehension", {"answers": ["yes", "2"], name: 1}).status == 422
    for target, sent in (
        ("/studio/pause", {}),
        ("/studio/resume", {}),
        ("/studio/extend", {"answers_per_item": 500}),
        ("/studio/downloads", {"what": "annotations"}),
        ("/studio/logout", {}),
        ("/studio/login", {"password": "x"}),
    ):
        assert researcher.post(target, with_field(sent, name)).status == 422, target
    after = asked.rows()
    assert {table: rows for table, rows in after.items() if table != "happenings"} == {
        table: rows for table, rows in before.items() if table != "happenings"
    }
    assert person.submit(body).status == 201


def test_a_decoder_that_lets_fields_by_is_found_out(asked: AskedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    import msgspec

    from sfumato.server import answer_api

    class Lenient(msgspec.Struct):
        pass

    monkeypatch.setattr(answer_api, "NOTHING", msgspec.json.Decoder(Lenient))
    assert asked.ready().step("state", {"role": "researcher"}).status == 200


# --- signs that mean something to a database (S14) ---


@pytest.mark.parametrize("text", SQL)
def test_signs_of_sql_are_signs_like_any(asked: AskedSite, text: str) -> None:
    person, researcher = asked.ready(), Researcher.by_link(asked)
    trial = person.trial()["trial"]
    key = asked.site.writer.run(lambda running: entry_key(running.secret, "prolific"))
    written = quoted(text)
    query = f"PROLIFIC_PID={written}&STUDY_ID={STUDY}&SESSION_ID={written}"
    replies: list[tuple[Reply, set[int]]] = [
        (asked.client.get(f"/s/{written}"), {404}),
        (asked.client.post(f"/s/{written}/api/state"), {404}),
        (asked.client.get(f"{person.base}/pictures/{written}/0"), {404}),
        (asked.client.get(f"{person.base}/pictures/{trial}/{written}"), {404}),
        (asked.client.get(f"{person.base}/examples/{written}"), {404}),
        (asked.client.get(f"/from/{written}/{key}?{query}"), {404}),
        (asked.client.get(f"/from/prolific/{written}?{query}"), {404}),
        (asked.client.get(f"/from/prolific/{key}?{query}"), {404}),
        (researcher.get(f"/studio/pictures/{written}"), {404}),
        (researcher.get(f"/studio/downloads/{written}"), {404}),
        (asked.client.send("POST", f"/studio/enter/{written}"), {404}),
        (asked.client.get(f"/static/kinds/{written}/{written}"), {404}),
        (asked.client.get(f"/?{written}={written}"), {200}),
        (person.submit(person.body({"class": text}, trial=trial)), {422}),
        (person.submit(person.body({"class": "cat"}, trial="t" + re.sub(r"[^!-~]", "", text))), {404}),
        (person.comprehension([text, text]), {200}),
        (researcher.post("/studio/login", {"password": text}), {401}),
        (researcher.post("/studio/downloads", {"what": text}), {422}),
        (researcher.post("/studio/extend", {"answers_per_item": text}), {422}),
    ]
    for number, (reply, expected) in enumerate(replies):
        assert reply.raised is None, number
        assert reply.status in expected, (number, reply.status, reply.body[:200])
    # As a key it is stored as it is, and found again.
    word = re.sub(r"[^!-~]", "", text)
    body = person.body({"class": "cat"}, key=word)
    first, again = person.submit(body), person.submit(body)
    assert (first.status, again.status) == (201, 200)
    assert first.json["answer"] == again.json["answer"]
    # And nothing is gone.
    assert asked.stored("studies")[0]["secret"]


# --- steps out of their order (S16), and too fast for a person (S31) ---


def test_an_answer_needs_a_trial_of_ones_own_that_is_still_open(asked: AskedSite) -> None:
    waiting = asked.join()
    shown = asked.ready()
    trial = shown.trial()["trial"]
    before = asked.rows()
    body = {"key": "k", "answer": {"class": "cat"}, "record": {"elapsed_ms": 1}}
    # Before consent, with a trial of another, with one that nobody was given.
    for handle in (trial, "A" * 16):
        assert waiting.submit(body | {"trial": handle}).status == 404
    assert asked.rows()["answers"] == before["answers"]
    assert waiting.step("trials").json["stage"] == "consent"
    shown.step("withdraw")
    late = shown.submit(body | {"trial": trial})
    assert (late.status, late.json["code"]) == (409, "withdrawn")
    assert asked.rows()["answers"] == before["answers"]


def test_answers_too_fast_for_a_person_are_kept_and_marked(asked: AskedSite, tmp_path: Path) -> None:
    person = asked.ready()
    for _ in range(2):
        # Practice first, which is no answer to be exported.
        assert person.submit(person.body({"class": "cat"}, record={"elapsed_ms": 40})).status == 201
    table, records = tmp_path / "annotations.csv", tmp_path / "records.csv"
    export(asked.site.place, asked.study.name, table, records, exact_times=True)
    seconds = [line for line in table.read_text().splitlines() if ",0.04" in line or ",.04" in line]
    assert seconds, table.read_text()[:500]


# --- who comes from a platform (S09) ---


def test_ids_of_a_platform_come_by_the_signed_door_alone(asked: AskedSite) -> None:
    key = asked.site.writer.run(lambda running: entry_key(running.secret, "prolific"))
    n_people = len(asked.stored("annotators"))
    query = f"PROLIFIC_PID={PID}&STUDY_ID={STUDY}&SESSION_ID={VISIT}"
    for wrong in (key[:-1] + ("A" if key[-1] != "A" else "B"), key[:-1], "", key.swapcase(), "none"):
        assert asked.client.get(f"/from/prolific/{wrong}?{query}").status == 404
    # Not at the open door, nor behind a link.
    link = asked.client.send("POST", f"/join?{query}").header("location") or ""
    assert asked.client.get(f"{link}?{query}").status == 200
    assert asked.stored("platform_ids") == []
    # By the door: one id is one annotator, however often it comes.
    arrived = {asked.client.get(f"/from/prolific/{key}?{query}").header("location") for _ in range(3)}
    assert None not in arrived
    assert len(asked.stored("annotators")) == n_people + 2
    # Another study of the platform, an id given twice, an id that is none.
    for other in (
        f"PROLIFIC_PID={PID}&STUDY_ID={PID}&SESSION_ID={VISIT}",
        f"PROLIFIC_PID=a&PROLIFIC_PID=b&STUDY_ID={STUDY}&SESSION_ID={VISIT}",
        f"PROLIFIC_PID=&STUDY_ID={STUDY}&SESSION_ID={VISIT}",
        f"PROLIFIC_PID={'x' * 3000}&STUDY_ID={STUDY}&SESSION_ID={VISIT}",
    ):
        assert asked.client.get(f"/from/prolific/{key}?{other}").status == 404, other[:60]
    assert len(asked.stored("annotators")) == n_people + 2


def test_exports_name_nobody_by_the_id_of_a_platform(asked: AskedSite, tmp_path: Path) -> None:
    key = asked.site.writer.run(lambda running: entry_key(running.secret, "prolific"))
    reply = asked.client.get(f"/from/prolific/{key}?PROLIFIC_PID={PID}&STUDY_ID={STUDY}&SESSION_ID={VISIT}")
    visit = Visit(asked.client, (reply.header("location") or "").removeprefix("/s/"))
    assert PID not in str(reply.headers)
    for step in ("consent", "instructions"):
        visit.step(step)
    visit.comprehension(["yes", "2"])
    for name in ("", "/api/state"):
        said = asked.client.get(visit.base) if not name else visit.step("state")
        assert PID not in said.text
    # Practice first, which is no answer to be exported.
    while (trial := visit.trial())["practice"]:
        visit.submit(visit.body({"class": "cat"}, trial=trial["trial"]))
    assert visit.submit(visit.body({"class": "cat"})).status == 201
    table, records = tmp_path / "annotations.csv", tmp_path / "records.csv"
    export(asked.site.place, asked.study.name, table, records)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert PID.encode() not in written
    # The control: it is in the store, in a table of its own.
    assert PID in json.dumps(asked.stored("platform_ids"), default=str)
