"""S17, S18, S24, S30, S37: a study that others reach: by https or on purpose without, and with nothing fetched."""

from __future__ import annotations

import asyncio
import http.client
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner
from picture_study import write_picture_study
from researcher import Researcher
from site_client import AskedSite, SiteClient, asked_site
from study_server import StudyServer

from sfumato.cli.serve import check_https, command, host_names, listening_address
from sfumato.elicitation.items import read_items
from sfumato.server.app import application
from sfumato.server.server import open_site
from sfumato.study import read_study
from sfumato.study.study import ItemSource
from sfumato.tables.errors import BadSetting, SfumatoError

URLS = (
    "https://example.org/cat.png",
    "http://127.0.0.1/cat.png",
    "http://[::1]/cat.png",
    "http://[::ffff:127.0.0.1]/cat.png",
    "http://169.254.169.254/latest/meta-data",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://10.0.0.1/",
    "ftp://example.org/cat.png",
    "file:///etc/hostname",
    "gopher://example.org/",
    "data:image/png;base64,AAAA",
    "//example.org/cat.png",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_picture_study(tmp_path)


def test_a_public_study_needs_a_proxy_with_https_or_a_word_that_there_is_none(folder: Path) -> None:
    done = CliRunner().invoke(command, [str(folder), "--public", "--port", "0"])
    assert isinstance(done.exception, BadSetting)
    assert done.exception.code == "no-https"
    check_https(True, ("127.0.0.1",), False)
    check_https(True, (), True)
    check_https(False, (), False)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (
            ["--public", "--name", "a.example", "--proxy", "127.0.0.1", "--plain-http"],
            "--proxy together with --plain-http",
        ),
        (["--proxy", "127.0.0.1"], "--proxy without --public"),
        (["--plain-http"], "--plain-http without --public"),
    ],
)
def test_options_for_others_that_contradict_are_refused(folder: Path, options: list[str], found: str) -> None:
    done = CliRunner().invoke(command, [str(folder), *options, "--port", "0"])
    assert isinstance(done.exception, BadSetting)
    assert found in done.exception.found


@pytest.mark.parametrize("proxy", ["*", "proxy.example.org", "", "127.0.0.1:8000", "0.0.0.0/99"])
def test_a_proxy_is_an_address(folder: Path, proxy: str) -> None:
    done = CliRunner().invoke(command, [str(folder), "--public", "--proxy", proxy, "--port", "0"])
    assert isinstance(done.exception, BadSetting)
    assert done.exception.code == "bad-proxy"


def test_browsers_are_told_to_come_by_https_alone(folder: Path) -> None:
    study = read_study(folder)
    with asyncio.Runner() as runner:
        for public in (True, False):
            with open_site(study, public=public) as site:
                client = SiteClient(application(site), runner)
                for path in ("/", "/nothing", "/s/x", "/static/style.css"):
                    told = client.get(path).header("strict-transport-security")
                    assert told == ("max-age=31536000" if public else None)


NAME = ("--name", "study.example.org")


def test_a_public_study_has_a_name(folder: Path) -> None:
    for given in (["--public", "--proxy", "127.0.0.1"], ["--public", "--plain-http"], NAME):
        done = CliRunner().invoke(command, [str(folder), *given, "--port", "0"])
        assert isinstance(done.exception, BadSetting)
        assert done.exception.code == "no-name"
    assert host_names(True, ["Study.example.org", "192.0.2.7"]) == ("study.example.org", "192.0.2.7")
    assert host_names(False, []) == ()


@pytest.mark.parametrize(
    "name", ["", "*", "https://study.example.org", "study.example.org:8000", "a b", "study.example.org/x", "a..b", "-a"]
)
def test_a_name_is_a_host_name(name: str) -> None:
    with pytest.raises(BadSetting) as caught:
        host_names(True, [name])
    assert caught.value.code == "bad-name"


@pytest.mark.parametrize(
    ("public", "proxies", "address"),
    [
        (False, [], "127.0.0.1"),
        (True, ["127.0.0.1"], "127.0.0.1"),
        (True, ["127.0.0.0/8"], "127.0.0.1"),
        (True, ["::1"], "::1"),
        (True, ["10.0.0.1"], "0.0.0.0"),
        (True, ["127.0.0.1", "10.0.0.1"], "0.0.0.0"),
        (True, ["2001:db8::1"], "::"),
        (True, [], "0.0.0.0"),
    ],
)
def test_it_listens_where_its_proxy_is(public: bool, proxies: list[str], address: str) -> None:
    assert listening_address(public, proxies) == address


def test_a_public_study_is_served_by_its_name_and_to_its_proxy(folder: Path) -> None:
    server = StudyServer(folder, options=["--public", "--proxy", "127.0.0.1", *NAME])
    with server:
        printed = server.log.read_text()
        assert "open https://study.example.org (" in printed
        assert "https://study.example.org/studio/" in printed
        assert f"for another link: sfumato study login {folder} --address https://study.example.org\n" in printed

        def asked(host: str, **headers: str) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            connection.request("GET", "/", headers={"Host": host} | headers)
            status = connection.getresponse().status
            connection.close()
            return status

        assert asked("study.example.org") == asked("STUDY.example.org:443") == 200
        assert asked("study.example.org", **{"X-Forwarded-Proto": "https"}) == 200
        assert asked("study.example.org", **{"X-Forwarded-Proto": "http"}) == 400
        for other in ("evil.example", "localhost", "127.0.0.1", "study.example.org.evil.example", "xstudy.example.org"):
            assert asked(other) == 400
        # Who listens on all addresses listens on this one, too.
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", server.port), timeout=5)


@pytest.mark.parametrize("url", URLS)
def test_no_item_is_fetched_from_anywhere(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remote pictures do not exist: an address where a file belongs is a file that is not there."""

    def nowhere(*_: object, **__: object) -> None:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr("socket.create_connection", nowhere)
    monkeypatch.setattr("socket.getaddrinfo", nowhere)
    (tmp_path / "items.csv").write_text(f"item,image\na,{url}\n")
    with pytest.raises(SfumatoError):
        read_items(ItemSource(csv=tmp_path / "items.csv"), ["cat"])


def test_a_local_picture_is_taken(tmp_path: Path, folder: Path) -> None:
    """The control of the test before."""
    (folder / "items.csv").write_text("item,image\na,images/cat/hushed-1.png\n")
    assert len(read_items(ItemSource(csv=folder / "items.csv"), ["cat"])) == 1


def test_two_exports_a_minute(folder: Path) -> None:
    def asked_three_times(asked: AskedSite) -> list[int]:
        researcher = Researcher.by_link(asked)
        return [researcher.post("/studio/downloads", {"what": "annotations"}).status for _ in range(3)]

    with asked_site(folder) as asked:
        assert asked_three_times(asked) == [201, 201, 429]
