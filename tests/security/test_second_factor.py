"""The second factor of the researcher's login: needed, used once, limited, and no help to people who guess."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from picture_study import write_picture_study
from researcher import PASSWORD, all_cookies_of, knock, knocking, set_password
from site_client import AskedSite, asked_site

from sfumato.cli.study_access import second_factor
from sfumato.elicitation import researcher_actions
from sfumato.server.login_attempts import LoginAttempts
from sfumato.store.credentials import SecondFactor, new_second_factor, totp
from sfumato.store.database import reading
from sfumato.store.location import StoreLocation
from sfumato.store.queries import study_names
from sfumato.tables.errors import BadSetting, NotNow


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path)) as opened_site:
        yield opened_site


def add_second_factor(asked: AskedSite) -> tuple[SecondFactor, list[str]]:
    set_password(asked)
    factor, codes = new_second_factor()
    asked.site.writer.run(lambda running: researcher_actions.set_second_factor(running, factor, "test"))
    return factor, list(codes)


def code_now(asked: AskedSite, factor: SecondFactor) -> str:
    return totp(base64.b32decode(factor.secret), asked.site.clock.now() // 30_000)


@pytest.mark.usefixtures("cheap_hashes")
def test_with_a_second_factor_the_password_alone_opens_nothing(asked: AskedSite) -> None:
    factor, codes = add_second_factor(asked)
    asked.site.dashboard.attempts = LoginAttempts()
    assert 'id="code"' in asked.client.get("/studio").text
    wrong = [
        knock(asked, PASSWORD, address="192.0.2.2"),
        knock(asked, PASSWORD, code="000000x", address="192.0.2.3"),
        knock(asked, "wrong", code=code_now(asked, factor), address="192.0.2.4"),
        knock(asked, "wrong", code=codes[0], address="192.0.2.5"),
    ]
    # Nobody learns which of the two was wrong, and a code that came with a wrong password is not used up.
    assert {(reply.status, reply.body, reply.header("set-cookie")) for reply in wrong} == {(401, wrong[0].body, None)}
    code = code_now(asked, factor)
    assert knock(asked, PASSWORD, code=code).status == 200
    assert knock(asked, PASSWORD, code=code).status == 401
    assert [knock(asked, PASSWORD, code=codes[0], address="192.0.2.9").status for _ in range(2)] == [200, 401]
    # Codes are limited as passwords are.
    attempts = [knock(asked, PASSWORD, code="123", address="192.0.2.7").status for _ in range(6)]
    assert attempts == [401] * 5 + [429]
    # People who can make a link can also read the store.
    assert asked.client.send("POST", asked.site.dashboard.new_link()).status == 303
    everything = json.dumps(asked.rows()["happenings"], default=str)
    assert factor.secret not in everything


@pytest.mark.usefixtures("cheap_hashes")
def test_a_code_sent_eight_times_at_once_opens_one_session(asked: AskedSite) -> None:
    factor, _ = add_second_factor(asked)
    code = code_now(asked, factor)

    async def at_once() -> list[int]:
        send = [knocking(asked, PASSWORD, address=f"10.0.{i}.1", code=code) for i in range(8)]
        return [reply.status for reply in await asyncio.gather(*send)]

    assert sorted(asked.runner.run(at_once())) == [200] + [401] * 7


@pytest.mark.usefixtures("cheap_hashes")
def test_a_second_factor_ends_sessions_and_outlives_a_new_password(tmp_path: Path) -> None:
    folder = write_picture_study(tmp_path)
    with asked_site(folder) as asked:
        set_password(asked)
        session = all_cookies_of(knock(asked, PASSWORD))[0]
    with asked_site(folder) as asked:
        factor, codes = new_second_factor()
        asked.site.writer.run(lambda running: researcher_actions.set_second_factor(running, factor, "test"))
    with asked_site(folder) as asked:
        assert asked.client.get("/studio", {"cookie": session}).status == 401
        set_password(asked, "seven tin whistles in a drawer")
        assert knock(asked, "seven tin whistles in a drawer").status == 401
        assert knock(asked, "seven tin whistles in a drawer", code=codes[0]).status == 200


def run_command(folder: Path, *options: str, codes: Sequence[str] = ()) -> Result:
    return CliRunner().invoke(second_factor, [str(folder), *options], input="".join(f"{code}\n" for code in codes))


@pytest.mark.usefixtures("cheap_hashes")
def test_the_command_adds_and_removes_a_second_factor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_picture_study(tmp_path)
    factor, codes = new_second_factor()
    monkeypatch.setattr("sfumato.store.credentials.new_second_factor", lambda: (factor, codes))
    with asked_site(folder):
        pass
    with pytest.raises(NotNow, match="no password"):
        raise run_command(folder).exception or AssertionError
    with asked_site(folder) as asked:
        set_password(asked)
    with pytest.raises(BadSetting, match="3 codes that do not match"):
        raise run_command(folder, codes=["123", "124", "125"]).exception or AssertionError
    with asked_site(folder) as asked:
        assert asked.site.dashboard.credentials().second_factor is None
        code = code_now(asked, factor)
    # A mistyped code is asked for again, with the same key.
    done = run_command(folder, codes=["123", "124", code])
    assert done.exit_code == 0, done.output
    assert done.output.count("key for the app") == 1
    assert "(one more try)" in done.output
    assert all(text in done.output for text in (factor.secret, "otpauth://totp/", *codes))
    with asked_site(folder) as asked:
        # The code that was typed at the terminal is used up.
        assert knock(asked, PASSWORD, code=code).status == 401
        assert knock(asked, PASSWORD, code=codes[0]).status == 200
        assert asked.stored("happenings")[1]["what"] == "second factor set"
    assert run_command(folder, "--remove").exit_code == 0
    with asked_site(folder) as asked:
        assert knock(asked, PASSWORD).status == 200


def test_the_command_adds_no_study_to_a_store(tmp_path: Path) -> None:
    """By a mistake in --store the study was added to the store of another one, without answers."""
    folders = [write_picture_study(tmp_path / name, name=name) for name in ("pets", "birds")]
    store = tmp_path / "pets.sqlite"
    with asked_site(folders[0], store):
        pass
    for options in ((), ("--remove",)):
        done = run_command(folders[1], "--store", str(store), *options)
        assert getattr(done.exception, "code", None) == "no-study"
    with reading(StoreLocation.of(store)) as connection:
        assert study_names(connection) == ["pets"]
