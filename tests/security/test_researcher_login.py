"""Attacks on the researcher's login that once worked, and their relatives: guesses, locking the researcher out, links
that are used up or never expire, stolen and planted cookies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from picture_study import write_picture_study
from postgres_cluster import Cluster
from researcher import PASSWORD, Researcher, all_cookies_of, knock, knocking, set_password
from sfumato_command import sfumato
from site_client import AskedSite, asked_site

from sfumato.cli import serve as serve_command
from sfumato.server import dashboard_access, dashboard_login
from sfumato.server.login_attempts import DAY, KnownDevices, LoginAttempts
from sfumato.server.login_links import LoginLinks, leave_link, link_file
from sfumato.server.passwords import check_password
from sfumato.server.rate_limit import TooMany, network_of
from sfumato.server.researcher_sessions import Sessions
from sfumato.study import read_study
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting

COMMON = """
password1 Password1! P@ssw0rd P@$$w0rd1 passw0rd123 myp@ssword mypassword1 thisismypassword Passw0rd! p4ssw0rd
drowssap drowssap1 Passwort1! motdepasse1 contrasena1 123456789a 12345678a a12345678 abc12345 abcd1234! 11111111
88888888 aaaaaaaa1 123123123 987654321 147258369 20262026 01012000 12121990 1q2w3e4r5t 1qaz2wsx3edc 1qaz!QAZ 1qaz@WSX
!QAZ2wsx zaq1@WSX qwerty123 Qwerty123! qwertyuiop qwer1234! asdfghjkl asdf;lkj zxcvbnm123 qazwsxedc poiuytrewq
mnbvcxz1 azerty123 qwertz123 iloveyou1 iloveyou! iloveyou2 ilovecats1 princess1 sunshine1 football1 baseball1
superman1 batman123 michael1 jennifer1 charlie1 shadow123 master123 dragon123 monkey123 letmein1! letmeinnow welcome1
Welcome2026! Welcome@123 admin123! administrator Admin@2026 nimda123 root1234 toor1234 changeme123 trustno1 starwars1
pokemon1 whatever1 computer1 internet1 freedom1 liverpool1 chelsea123 arsenal1 jordan23 michelle1 samantha1 danielle1
nicholas1 Summer2026 Winter2025! Spring2026! Autumn2026 August2026 January2026 Monday123! google123 facebook1
linkedin1 test1234 Test1234! testtest1 secret123 default1 guest1234 login1234 access14 hallo123 schatz123 bonjour1
chocolate1 butterfly1 flower123 blink182 ncc1701d rush2112 8675309a research1 Research2026 labeling1
correcthorsebatterystaple sfumato1! Sfumato2026 pets-study Pets2026 p3ts!2026 PetsStudy1
"""
GOOD = (
    "nine grey geese by the lake",
    "purple teapot volcano lamp",
    "copper-lantern-meadow-91",
    "aardvark umbrella 7 tin",
    "ein Häuschen im Grünen",
    "река тихо течёт на север",
    "水色の空に白い鳥が飛ぶ",
    "🦢🦆🪿 under a willow",
    "t4R!mn0z",
    "kd93!xQp",
    "Zj7#qLw2pR",
    "words " * 12 + "and more of them, past what is estimated: 5 kites",
)


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path)) as opened_site:
        yield opened_site


# --- guessing ---


def test_common_passwords_are_refused(tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path, name="pets-study"))
    common = COMMON.split()
    assert len(common) > 72
    assert [password for password in common if is_accepted(password, study)] == []


def is_accepted(password: str, study: Study) -> bool:
    try:
        check_password(password, study)
    except BadSetting:
        return False
    return True


def test_good_passphrases_are_accepted(tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path, name="pets-study"))
    for password in GOOD:
        check_password(password, study)


# --- locking the researcher out, and exhausting the machine ---


@pytest.mark.usefixtures("cheap_hashes")
def test_wrong_passwords_of_others_never_block_a_known_device(asked: AskedSite) -> None:
    set_password(asked)
    device = all_cookies_of(knock(asked, PASSWORD))[1]
    # Everybody else, from the researcher's own address and from many others, for as long as they like.
    statuses = {knock(asked, f"guess {i}", address=f"10.0.{i // 4}.1").status for i in range(100)}
    statuses |= {knock(asked, f"guess {i}").status for i in range(30)}
    assert statuses == {401, 429}
    assert knock(asked, PASSWORD, device).status == 200
    # A link is not blocked either.
    assert asked.client.send("POST", asked.site.dashboard.new_link()).status == 303
    # The known device has a limit of its own, and no other device shares it.
    assert [knock(asked, "typing error", device).status for _ in range(10)] == [401] * 9 + [429]
    other = all_cookies_of(asked.client.send("POST", asked.site.dashboard.new_link()))[1]
    assert knock(asked, PASSWORD, other).status == 200


@pytest.mark.usefixtures("cheap_hashes")
def test_one_address_does_not_block_the_others(asked: AskedSite) -> None:
    set_password(asked)
    attacks = [f"2001:db8:0:7::{i:x}" for i in range(1, 30)]
    assert [knock(asked, "guess", address=each).status for each in attacks] == [401] * 5 + [429] * 24
    assert knock(asked, PASSWORD, address="2001:db8:0:8::1").status == 200


def test_a_network_is_counted_as_one_address() -> None:
    assert network_of("2001:db8:0:7::1") == network_of("2001:db8:0:7:ffff::9") != network_of("2001:db8:0:8::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of("fe80::1%eth0") == network_of("fe80::2")
    assert network_of("unknown") == "unknown"


def test_guesses_from_everywhere_are_few_per_minute_and_per_day() -> None:
    now = [0.0]
    attempts = LoginAttempts(lambda: now[0])

    def accepted() -> int:
        n = 0
        for i in range(500):
            with contextlib.suppress(TooMany):
                attempts.count_password(None, f"10.0.{i}.1")
                n += 1
        return n

    per_minute = []
    for _ in range(60):
        per_minute.append(accepted())
        now[0] += 61
    assert set(per_minute) == {20, 0}
    assert sum(per_minute) == 1000
    with pytest.raises(TooMany, match="within a day"):
        attempts.count_password(None, "192.0.2.1")
    attempts.count_password("known", "192.0.2.1")


def test_attempts_from_the_loopback_are_limited_too() -> None:
    attempts = LoginAttempts()
    for _ in range(5):
        attempts.count_password(None, "127.0.0.1")
    with pytest.raises(TooMany):
        attempts.count_password(None, "127.0.0.1")


def test_a_flood_of_logins_verifies_one_at_a_time_and_a_known_device_does_not_wait(
    asked: AskedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each verification takes 64 MB; twenty at once would take more than a gigabyte."""
    device = all_cookies_of(asked.client.send("POST", asked.site.dashboard.new_link()))[1]
    flood_ends, lock, running, most = threading.Event(), threading.Lock(), set[object](), [0]

    def verify(password: str, _stored: object) -> bool:
        with lock:
            running.add(mine := object())
            most[0] = max(most[0], len(running))
        if password != PASSWORD:
            assert flood_ends.wait(60)
        with lock:
            running.remove(mine)
        return password == PASSWORD

    monkeypatch.setattr(dashboard_login, "is_password", verify)

    async def flooded() -> tuple[int, list[int]]:
        send = [asyncio.ensure_future(knocking(asked, "guess", address=f"10.0.{i}.1")) for i in range(20)]
        while sum(each.done() for each in send) < 12:
            await asyncio.sleep(0.001)
        # The flood still runs when the researcher is in.
        known = await knocking(asked, PASSWORD, device)
        flood_ends.set()
        return known.status, [reply.status for reply in await asyncio.gather(*send)]

    known, statuses = asked.runner.run(flooded())
    assert known == 200
    assert most[0] == 2
    assert sorted(statuses) == [401] * 8 + [429] * 12


# --- links ---


def test_a_link_expires_after_an_hour() -> None:
    for seconds, is_valid in ((3599, True), (3601, False)):
        now = [1000.0]
        links = LoginLinks(clock=lambda now=now: now[0])
        key = links.new().rpartition("/")[2]
        now[0] += seconds
        assert links.redeem(key) == is_valid
        assert not links.redeem(key)


def test_a_link_made_while_the_server_runs_works_once_within_an_hour(tmp_path: Path) -> None:
    file = tmp_path / "store" / "answers.sqlite.pets.login-link"
    for seconds, is_valid in ((3599, True), (3601, False), (-60, False)):
        key = leave_link(file).rpartition("/")[2]
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert key not in file.read_text()
        links = LoginLinks(file, wall_clock=lambda seconds=seconds: time.time() + seconds)
        assert not links.redeem("another")
        assert links.redeem(key) == is_valid
        assert not file.exists()
        assert not LoginLinks(file).redeem(key)
    first, second = (leave_link(file).rpartition("/")[2] for _ in range(2))
    assert not LoginLinks(file).redeem(first)
    with ThreadPoolExecutor(20) as threads:
        assert sum(threads.map(lambda _: LoginLinks(file).redeem(second), range(20))) == 1


def test_the_login_command_prints_a_link_for_the_running_server(asked: AskedSite) -> None:
    assert asked.study.path is not None
    printed = sfumato("study", "login", asked.study.path, "--address", "https://birds.example/").stdout
    link = re.fullmatch(r"https://birds\.example(/studio/enter/[\w-]{32})\n", printed)
    assert link is not None
    assert asked.client.send("POST", link[1]).status == 303
    assert asked.client.send("POST", link[1]).status == 404


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_files_that_others_may_have_written_open_nothing(tmp_path: Path) -> None:
    """In a folder that others can write to, they could put a link or a session of their own."""
    file, real = tmp_path / "link", tmp_path / "real"
    for spoil in (
        lambda: file.chmod(0o640),
        lambda: os.chown(file, 65534, 65534),
        lambda: (file.rename(real), file.symlink_to(real)),
    ):
        key = leave_link(file).rpartition("/")[2]
        spoil()
        assert not LoginLinks(file).redeem(key)
    for spoil in (lambda: file.chmod(0o644), lambda: os.chown(file, 65534, 65534)):
        file.unlink()
        token = Sessions(file=file, boot=lambda: "boot").open("link")
        assert Sessions(file=file, boot=lambda: "boot").find(token) is not None
        spoil()
        assert Sessions(file=file, boot=lambda: "boot").find(token) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_root_makes_a_link_for_the_owner_of_the_folder(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    key = leave_link(tmp_path / "link").rpartition("/")[2]
    assert (tmp_path / "link").stat().st_uid == 65534
    assert LoginLinks(tmp_path / "link").redeem(key)


# --- sessions and devices after a change of the password ---


@pytest.mark.usefixtures("cheap_hashes")
def test_another_password_ends_every_session_and_forgets_every_device(tmp_path: Path) -> None:
    folder = write_picture_study(tmp_path)
    with asked_site(folder) as asked:
        set_password(asked)
        session, device = all_cookies_of(knock(asked, PASSWORD))
    with asked_site(folder) as asked:
        # A restart with the same password, as a service has it in its file, changes nothing.
        serve_command.set_password(asked.site.dashboard, PASSWORD)
        assert asked.client.get("/studio", {"cookie": session}).status == 200
        asked.site.dashboard.attempts = LoginAttempts()
        assert [knock(asked, "wrong", device).status for _ in range(11)] == [401] * 10 + [429]
        serve_command.set_password(asked.site.dashboard, "seven tin whistles in a drawer")
        assert asked.client.get("/studio", {"cookie": session}).status == 401
        assert knock(asked, PASSWORD).status == 401
        # A stolen cookie of a device is now like none.
        asked.site.dashboard.attempts = LoginAttempts()
        assert [knock(asked, "wrong", device).status for _ in range(6)] == [401] * 5 + [429]
    with asked_site(folder) as asked:
        assert asked.client.get("/studio", {"cookie": session}).status == 401


@pytest.mark.usefixtures("cheap_hashes")
def test_a_password_set_by_another_server_ends_sessions_here(
    tmp_path: Path, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, store = write_picture_study(tmp_path), postgres.new_database()
    with asked_site(folder, store) as here, asked_site(folder, store) as there:
        person = Researcher.by_link(here)
        set_password(there)
        assert person.get("/studio").status == 200
        monkeypatch.setattr(dashboard_access, "CREDENTIALS_SECONDS", -1)
        assert person.get("/studio").status == 401
        # Only the server that deletes the file opens a session.
        link = leave_link(link_file(here.study, here.site.place))
        assert [asked.client.send("POST", link).status for asked in (there, here)] == [303, 404]


def test_cookies_of_devices_cannot_be_made_up() -> None:
    now = [1e9]
    secret = "ab" * 32
    devices = KnownDevices(secret, "credentials", lambda: now[0])
    cookie = devices.new()
    device = devices.find(cookie)
    assert device
    for i in range(len(cookie)):
        changed = cookie[:i] + ("A" if cookie[i] != "A" else "B") + cookie[i + 1 :]
        assert devices.find(changed) is None, i
    for text in (None, "", ".", "..", "a.b.c", "\u0130.1.2", cookie + "0"):
        assert devices.find(text) is None
    assert KnownDevices("cd" * 32, "credentials", lambda: now[0]).find(cookie) is None
    assert KnownDevices(secret, "other", lambda: now[0]).find(cookie) is None
    now[0] += 300 * DAY
    renewed = devices.new(replaces=cookie)
    now[0] += 200 * DAY
    assert devices.find(cookie) is None
    assert devices.find(renewed) == device


def test_logging_out_everywhere_ends_every_session(asked: AskedSite) -> None:
    people = [Researcher.by_link(asked) for _ in range(3)]
    assert people[0].post("/studio/logout", {"everywhere": True}).status == 200
    assert [person.get("/studio").status for person in people] == [401] * 3
    assert asked.stored("happenings")[-1]["what"] == "logged out everywhere"


def test_a_logout_that_cannot_be_saved_holds_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: the file of before must not open the session again."""
    file = tmp_path / "sessions"
    sessions = Sessions(file=file, boot=lambda: "boot")
    token = sessions.open("link")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sfumato.server.researcher_sessions.write_private", full)
    sessions.close(token)
    assert Sessions(file=file, boot=lambda: "boot").find(token) is None


@pytest.mark.usefixtures("cheap_hashes")
def test_a_session_named_by_somebody_else_is_not_opened(asked: AskedSite) -> None:
    """Session fixation: whatever cookie the browser sends, the token after login is new."""
    set_password(asked)
    planted = "sfumato=planted-by-another-site-0123456789"
    for reply in (
        asked.client.send("POST", asked.site.dashboard.new_link(), headers={"cookie": planted}),
        knock(asked, PASSWORD, planted),
    ):
        assert all_cookies_of(reply)[0] != planted
    assert asked.client.get("/studio", {"cookie": planted}).status == 401


@pytest.mark.usefixtures("cheap_hashes")
def test_no_other_site_logs_anybody_in(asked: AskedSite) -> None:
    """Login CSRF: by password and by link."""
    set_password(asked)
    link = asked.site.dashboard.new_link()
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}, {"origin": "null"}):
        assert asked.client.post("/studio/login", {"password": PASSWORD}, headers).status == 403
        assert asked.client.send("POST", link, headers=headers).status == 403
    form = {"content-type": "text/plain"}
    assert asked.client.send("POST", "/studio/login", b'{"password": "x"}', form).status == 422
    assert asked.client.send("POST", link).status == 303
