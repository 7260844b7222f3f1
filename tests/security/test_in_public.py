"""S17, S18, S24, S30, S37: a study that others reach: by https or on purpose without, and with nothing fetched."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner
from picture_study import write_picture_study
from researcher import Researcher
from site_client import AskedSite, SiteClient, asked_site

from sfumato.cli.serve import check_https, command
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
