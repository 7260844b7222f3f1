"""The API: the way through a study step by step, what becomes of an answer, and what becomes of anything else."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from picture_study import write_picture_study
from site_client import JSON, AskedSite, Visit, asked_site

from sfumato.elicitation.answer_intake import MAX_REFUSED, MAX_REFUSED_BYTES
from sfumato.server.answer_api import LONGEST_AGE_MS
from sfumato.study import read_study
from sfumato.study.study import Study

CAT = {"class": "cat"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path_factory.mktemp("pets"))) as opened:
        yield opened


@pytest.fixture
def person(asked: AskedSite) -> Visit:
    return asked.ready()


def test_the_way_through_a_study(asked: AskedSite) -> None:
    visit = asked.join()
    assert visit.state()["stage"] == "consent"
    assert visit.step("consent").json["stage"] == "instructions"
    at_questions = visit.step("instructions").json
    assert (at_questions["stage"], at_questions["failed"], at_questions["attempts_left"]) == ("comprehension", False, 2)
    again = visit.comprehension(["yes", "1"]).json
    assert (again["stage"], again["failed"], again["attempts_left"]) == ("comprehension", True, 1)
    state = visit.comprehension(["yes", "2"]).json
    assert [trial["number"] for trial in state["trials"]] == [1]
    assert [trial["practice"] for trial in state["trials"]] == [True]
    assert [trial["feedback"] for trial in state["trials"]] == ["<p>A cat.</p>\n"]
    counts = []
    while state["stage"] == "trials":
        reply = visit.submit(visit.body(CAT, trial=state["trials"][0]["trial"]))
        assert reply.status == 201
        state = reply.json["state"]
        counts.append(state["answered"])
    # Practice does not count.
    assert counts == [0, 1, 2, 3, 4]
    assert (state["stage"], state["wanted"], len(state["code"])) == ("finished", 4, 8)
    assert visit.state() == state


def test_who_fails_the_questions_too_often_is_shown_nothing(asked: AskedSite) -> None:
    visit = asked.join()
    visit.step("consent")
    visit.step("instructions")
    for _ in range(2):
        state = visit.comprehension(["no", "1"]).json
    assert state["stage"] == "excluded"
    assert "trials" not in visit.comprehension(["yes", "2"]).json
    assert visit.step("trials").json["stage"] == "excluded"


def test_steps_out_of_order_change_nothing(asked: AskedSite, person: Visit) -> None:
    new = asked.join()
    new.state()
    before = asked.rows()
    for name in ("instructions", "trials", "pulse", "state"):
        assert new.step(name).json["stage"] == "consent"
    assert new.comprehension(["yes", "2"]).json["stage"] == "consent"
    for name in ("consent", "instructions"):
        assert person.step(name).json["stage"] == "trials"
    assert person.comprehension(["no", "no"]).json["stage"] == "trials"
    assert asked.rows() == before


def test_an_answer_before_its_time_is_no_answer(asked: AskedSite, person: Visit) -> None:
    new = asked.join()
    before = asked.rows()
    for trial in (person.trial()["trial"], "t"):
        assert new.submit(new.body(CAT, trial=trial)).status == 404
    assert asked.rows() == before


@pytest.mark.parametrize("given", [[], ["yes"], ["yes", "2", "2"]])
def test_every_question_is_answered_or_none(asked: AskedSite, given: list[str]) -> None:
    visit = asked.join()
    visit.step("consent")
    visit.step("instructions")
    reply = visit.comprehension(given)
    assert (reply.status, reply.json["code"]) == (422, "invalid-answer")
    assert visit.state()["attempts_left"] == 2


def test_an_answer_is_stored_once_under_its_key(asked: AskedSite, person: Visit) -> None:
    body = person.body(CAT)
    first, retry = person.submit(body), person.submit(body)
    assert (first.status, retry.status) == (201, 200)
    assert first.json == retry.json
    (row,) = (row for row in asked.stored() if row["key"] == body["key"])
    assert json.loads(row["payload"]) == CAT
    assert row["handle"] == first.json["answer"]
    other = person.submit(body | {"answer": {"class": "dog"}})
    assert (other.status, other.json["code"]) == (422, "key-reused")
    assert set(other.json) >= {"code", "found", "expected", "fix"}


def test_a_second_answer_to_a_trial_is_kept_aside(asked: AskedSite, person: Visit) -> None:
    body = person.body(CAT)
    person.submit(body)
    n_answers = len(asked.stored())
    second = body | {"key": "second", "answer": {"class": "dog"}}
    reply = person.submit(second)
    assert (reply.status, reply.json["code"]) == (409, "already-answered")
    assert reply.json["state"]["stage"] == "trials"
    assert person.submit(second).status == 409
    assert len(asked.stored()) == n_answers
    assert [json.loads(row["body"]) for row in asked.stored("refused") if row["key"] == "second"] == [second]


@pytest.mark.parametrize(
    ("age", "milliseconds"),
    [
        (None, 0),
        ("0", 0),
        ("90000", 90_000),
        ("-5", 0),
        ("+5", 0),
        ("1e3", 0),
        ("soon", 0),
        ("", 0),
        ("٣", 0),
        ("1_000", 0),
        ("999999999999999", LONGEST_AGE_MS),
        ("9" * 5000, 0),
    ],
)
def test_when_it_was_submitted_comes_from_its_age(
    asked: AskedSite, person: Visit, age: str | None, milliseconds: int
) -> None:
    body = person.body(CAT, record={"elapsed_ms": 2500.4, "hidden": [[0, 1000]]})
    sent = {} if age is None else {"x-sfumato-age": age.encode().decode("latin-1")}
    assert person.submit(body, sent).status == 201
    row = asked.stored()[-1]
    # Nobody answers what they have not been given, whatever a clock says.
    leased_at = next(trial["leased_at"] for trial in asked.stored("trials") if trial["id"] == row["trial"])
    assert row["submitted_at"] == max(row["received_at"] - milliseconds, leased_at)
    assert row["started_at"] == row["submitted_at"] - 2500
    assert row["seconds"] == pytest.approx(1.5004)


def test_a_retry_may_be_older_than_the_first_attempt(person: Visit) -> None:
    body = person.body(CAT)
    assert person.submit(body, {"x-sfumato-age": "5"}).status == 201
    assert person.submit(body, {"x-sfumato-age": "60000"}).status == 200


def answered(visit: Visit, text: bytes) -> bytes:
    """The body of a good submission, with `text` in the place of its answer."""
    body = json.dumps(visit.body("ANSWER")).encode()
    return body.replace(b'"ANSWER"', text)


BAD_BODIES: dict[str, Any] = {
    "extra worker_id": lambda v: v.body(CAT, worker_id="x"),
    "extra created_at": lambda v: v.body(CAT, created_at=0),
    "extra role": lambda v: v.body(CAT, role="admin"),
    "extra payment": lambda v: v.body(CAT, payment=100),
    "extra in the answer": lambda v: v.body(CAT | {"annotator": "x"}),
    "extra in the record": lambda v: v.body(CAT, record={"elapsed_ms": 1, "seconds": 3}),
    "no key": lambda v: {name: value for name, value in v.body(CAT).items() if name != "key"},
    "no record": lambda v: {name: value for name, value in v.body(CAT).items() if name != "record"},
    "key empty": lambda v: v.body(CAT, key=""),
    "key long": lambda v: v.body(CAT, key="k" * 101),
    "key number": lambda v: v.body(CAT, key=7),
    "trial list": lambda v: v.body(CAT, trial=["t"]),
    "answer list": lambda v: v.body([CAT]),
    "answer text": lambda v: v.body("cat"),
    "answer null": lambda v: v.body(None),
    "list": lambda _: b"[]",
    "null": lambda _: b"null",
    "nothing": lambda _: b"",
    "no json": lambda _: b"key=1&trial=2",
    "cut off": lambda v: json.dumps(v.body(CAT)).encode()[:-1],
    "bytes behind": lambda v: json.dumps(v.body(CAT)).encode() + b" {}",
    "byte order mark": lambda v: b"\xef\xbb\xbf" + json.dumps(v.body(CAT)).encode(),
    "utf-16": lambda v: json.dumps(v.body(CAT)).encode("utf-16"),
    "NaN": lambda v: answered(v, b'{"class": NaN}'),
    "Infinity": lambda v: answered(v, b'{"class": Infinity}'),
    "number too large": lambda v: answered(v, b'{"class": 1e999}'),
    "5000 digits": lambda v: answered(v, b'{"class": ' + b"9" * 5000 + b"}"),
    "lone surrogate": lambda v: answered(v, b'{"class": "\\ud800"}'),
    "no utf-8": lambda v: answered(v, b'{"class": "\xff"}'),
    "control character": lambda v: answered(v, b'{"class": "c\nat"}'),
    "nested lists": lambda v: answered(v, b'{"class": ' + b"[" * 30_000 + b"]" * 30_000 + b"}"),
    "nested objects": lambda v: answered(v, b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
    "comment": lambda v: answered(v, b'{"class": "cat"} /* yes */'),
    "elapsed negative": lambda v: v.body(CAT, record={"elapsed_ms": -1}),
    "elapsed text": lambda v: v.body(CAT, record={"elapsed_ms": "1"}),
    "elapsed without limit": lambda v: v.body(CAT, record={"elapsed_ms": 1e300}),
    "too many events": lambda v: v.body(CAT, record={"elapsed_ms": 1, "events": [[1, "click", "a", None]] * 501}),
    "event of three": lambda v: v.body(CAT, record={"elapsed_ms": 1, "events": [[1, "click", "a"]]}),
    "event with an object": lambda v: v.body(CAT, record={"elapsed_ms": 1, "events": [[1, "click", "a", {}]]}),
    "event long": lambda v: v.body(CAT, record={"elapsed_ms": 1, "events": [[1, "click", "a" * 201, 1]]}),
    "span of one": lambda v: v.body(CAT, record={"elapsed_ms": 1, "hidden": [[1]]}),
    "pointer unknown": lambda v: v.body(CAT, record={"elapsed_ms": 1, "pointer": "foot"}),
    "viewport of two": lambda v: v.body(CAT, record={"elapsed_ms": 1, "viewport": [1, 2]}),
    "keys list": lambda v: v.body(CAT, record={"elapsed_ms": 1, "keys": ["1"]}),
    "shortcuts number": lambda v: v.body(CAT, record={"elapsed_ms": 1, "shortcuts": 1}),
    "cut negative": lambda v: v.body(CAT, record={"elapsed_ms": 1, "cut": -1}),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_is_none_stores_nothing_and_the_answer_can_still_come(
    asked: AskedSite, person: Visit, name: str
) -> None:
    trial = person.trial()["trial"]
    bad = BAD_BODIES[name](person)
    before = asked.rows()
    reply = person.submit(bad)
    assert reply.status == 422, reply.body
    assert set(reply.json) >= {"code", "found", "expected", "fix"}
    assert reply.json["code"] in ("bad-body", "invalid-answer")
    assert asked.rows() == before
    assert person.submit(person.body(CAT, trial=trial)).status == 201


def test_a_key_given_twice_leaves_a_payload_in_which_it_stands_once(asked: AskedSite, person: Visit) -> None:
    # Tables that hold a doubled key are refused when they are read, so the store must not hold one.
    assert person.submit(answered(person, b'{"class": "cat", "class": "dog"}')).status in (201, 422)
    assert asked.stored()[-1]["payload"].count('"class"') == 1


@pytest.mark.parametrize("key", ["\0", "k\0k", "\u202e", "\n", "é" * 100])
def test_keys_of_any_characters_are_answered(person: Visit, key: str) -> None:
    assert person.submit(person.body(CAT, key=key)).status in (201, 422)


@pytest.mark.parametrize("name", ["state", "consent", "instructions", "trials", "pulse", "withdraw"])
def test_steps_take_an_empty_object_and_nothing_else(asked: AskedSite, person: Visit, name: str) -> None:
    before = asked.rows()
    for body in (b"", b"[]", b"null", b'{"role": "admin"}', b'{"at": 1}', b"{", b"{}{}", b"[" * 60_000):
        reply = person.step(name, body)
        assert (reply.status, reply.json["code"]) == (422, "bad-body"), body[:20]
    assert asked.rows() == before


@pytest.mark.parametrize(
    "media_type",
    [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json2", "json"],
)
@pytest.mark.parametrize("step", ["state", "withdraw", "comprehension", "answers"])
def test_only_json_is_read(asked: AskedSite, person: Visit, step: str, media_type: str | None) -> None:
    before = asked.rows()
    headers = {} if media_type is None else {"content-type": media_type}
    reply = asked.client.send("POST", f"{person.base}/api/{step}", b"{}", headers)
    assert (reply.status, reply.json["code"]) == (422, "not-json")
    assert asked.rows() == before


def test_json_may_name_its_charset(asked: AskedSite, person: Visit) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    assert asked.client.send("POST", f"{person.base}/api/state", b"{}", headers).status == 200


@pytest.mark.parametrize("step", ["state", "comprehension", "answers"])
def test_a_body_that_is_too_large_is_refused_at_once(asked: AskedSite, person: Visit, step: str) -> None:
    before = asked.rows()
    target = f"{person.base}/api/{step}"
    announced = asked.client.send("POST", target, b"{}", JSON | {"content-length": "65537"})
    sent = asked.client.send("POST", target, b" " * 65_537, JSON)
    for reply in (announced, sent):
        assert (reply.status, reply.json["code"], reply.raised) == (413, "body-too-large", None)
    assert asked.rows() == before


def test_a_body_of_just_the_limit_is_read(person: Visit) -> None:
    body = json.dumps(person.body(CAT)).encode()
    assert person.submit(body + b" " * (65_536 - len(body))).status == 201


@pytest.mark.parametrize("step", ["state", "comprehension", "answers"])
def test_a_body_in_chunks_has_the_same_limit(asked: AskedSite, person: Visit, step: str) -> None:
    before = asked.rows()
    reply = asked.client.send("POST", f"{person.base}/api/{step}", [b" " * 30_000] * 4, JSON)
    assert (reply.status, reply.json["code"]) == (413, "body-too-large")
    assert reply.raised is None
    assert asked.rows() == before
    assert person.submit(person.body(CAT)).status == 201


@pytest.mark.parametrize("body", [[b" " * 30_000] * 4, b" " * 65_537], ids=["in chunks", "whole"])
def test_nobody_joins_by_a_body_that_is_too_large(asked: AskedSite, body: bytes | list[bytes]) -> None:
    before = asked.rows()
    reply = asked.client.send("POST", "/join", body, {"content-type": "application/x-www-form-urlencoded"})
    assert (reply.status, reply.raised) == (413, None)
    assert asked.rows() == before
    assert asked.client.send("POST", "/join", b"", {}).status == 303
    assert asked.rows() != before


def test_a_body_in_chunks_is_an_answer_like_any(asked: AskedSite, person: Visit) -> None:
    body = json.dumps(person.body(CAT)).encode()
    reply = asked.client.send("POST", f"{person.base}/api/answers", [body[:9], body[9:50], body[50:]], JSON)
    assert reply.status == 201


def test_a_length_that_lies_is_no_way_round_the_limit(asked: AskedSite, person: Visit) -> None:
    target = f"{person.base}/api/state"
    for length in ("1", "-1", "x", "9" * 30):
        reply = asked.client.send("POST", target, b" " * 70_000, JSON | {"content-length": length})
        assert reply.status in (400, 413), (length, reply.status)


def test_leaving_gives_back_what_was_held(asked: AskedSite, person: Visit) -> None:
    trial = person.trial()["trial"]
    assert person.step("withdraw").json["stage"] == "withdrawn"
    assert person.step("trials").json["stage"] == "withdrawn"
    states = {row["handle"]: row["state"] for row in asked.stored("trials")}
    assert states[trial] == 2


def test_an_answer_after_withdrawal_does_not_count(asked: AskedSite, person: Visit) -> None:
    body = person.body(CAT)
    person.step("withdraw")
    n_answers = len(asked.stored())
    n_refused = len(asked.stored("refused"))
    # However long ago the browser says that it was given, and whatever its trial is.
    for age in ("0", "1000", "86400000", "999999999999999"):
        reply = person.submit(body | {"key": f"age-{age}"}, {"X-Sfumato-Age": age})
        assert (reply.status, reply.json["code"]) == (409, "withdrawn")
    assert person.submit(body | {"trial": "another", "key": "k2"}).status == 409
    assert (len(asked.stored()), len(asked.stored("refused"))) == (n_answers, n_refused)


def test_what_was_stored_before_withdrawal_is_acknowledged_after_it(asked: AskedSite, person: Visit) -> None:
    body = person.body(CAT)
    first = person.submit(body)
    person.step("withdraw")
    again = person.submit(body)
    assert (again.status, again.json["answer"]) == (200, first.json["answer"])


def test_refused_answers_are_stored_up_to_a_limit(asked: AskedSite, person: Visit) -> None:
    stored = person.body(CAT)
    person.submit(stored)
    n_refused = len(asked.stored("refused"))

    def refused(n: int, size: int) -> list[int]:
        # Blanks make a body long that is otherwise valid.
        texts = [json.dumps(stored | {"key": str(uuid.uuid4())}) for _ in range(n)]
        bodies = [text.encode() + b" " * size for text in texts]
        replies = [person.submit(body) for body in [*bodies, *bodies]]
        assert {reply.json["code"] for reply in replies} == {"already-answered"}
        return [reply.status for reply in replies]

    assert set(refused(10, 60_000)) == {409}
    assert set(refused(2 * MAX_REFUSED, 0)) == {409}
    rows = asked.stored("refused")[n_refused:]
    assert len(rows) <= MAX_REFUSED
    assert sum(len(row["body"]) for row in rows) <= MAX_REFUSED_BYTES
    # What was stored is acknowledged as before, and the participant continues.
    assert person.submit(stored).status == 200
    assert person.submit(person.body(CAT)).status == 201


def test_when_the_store_fails_nothing_is_acknowledged_and_trying_again_helps(
    asked: AskedSite, person: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = person.body(CAT)
    with monkeypatch.context() as patched:
        patched.setattr("sfumato.elicitation.running_study.flush", broken)
        reply = person.submit(body)
    assert (reply.status, reply.json["code"], reply.header("retry-after")) == (503, "store-down", "1")
    assert "secret" not in reply.text
    assert person.submit(body).status == 201
    assert len([row for row in asked.stored() if row["key"] == body["key"]]) == 1


def test_when_too_many_wait_one_is_asked_to_come_back_before_anything_is_read(
    asked: AskedSite, person: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = person.body(CAT)
    with monkeypatch.context() as patched:
        patched.setattr("sfumato.store.writer.MOST_WAITING", 0)
        replies = [person.submit(body), person.submit({"not": "an answer"}), person.step("state")]
    assert [(reply.status, reply.json["code"]) for reply in replies] == [(503, "busy")] * 3
    assert {reply.header("retry-after") for reply in replies} <= {"1", "2", "3"}
    assert person.submit(body).status == 201


def broken(*_: object) -> None:
    raise OSError(28, "no space on /secret/place")


def test_a_study_without_pages_begins_with_the_instructions(tmp_path: Path) -> None:
    folder = write_picture_study(tmp_path)
    study: Study = read_study(folder)
    plain = Study(study.name, study.title, study.classes, study.items, study.question, path=study.path)
    with asked_site(plain) as asked:
        visit = asked.join()
        assert visit.state()["stage"] == "instructions"
        assert visit.step("instructions").json["stage"] == "trials"


def test_many_people_answer_under_keys_of_their_own(asked: AskedSite) -> None:
    visits = [asked.ready() for _ in range(5)]
    keys = [str(uuid.uuid4()) for _ in visits]
    for visit, key in zip(visits, keys, strict=True):
        assert visit.submit(visit.body(CAT, key=key)).status == 201
    assert [row["key"] for row in asked.stored()[-5:]] == keys
