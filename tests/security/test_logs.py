"""S03, S35, S36: what is noted and what is not, where a fault is found again, and where the secret stays."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from picture_study import write_picture_study
from researcher import Researcher, UnlimitedAttempts
from site_client import AskedSite, SiteClient, asked_site

from sfumato.elicitation.researcher_actions import set_password
from sfumato.recruitment.arrival import entry_key
from sfumato.server.app import DENIALS_LOGGED, application
from sfumato.server.passwords import hash_password
from sfumato.server.rate_limit import ServerLimits, TokenBucket
from sfumato.server.request_guard import RefusalCounts
from sfumato.server.server import LOOPBACK
from sfumato.store.schema import METADATA

PASSWORD = "four geese on a lake"
PID, STUDY, VISIT = "7e117a1e7e117a1e7e117a1e", "66aa66aa66aa66aa66aa66aa", "5e551005e551005e551005e5"


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedSite]:
    folder = write_picture_study(tmp_path)
    file = folder / "study.toml"
    file.write_text(f'{file.read_text()}[platform]\nname = "prolific"\ncompleted = "C0DE"\n')
    with asked_site(folder) as opened:
        yield opened


def happenings(asked: AskedSite) -> list[tuple[str, str, dict[str, Any]]]:
    return [(row["who"], row["what"], json.loads(row["about"])) for row in asked.stored("happenings")]


@pytest.mark.usefixtures("cheap_hashes")
def test_every_login_denial_export_and_quota_change_is_noted_with_who_and_when(asked: AskedSite) -> None:
    kept = hash_password(PASSWORD)
    asked.site.writer.run(lambda running: set_password(running, kept, "terminal"))
    stranger = Researcher(asked, "sfumato=made-up")
    stranger.post("/studio/pause")
    stranger.get("/studio/state")
    stranger.post("/studio/pause", {}, {"sec-fetch-site": "cross-site"})
    asked.client.send("POST", "/studio/enter/made-up")
    asked.client.post("/studio/login", {"password": "wrong guess"})
    asked.client.post("/studio/login", {"password": PASSWORD})
    person = Researcher.by_link(asked)
    person.post("/studio/extend", {"answers_per_item": 500})
    person.post("/studio/pause")
    person.post("/studio/resume")
    person.post("/studio/downloads", {"what": "records", "format": "csv"})
    person.post("/studio/logout")
    noted = happenings(asked)
    assert [(who, what) for who, what, _ in noted] == [
        ("terminal", "password set"),
        ("somebody", "denied"),
        ("somebody", "denied"),
        ("somebody", "denied"),
        ("somebody", "link refused"),
        ("somebody", "login refused"),
        ("researcher, by password", "logged in"),
        ("researcher, by link", "logged in"),
        ("researcher, by link", "extended"),
        ("researcher, by link", "paused"),
        ("researcher, by link", "resumed"),
        ("researcher, by link", "exported"),
        ("researcher, by link", "logged out"),
    ]
    about = {what: told for _, what, told in noted}
    assert about["denied"] == {"why": "cross-site", "path": "/studio/pause", "address": "127.0.0.1"}
    assert about["extended"] == {"from": 97, "to": 500, "file": 97}
    assert about["exported"]["what"] == "records"
    assert all(row["at"] > 1_700_000_000_000 for row in asked.stored("happenings"))


def test_a_quota_changed_in_the_study_file_is_noted(tmp_path: Path) -> None:
    folder = write_picture_study(tmp_path)
    with asked_site(folder):
        pass
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("answers_per_item = 97", "answers_per_item = 99"))
    with asked_site(folder) as asked:
        assert [(who, what, told["to"]) for who, what, told in happenings(asked)] == [
            ("study file", "quota changed", 99)
        ]


def test_refused_people_cannot_fill_the_disk(asked: AskedSite) -> None:
    for _ in range(3 * DENIALS_LOGGED):
        asked.client.get("/studio/state")
    assert len(asked.stored("happenings")) == DENIALS_LOGGED


def test_what_happened_holds_no_token_key_answer_or_id(asked: AskedSite, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    asked.site.dashboard.attempts = UnlimitedAttempts()
    key = asked.site.writer.run(lambda running: entry_key(running.secret, "prolific"))
    arrived = asked.client.get(f"/from/prolific/{key}?PROLIFIC_PID={PID}&STUDY_ID={STUDY}&SESSION_ID={VISIT}")
    person = asked.ready()
    person.submit(person.body({"class": "cat"}))
    person.submit(b'{"class": "telltale-answer"')
    asked.client.post("/studio/login", {"password": "telltale-password"})
    link = asked.site.dashboard.new_link()
    researcher = Researcher.by_link(asked)
    asked.client.send("POST", "/studio/enter/telltale-key")
    asked.client.get("/studio/state", {"cookie": "sfumato=telltale-cookie"})
    secret = asked.stored("studies")[0]["secret"]
    said = caplog.text + json.dumps(happenings(asked))
    hushed = (PID, person.token, (arrived.header("location") or "")[3:], link.rpartition("/")[2], key, secret)
    for word in (*hushed, researcher.cookie.partition("=")[2], "telltale"):
        assert word not in said, word


def test_line_breaks_and_escapes_are_written_as_such(asked: AskedSite) -> None:
    for path in ("%0d%0aFORGED", "%1b%5b31m", "%00", "%e2%80%a8"):
        asked.client.send("POST", f"/studio/enter/{path}")
        Researcher(asked, "x").post(f"/studio/{path}")
    written = [row["about"] for row in asked.stored("happenings")]
    assert written
    assert all(text.isprintable() for text in written)
    assert "FORGED" not in "".join(written)


def test_a_fault_has_an_id_in_the_reply_and_in_the_log(
    asked: AskedSite, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("telltale")

    person = asked.ready()
    body = person.body({"class": "cat"})
    monkeypatch.setattr("sfumato.server.served_study.ServedStudy.state", broken)
    for reply in (person.step("state"), person.submit(body)):
        assert reply.status == 500
        assert re.fullmatch(r"[0-9a-f]{8}", reply.json["id"])
        assert f"internal error {reply.json['id']}: KeyError" in caplog.text
        assert "telltale" not in reply.text
    assert "telltale" not in caplog.text


def test_a_statement_that_fails_does_not_say_what_it_was_given(asked: AskedSite) -> None:
    table = METADATA.tables["happenings"]
    row = {"id": 1, "study": 10**9, "at": 0, "who": "telltale", "what": None, "about": "{}"}
    with asked.site.reader.connect() as connection, pytest.raises(sa.exc.DBAPIError) as failed:
        connection.execute(sa.insert(table), row)
    assert "telltale" not in str(failed.value)
    # The control: an engine without hide_parameters shows it.
    engine = sa.create_engine("sqlite://")
    METADATA.create_all(engine)
    with engine.connect() as connection, pytest.raises(sa.exc.DBAPIError, match="telltale"):
        connection.execute(sa.insert(table), row)
    engine.dispose()


def test_each_store_has_a_secret_of_its_own_that_stands_nowhere_else(tmp_path: Path) -> None:
    secrets = []
    for name in ("one", "two"):
        with asked_site(write_picture_study(tmp_path / name)) as asked:
            secret = asked.stored("studies")[0]["secret"]
            secrets.append(secret)
            person = asked.ready()
            said = [person.step("state").text, asked.client.get(person.base).text, repr(asked.site.study)]
            said += [asked.client.get("/nothing").text, Researcher.by_link(asked).get("/studio").text]
            assert not [text for text in said if secret in text]
            store = tmp_path / name / "store" / "answers.sqlite"
            assert store.stat().st_mode & 0o777 == 0o600
    assert len(set(secrets)) == 2
    assert all(re.fullmatch(r"[0-9a-f]{64}", each) for each in secrets)
    # None is shipped: nothing in the documents or in the code has the form of one.
    root = Path(__file__).parents[2]
    shipped = [*root.glob("docs/**/*.md"), *root.glob("examples/**/*"), root / "README.md"]
    texts = [file.read_text("utf-8") for file in shipped if file.is_file()]
    assert not [text for text in texts if any(re.findall(rf"secret\W+{each}", text) for each in ("[0-9a-f]{64}",))]


def test_refused_requests_are_counted_in_the_log(tmp_path: Path) -> None:
    """Wrong links, invalid bodies and exceeded limits left no trace. Together they are one entry per ten minutes."""
    now = [0.0]
    with asked_site(write_picture_study(tmp_path / "pets")) as opened:
        refusals = RefusalCounts(600, lambda: now[0])
        app = application(opened.site, LOOPBACK, ServerLimits(requests=TokenBucket(1, 3)), refusals)
        client = SiteClient(app, opened.runner)
        link = f"/s/{opened.ready().token}"

        def logged() -> list[dict[str, Any]]:
            return [row for row in opened.stored("happenings") if row["what"] == "requests refused"]

        wrong = f"/s/{'x' * 44}"
        assert client.get(wrong).status == 404
        assert client.post(f"{link}/api/answers", b"{").status == 422
        assert client.post(f"{link}/api/state", b"[" * 70_000).status == 413
        assert [client.post(f"{link}/api/state").status for _ in range(3)][-1] == 429
        assert client.get("/no-such-page").status == 404
        assert logged() == []
        now[0] = 601.0
        assert client.get(wrong).status == 404
        (entry,) = logged()
        assert json.loads(entry["about"]) == {"404": 2, "413": 1, "422": 1, "429": 2}
        assert "xxx" not in entry["about"]
        assert link[3:] not in entry["about"]
        # What is left is logged when the server stops.
        assert client.get(wrong).status == 404
        opened.runner.run(app.log_refusals())
        assert json.loads(logged()[-1]["about"]) == {"404": 1}
        opened.runner.run(app.log_refusals())
        assert len(logged()) == 2
