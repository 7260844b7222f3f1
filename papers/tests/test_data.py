"""PublishedData: where the data is looked for, what is fetched, and what is said of it."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from data_server import DataServer
from made_up_sets import HOMES, made_up_sources, served

from sfumato.tables.errors import BadFile, NoReply, UnknownName
from sfumato_papers.dataset_source import digest_of
from sfumato_papers.published_data import PublishedData, cache_folder

COUNTS = "counts.npz"


@pytest.fixture
def server() -> Iterator[DataServer]:
    with DataServer(served()).open() as running:
        yield running


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No folder is named: a cache of this test's own."""
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sfumato" / "data"


def made_up(folder: Path, server: DataServer, said: list[str] | None = None) -> PublishedData:
    """Data of made-up sets that may be downloaded from `server`."""
    say = (said if said is not None else []).append
    return PublishedData(folder, True, say, dict.fromkeys(HOMES, server.address), made_up_sources())


# --- where ---


def test_a_named_folder_comes_first_then_the_environment_then_the_cache(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PublishedData.found().folder == nowhere
    (tmp_path / "env").mkdir()
    (tmp_path / "named").mkdir()
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "env"))
    assert PublishedData.found().folder == tmp_path / "env"
    assert PublishedData.found(tmp_path / "named").folder == tmp_path / "named"


def test_an_empty_or_relative_setting_is_as_none(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DATA", "")
    assert PublishedData.found().folder == nowhere
    monkeypatch.setenv("HOME", "/home/somebody")
    for relative in ("", "caches"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert cache_folder() == Path("/home/somebody/.cache/sfumato/data")


def test_only_the_cache_is_downloaded_into(nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PublishedData.found().downloads
    assert not PublishedData.found(download=False).downloads
    assert not PublishedData.found(tmp_path, download=True).downloads
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    assert not PublishedData.found(download=True).downloads


def test_a_named_folder_that_is_not_there_is_said(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadFile, match=r"found no folder '.*/away'.*check --data"):
        PublishedData.found(tmp_path / "away")
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "gone"))
    with pytest.raises(BadFile, match=r"found no folder '.*/gone'.*check SFUMATO_DATA"):
        PublishedData.found()


# --- what is needed ---


def test_missing_sets_that_may_not_be_fetched_say_what_they_are_and_what_to_put_where(tmp_path: Path) -> None:
    (tmp_path / "cifar10s").mkdir()
    with pytest.raises(BadFile) as caught:
        PublishedData(tmp_path).need(["cifar10s", "cifar10h", "hmix"])
    error = caught.value
    assert error.found == "found no cifar10h, hmix"
    assert error.where.file == str(tmp_path)
    for part in ("counts.npz", "non-commercial", "https://github.com/jcpeterson/cifar-10h", "a folder cifar10h"):
        assert part in error.expected
    assert "or leave out --data, SFUMATO_DATA and --no-download" in error.fix


def test_what_is_not_public_promises_no_download(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="not public") as caught:
        PublishedData(tmp_path).need(["soft-digits"])
    assert "downloaded" not in caught.value.fix


def test_a_set_nobody_knows_is_an_error_unless_it_is_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="found data set 'my-set'"):
        PublishedData(tmp_path).need(["my-set"])
    (tmp_path / "my-set").mkdir()
    PublishedData(tmp_path).need(["my-set"])


def test_missing_sets_are_downloaded_once_and_those_there_are_not(server: DataServer, tmp_path: Path) -> None:
    said: list[str] = []
    data = made_up(tmp_path / "data", server, said)
    data.need(["fashion-mnist-h"])
    assert data.fashion_mnist_h.probs.shape == (2, 10)
    assert "GPL-3.0" in "".join(said)
    server.asked.clear()
    said.clear()
    data.need(["fashion-mnist-h", "fashion-mnist"])
    assert (server.asked, said) == ([], [])


def test_without_a_network_the_error_is_ours(nowhere: Path) -> None:
    homes = dict.fromkeys(HOMES, "https://no-such-host.invalid")
    with pytest.raises(NoReply, match=r"hmix_infer_mixing_factor.csv, of which hmix is made"):
        PublishedData(nowhere, True, homes=homes).need(["hmix"])


def test_a_file_missing_from_a_folder_that_is_there_says_how_it_can_come(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"found no cifar10h/counts.npz.*--data, or let it be downloaded"):
        PublishedData(tmp_path).path("cifar10h", COUNTS)
    (tmp_path / "cifar10h").mkdir()
    with pytest.raises(BadFile, match=r"--data, or remove .*/cifar10h and let it be downloaded"):
        PublishedData(tmp_path).path("cifar10h", COUNTS)


# --- what is said of it ---


def test_the_state_of_a_set_follows_its_files(server: DataServer, tmp_path: Path) -> None:
    data = made_up(tmp_path, server)
    data.need(["fashion-mnist-h"])
    path = tmp_path / "fashion-mnist-h" / COUNTS
    sources = tuple(
        dataclasses.replace(each, files={COUNTS: digest_of(path)}) if each.name == "fashion-mnist-h" else each
        for each in made_up_sources()
    )
    data = PublishedData(tmp_path, sources=sources)

    def state() -> str:
        (row,) = data.described(["fashion-mnist-h"])
        return row.state

    assert state() == "as released"
    (row,) = data.described(["fashion-mnist-h"])
    assert (row.set, row.n_files) == ("fashion-mnist-h", 1)
    assert (row.licence, row.home) == (
        "GPL-3.0 for the repository, none stated for the data alone",
        "https://github.com/takashiishida/irreducible",
    )
    shutil.copyfile(tmp_path / "fashion-mnist" / "test.npz", path)
    assert state() == "differs: counts.npz"
    path.unlink()
    assert state() == "differs: counts.npz (missing)"
    shutil.rmtree(path.parent)
    assert state() == "not here"


def test_a_set_that_is_not_listed_is_unchecked(tmp_path: Path) -> None:
    (tmp_path / "my-set").mkdir()
    (tmp_path / "my-set" / "a.csv").write_text("x")
    (row,) = PublishedData(tmp_path).described(["my-set"])
    assert (row.state, row.n_files, row.licence) == ("unchecked", 1, "not known here")


def test_the_released_sets_are_described_as_released(published: Path) -> None:
    rows = PublishedData(published).described(["cifar10h", "hmix", "soft-digits"])
    assert [(row.set, row.state, row.n_files) for row in rows] == [
        ("cifar10h", "as released", 2),
        ("hmix", "as released", 5),
        ("soft-digits", "not here", 0),
    ]


def test_naming_the_data_loads_no_torch() -> None:
    code = "import sys, sfumato_papers.published_data; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
