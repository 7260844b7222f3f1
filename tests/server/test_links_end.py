"""A link that has ended, over HTTP: a page that says so in every language, and nothing of the study."""

from __future__ import annotations

import re
from pathlib import Path

import sqlalchemy as sa
from picture_study import SECRETS, write_picture_study
from site_client import AskedSite, Visit, asked_site

from sfumato.elicitation.participant_link import DAY_MS, new_token
from sfumato.recruitment.arrival import entry_key
from sfumato.server.translations import translations_for
from sfumato.store.database import writing_engine
from sfumato.store.location import StoreLocation
from sfumato.store.schema import annotators
from sfumato.study.study import LANGUAGES

MONTH_AND_A_DAY = 31 * DAY_MS
OF_THE_STUDY = (*SECRETS, "Do you agree?", "Look, and say.", "Is doubt allowed?", "cat", "dog", "2.50")


def long_ago(place: StoreLocation) -> None:
    """Everybody was last there more than a month ago."""
    engine = writing_engine(place)
    moved = {name: annotators.c[name] - MONTH_AND_A_DAY for name in ("created_at", "seen_at")}
    with engine.begin() as connection:
        connection.execute(sa.update(annotators).values(moved))
    engine.dispose()


def in_every_language(folder: Path) -> Path:
    file = write_picture_study(folder) / "study.toml"
    file.write_text(f"languages = {list(LANGUAGES)}\n{file.read_text()}")
    return folder


def visit_again(asked: AskedSite, visit: Visit) -> Visit:
    return Visit(asked.client, visit.token)


def test_a_link_that_has_ended_opens_nothing(tmp_path: Path) -> None:
    folder = in_every_language(tmp_path)
    with asked_site(folder) as asked:
        before = asked.ready()
        body = before.body({"class": "cat"})
        picture = before.trial()["pictures"][0]
        assert asked.client.get(picture).status == 200
        place = asked.site.place
    long_ago(place)
    with asked_site(folder) as asked:
        visit = visit_again(asked, before)
        for name in LANGUAGES:
            page = asked.client.get(visit.base, {"accept-language": name, "accept": "text/html"})
            assert (page.status, page.header("cache-control")) == (410, "no-store")
            assert translations_for(name).sentences["errors"]["link-ended"]["message"] in page.text
            shown = re.sub(r"<title>.*</title>|eyebrow\">Pets<", "", page.text)
            assert not [each for each in (*OF_THE_STUDY, "Pets") if each in shown]
        steps = ("state", "consent", "instructions", "trials", "pulse")
        replies = [visit.step(each) for each in steps] + [visit.comprehension(["yes", "2"])]
        assert {(each.status, each.json["code"]) for each in replies} == {(410, "link-ended")}
        assert asked.client.get(picture).status == 404
        assert asked.client.get(f"{visit.base}/examples/0").status == 410
        # What was answered in time is stored all the same, once, and brings nothing new.
        first, again = visit.submit(body), visit.submit(body)
        assert (first.status, again.status) == (201, 200)
        state = {"stage": "ended", "answered": 0, "wanted": 4, "batch_size": 4}
        assert first.json["state"] == again.json["state"] == state
        assert len(asked.stored()) == 1
        assert visit.step("state").status == 410


def test_a_link_that_was_never_opened_ends_too(tmp_path: Path) -> None:
    with asked_site(write_picture_study(tmp_path)) as asked:
        secret, now = asked.site.writer.run(lambda running: (running.secret, running.clock.now()))
        held, ended = (new_token(secret, now - days * DAY_MS) for days in (29, 31))
        assert asked.client.get(f"/s/{held}").status == 200
        assert asked.client.get(f"/s/{ended}").status == 410
        assert len(asked.stored("annotators")) == 1


def test_whom_the_platform_sends_again_comes_in_again(tmp_path: Path) -> None:
    folder = write_picture_study(tmp_path)
    file = folder / "study.toml"
    file.write_text(f'{file.read_text()}[platform]\nname = "prolific"\ncompleted = "C0DE"\n')
    ids = f"?PROLIFIC_PID={'5f1e' * 6}&STUDY_ID={'6a2b' * 6}&SESSION_ID="
    with asked_site(folder) as asked:
        door = "/from/prolific/" + asked.site.writer.run(lambda running: entry_key(running.secret, "prolific"))
        reply = asked.client.get(f"{door}{ids}{'7c3d' * 6}")
        link, cookie = reply.header("location") or "", (reply.header("set-cookie") or "").partition(";")[0]
        assert asked.client.get(link).status == 200
        place = asked.site.place
    long_ago(place)
    with asked_site(folder) as asked:
        assert asked.client.get(link).status == 410
        again = asked.client.get(f"{door}{ids}{'8d4e' * 6}", {"cookie": cookie})
        assert again.header("location") == link
        assert asked.client.get(link).status == 200
        assert len(asked.stored("annotators")) == 1
