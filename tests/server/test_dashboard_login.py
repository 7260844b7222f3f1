"""Coming in as the researcher: links that work once, sessions that end, passwords that are hard to guess."""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from picture_study import write_picture_study
from researcher import Researcher, UnlimitedAttempts, cookie_of
from sfumato_command import sfumato
from site_client import AskedSite, Reply, SiteClient, asked_site
from study_server import StudyServer, write_texts_study

from sfumato.elicitation import researcher_actions
from sfumato.server.app import application
from sfumato.server.login_attempts import DAY, DEVICE_DAYS, LoginAttempts
from sfumato.server.login_links import LoginLinks
from sfumato.server.passwords import COMMON, check_password, hash_password, is_password
from sfumato.server.rate_limit import SlidingWindow, TooMany
from sfumato.server.researcher_sessions import IDLE_SECONDS, LONGEST_SECONDS, Sessions
from sfumato.server.server import LOOPBACK, open_site
from sfumato.study import read_study
from sfumato.tables.errors import BadSetting

GETS = ("/studio", "/studio/state", "/studio/events", "/studio/pictures/1", "/studio/downloads/x")
POSTS = {
    "/studio/pause": {},
    "/studio/resume": {},
    "/studio/extend": {"answers_per_item": 99},
    "/studio/downloads": {"what": "annotations"},
    "/studio/logout": {},
}
PASSWORD = "nine grey geese by the lake"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path)) as opened_site:
        yield opened_site


def set_password(asked: AskedSite, password: str = PASSWORD) -> None:
    kept = hash_password(password)
    asked.site.writer.run(lambda running: researcher_actions.set_password(running, kept, "test"))


def knock(asked: AskedSite, password: Any, headers: dict[str, str] | None = None) -> Any:
    return asked.client.post("/studio/login", {"password": password}, headers)


def redeem(asked: AskedSite, link: str, headers: dict[str, str] | None = None) -> Reply:
    return asked.client.send("POST", link, headers=headers or {})


def happened(asked: AskedSite) -> list[tuple[str, str]]:
    return [(row["what"], row["who"]) for row in asked.stored("happenings")]


def untouched(asked: AskedSite, before: dict[str, list[Any]]) -> bool:
    """Whether the store is as before, but for a note that somebody was kept out."""
    after = asked.rows()
    noted = after.pop("happenings")[len(before["happenings"]) :]
    return {row[4] for row in noted} == {"denied"} and after == {name: before[name] for name in after}


# --- who is let in ---


def test_nothing_is_open_without_a_session(asked: AskedSite, tmp_path: Path) -> None:
    real = Researcher.by_link(asked)
    token = real.cookie.partition("=")[2]
    with asked_site(write_picture_study(tmp_path / "other", name="other")) as other:
        elsewhere = Researcher.by_link(other).cookie
    person = asked.join().token
    before = asked.rows()
    wrong = ("", elsewhere, f"sfumato={token[:-1]}", f"sfumato={token}A", f"sfumato={token.swapcase()}")
    wrong += (f"__Host-sfumato={token}", f"sfumato={person}", "sfumato=", "sfumato=%00", f"other={token}")
    for cookie in wrong:
        stranger = Researcher(asked, cookie)
        for target in GETS:
            reply = stranger.get(target)
            assert reply.status == 401, (cookie, target)
            assert reply.header("cache-control") == "no-store"
        for target, body in POSTS.items():
            assert stranger.post(target, body).status == 401, (cookie, target)
    assert untouched(asked, before)
    assert real.get("/studio/state").status == 200


def test_the_door_says_nothing_of_the_study_but_its_title(asked: AskedSite) -> None:
    reply = asked.client.get("/studio", {"accept": "text/html"})
    assert (reply.status, reply.header("cache-control")) == (401, "no-store")
    assert "config" not in reply.text
    assert "Password" not in reply.text
    set_password(asked)
    assert 'type="password"' in asked.client.get("/studio").text


def test_a_link_works_once_and_another_is_said(asked: AskedSite) -> None:
    said: list[str] = []
    asked.site.dashboard.on_new_link = said.append
    link = asked.site.dashboard.new_link()
    assert re.fullmatch(r"/studio/enter/[\w-]{32}", link)
    first = redeem(asked, link)
    assert first.status == 303
    assert first.header("cache-control") == "no-store"
    again = redeem(asked, link)
    assert (again.status, again.header("set-cookie")) == (404, None)
    assert len(said) == 1
    assert redeem(asked, said[0]).status == 303
    assert [what for what, _ in happened(asked)] == ["logged in", "link refused", "logged in"]


def test_looking_at_a_link_does_not_use_it_up(asked: AskedSite) -> None:
    link = asked.site.dashboard.new_link()
    assert asked.client.send("HEAD", link).header("set-cookie") is None
    pages = set()
    for headers in ({}, {"sec-fetch-site": "none"}, {"sec-fetch-site": "same-origin"}, {"sec-purpose": "prefetch"}):
        reply = asked.client.get(link, headers)
        assert (reply.status, reply.header("set-cookie"), reply.header("cache-control")) == (200, None, "no-store")
        pages.add(reply.text)
    # The page says nothing about the link, not even whether it is valid.
    assert pages == {asked.client.get("/studio/enter/nothing").text}
    assert redeem(asked, link, {"sec-fetch-site": "cross-site"}).status == 403
    assert redeem(asked, link, {"origin": "https://evil.example"}).status == 403
    assert redeem(asked, link, {"sec-fetch-site": "same-origin"}).status == 303


def test_a_newer_link_ends_the_one_before(asked: AskedSite) -> None:
    first, second = asked.site.dashboard.new_link(), asked.site.dashboard.new_link()
    assert redeem(asked, first).status == 404
    assert redeem(asked, second).status == 303


def test_fifty_at_once_redeem_a_link_once(asked: AskedSite) -> None:
    asked.site.dashboard.attempts = UnlimitedAttempts()
    link = asked.site.dashboard.new_link()

    async def all_at_once() -> list[int]:
        replies = await asyncio.gather(*(asked.client._send("POST", link, b"", ()) for _ in range(50)))
        return [reply.status for reply in replies]

    assert sorted(asked.runner.run(all_at_once())) == [303] + [404] * 49
    links = LoginLinks()
    key = links.new().rpartition("/")[2]
    with ThreadPoolExecutor(50) as threads:
        assert sum(threads.map(links.redeem, [key] * 50)) == 1
    assert not links.redeem("")


def test_the_cookie_is_for_this_site_and_no_script(asked: AskedSite) -> None:
    reply = redeem(asked, asked.site.dashboard.new_link())
    set_cookie = reply.header("set-cookie") or ""
    for name, seconds in (("sfumato", LONGEST_SECONDS), ("sfumato-device", DEVICE_DAYS * DAY)):
        (cookie,) = [text for key, text in reply.headers if key == "set-cookie" and text.startswith(f"{name}=")]
        parts = [part.strip().lower() for part in cookie.split(";")]
        assert {"httponly", "samesite=strict", "path=/", f"max-age={seconds}"} <= set(parts)
        assert not [part for part in parts if part.startswith("domain")]
    # 192 bits, of which nothing is kept but a hash.
    token = set_cookie.split(";")[0].partition("=")[2]
    assert len(token) == 32
    assert token not in repr(vars(asked.site.dashboard.sessions))


def test_on_a_public_server_the_cookie_travels_by_https_alone(tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path))
    with open_site(study, public=True) as site, asyncio.Runner() as runner:
        client = SiteClient(application(site), runner)
        reply = client.send("POST", site.dashboard.new_link())
        set_cookie = reply.header("set-cookie") or ""
        cookies = [text for name, text in reply.headers if name == "set-cookie"]
        assert [text.partition("=")[0] for text in cookies] == ["__Host-sfumato", "__Host-sfumato-device"]
        for text in cookies:
            assert "secure" in [part.strip().lower() for part in text.split(";")]
        token = set_cookie.split(";")[0].partition("=")[2]
        assert client.get("/studio/state", {"cookie": f"__Host-sfumato={token}"}).status == 200
        assert client.get("/studio/state", {"cookie": f"sfumato={token}"}).status == 401


# --- how it ends ---


def test_a_session_ends_by_itself(asked: AskedSite) -> None:
    clock = Clock()
    asked.site.dashboard.sessions = Sessions(clock)
    person = Researcher.by_link(asked)
    for _ in range(4):
        clock.now += IDLE_SECONDS - 60
        alive = clock.now - 1000 <= LONGEST_SECONDS
        assert person.get("/studio").status == (200 if alive else 401)
    person = Researcher.by_link(asked)
    clock.now += IDLE_SECONDS - 60
    # What the page asks by itself is no sign of a person.
    assert person.get("/studio/state").status == 200
    clock.now += 61
    assert person.get("/studio/state").status == 401
    assert person.get("/studio").status == 401


def test_logging_out_ends_it_at_once(asked: AskedSite) -> None:
    person, other = Researcher.by_link(asked), Researcher.by_link(asked)
    reply = person.post("/studio/logout")
    assert reply.status == 200
    assert "max-age=0" in (reply.header("set-cookie") or "").lower()
    assert person.get("/studio").status == 401
    assert person.post("/studio/pause").status == 401
    assert other.get("/studio").status == 200


@pytest.mark.usefixtures("cheap_hashes")
def test_coming_in_again_is_another_session(asked: AskedSite) -> None:
    set_password(asked)
    person = Researcher.by_link(asked)
    reply = knock(asked, PASSWORD, {"cookie": person.cookie})
    assert reply.status == 200
    fresh = Researcher(asked, cookie_of(reply))
    assert fresh.cookie != person.cookie
    assert fresh.get("/studio").status == 200
    assert person.get("/studio").status == 401


def test_sessions_do_not_pile_up() -> None:
    sessions = Sessions()
    tokens = [sessions.open("link") for _ in range(200)]
    assert sessions.find(tokens[-1]) is not None
    assert sessions.find(tokens[0]) is None
    assert len(sessions._open) == 50


def test_a_session_outlives_the_server_and_not_the_machine(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "answers.sqlite.sessions"
    here = Sessions(clock, file, lambda: "first")
    stays, goes = here.open("link"), here.open("password")
    here.close(goes)
    assert file.stat().st_mode & 0o777 == 0o600
    assert stays not in file.read_text()
    again = Sessions(clock, file, lambda: "first")
    assert again.find(goes) is None
    found = again.find(stays)
    assert found is not None
    assert found.who == "researcher, by link"
    # What ended while nobody served it has ended, and what another start of the machine counted is worth nothing.
    for boot, seconds, is_there in (
        ("second", 0, False),
        ("", 0, False),
        ("first", 0, True),
        ("first", IDLE_SECONDS + 1, False),
    ):
        clock.now += seconds
        assert (Sessions(clock, file, lambda boot=boot: boot).find(stays) is not None) == is_there
    for damaged in (b"", b"{}", b"[", b"\xff", b'{"boot": "first", "open": {"zz": ["link", 1, 2]}}'):
        file.write_bytes(damaged)
        assert Sessions(clock, file, lambda: "first").find(stays) is None


def test_where_nothing_can_be_written_sessions_work_all_the_same(tmp_path: Path) -> None:
    sessions = Sessions(file=tmp_path / "nowhere" / "sessions", boot=lambda: "first")
    assert sessions.find(sessions.open("link")) is not None


# --- passwords ---


def test_the_password_opens_and_others_do_not(asked: AskedSite) -> None:
    asked.site.dashboard.attempts = UnlimitedAttempts()
    nothing_set = knock(asked, PASSWORD)
    set_password(asked)
    right = knock(asked, PASSWORD)
    assert right.status == 200
    assert Researcher(asked, cookie_of(right)).get("/studio").status == 200
    wrong = [knock(asked, text) for text in ("", PASSWORD[:-1], PASSWORD + " ", PASSWORD.upper(), "x" * 1000)]
    # Nobody learns whether there is a password, nor what was wrong with theirs.
    for reply in wrong:
        assert (reply.status, reply.body, reply.header("set-cookie")) == (401, nothing_set.body, None)
    kept = asked.stored("studies")[0]["password"]
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    everything = json.dumps(asked.rows(), default=str)
    assert PASSWORD not in everything
    assert ("login refused", "somebody") in happened(asked)
    assert ("logged in", "researcher, by password") in happened(asked)


@pytest.mark.usefixtures("cheap_hashes")
def test_nothing_of_a_long_password_is_left_out() -> None:
    long = "correct geese " * 20
    kept = hash_password(long + "a")
    assert is_password(long + "a", kept)
    assert not is_password(long + "b", kept)
    # However a keyboard composes it.
    assert is_password("Gänse am grauen See", hash_password("Ga\u0308nse am grauen See"))


def test_a_password_is_never_taken_where_none_is_set() -> None:
    assert not is_password("", None)
    assert not is_password(PASSWORD, None)
    assert not is_password(PASSWORD, "no hash at all")


def test_it_takes_as_long_whether_there_is_a_password_or_not() -> None:
    kept = hash_password(PASSWORD)

    def seconds(stored: str | None) -> float:
        begun = time.process_time()
        assert not is_password("wrong", stored)
        return time.process_time() - begun

    taken = {stored: [] for stored in (kept, None)}
    for _ in range(5):
        for stored, times in taken.items():
            times.append(seconds(stored))
    with_one, without = (statistics.median(times) for times in taken.values())
    best_with, best_without = (min(times) for times in taken.values())
    assert min(abs(with_one / without - 1), abs(best_with / best_without - 1)) < 0.1


@pytest.mark.parametrize(
    "weak", ["", "short", "1234567", "password", "Password123!", "qwertyuiop", "aaaaaaaaaaaa", "12345678", "letmein99",
             "pets-study", "Sfumato2026"],
)  # fmt: skip
def test_weak_passwords_are_refused(weak: str, tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path, name="pets-study"))
    with pytest.raises(BadSetting, match=r"weak-password|8 characters") as refused:
        check_password(weak, study)
    # The message does not repeat the password, unless it is a word of the message itself.
    assert weak in ("", "password") or weak not in str(refused.value)


def test_good_passwords_are_taken(tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path))
    for good in (PASSWORD, "t4R!mn0z", "ein Häuschen im Grünen", "🦢🦆🪿 under a willow"):
        check_password(good, study)
    assert len(COMMON) > 300


@pytest.mark.usefixtures("cheap_hashes")
def test_tries_are_limited(asked: AskedSite) -> None:
    clock = Clock()
    asked.site.dashboard.attempts = LoginAttempts(clock)
    set_password(asked)
    assert [knock(asked, "wrong guess").status for _ in range(5)] == [401] * 5
    clock.now += 20
    blocked = knock(asked, PASSWORD)
    assert (blocked.status, blocked.header("retry-after"), blocked.json["code"]) == (429, "40", "too-many")
    clock.now += 40
    assert knock(asked, PASSWORD).status == 200
    # Wrong links are limited; a right one is not.
    assert [redeem(asked, "/studio/enter/nothing").status for _ in range(20)] == [404] * 20
    blocked = redeem(asked, "/studio/enter/nothing")
    assert blocked.status == 429
    assert int(blocked.header("retry-after") or 0) > 0
    assert redeem(asked, asked.site.dashboard.new_link()).status == 303


def test_a_rate_counts_each_key_by_itself() -> None:
    clock = Clock()
    rate = SlidingWindow("tries", 2, 60, clock)
    rate.count("a")
    clock.now += 30
    rate.count("a")
    rate.count("b")
    with pytest.raises(TooMany) as refused:
        rate.count("a")
    assert refused.value.seconds == 30
    clock.now += 30
    rate.count("a")


# --- other sites, other bodies ---


def test_other_sites_change_nothing(asked: AskedSite) -> None:
    person = Researcher.by_link(asked)
    before = asked.rows()
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:8001"},
    ):
        for target, body in POSTS.items():
            reply = person.post(target, body, headers)
            assert (reply.status, reply.json["code"]) == (403, "cross-site"), (target, headers)
    assert untouched(asked, before)
    assert person.post("/studio/pause", {}, {"origin": "http://localhost:8000"}).status == 200


@pytest.mark.parametrize("target", [*POSTS, "/studio/login"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"role": "admin"}', b"\xff", b"[" * 50_000])
def test_bad_bodies_change_nothing(asked: AskedSite, target: str, body: bytes) -> None:
    person = Researcher.by_link(asked)
    before = asked.rows()
    reply = person.post(target, body)
    assert reply.status == 422, reply.body
    assert {"code", "found", "expected", "fix"} <= set(reply.json)
    form = asked.client.send("POST", target, b"password=x", {"content-type": "application/x-www-form-urlencoded",
                                                              "cookie": person.cookie})  # fmt: skip
    assert (form.status, form.json["code"]) == (422, "not-json")
    assert asked.rows() == before


@pytest.mark.parametrize("value", [0, -1, 1.5, "5", True, None, 10**7, 97, 96])
def test_a_study_is_extended_by_a_higher_whole_number_only(asked: AskedSite, value: Any) -> None:
    person = Researcher.by_link(asked)
    before = asked.rows()
    assert person.post("/studio/extend", {"answers_per_item": value}).status == 422
    assert asked.rows() == before


# --- at the terminal ---


def test_a_password_file_is_read_and_kept(tmp_path: Path) -> None:
    study = write_texts_study(tmp_path / "study", 2)
    file = tmp_path / "password.txt"
    file.write_text("letmein\n")
    refused = sfumato("serve", study, "--port", 0, "--password-file", file, code=2)
    assert "weak-password" in refused.stderr
    assert "letmein" not in refused.stderr
    sfumato("serve", study, "--port", 0, "--password-file", tmp_path / "none.txt", code=2)
    file.write_text(f"{PASSWORD}\nsecond line\n")
    server = StudyServer(study, program=("-m", "sfumato"))
    server._store = ["--password-file", str(file)]
    with server:
        assert PASSWORD not in server.log.read_text()
        link = re.search(r"works once: (http://\S+/studio/enter/\S+)", server.log.read_text())
        assert link is not None
        with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(link[1], b"") as page:
            assert (page.status, page.url) == (200, f"{server.url}/studio")
    with asked_site(study) as asked:
        assert knock(asked, PASSWORD).status == 200
        assert knock(asked, "second line").status == 401
        assert ("password set", "terminal") in happened(asked)


def test_the_hosts_of_the_loopback_stay_the_only_ones(asked: AskedSite) -> None:
    client = asked.client_for(LOOPBACK)
    assert client.get(asked.site.dashboard.new_link(), {"host": "evil.example"}).status == 400
