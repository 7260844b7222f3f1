"""Downloading: sets whole or not at all, their terms first, two commands at once, one killed halfway."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import download_job
import pytest
from data_server import DataServer, Fault
from made_up_sets import HOMES, made_up_sources, served

from sfumato.importers import Cifar10HImporter, Cifar10SImporter, FashionMnistHImporter, HMixImporter
from sfumato.tables.errors import BadFile, CannotWrite, NoReply, UnknownName
from sfumato_papers.dataset_source import SOURCES
from sfumato_papers.download import Fetcher, download, in_order

ALL = [source.name for source in SOURCES if source.upstream]
ARCHIVE = "/~kriz/cifar-10-binary.tar.gz"
VOTES = next(path for path in served() if path.endswith("fmh_counts.csv"))
MIXED = "/cambridge-mlg/hill-mixup/5a022730a270b6785355f9e57b6d2620075bfbab/h_mix/hmix_infer_mixing_factor.csv"


@pytest.fixture
def server() -> Iterator[DataServer]:
    with DataServer(served()).open() as running:
        yield running


def fetched(server: DataServer, place: Path, *names: str) -> list[str]:
    """Download `names`; what was said."""
    said: list[str] = []
    fetcher = Fetcher(said.append, dict.fromkeys(HOMES, server.address), timeout_seconds=5)
    download(names, place, made_up_sources(), fetcher)
    return said


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"}


def test_all_sets_come_and_each_file_is_asked_for_once(server: DataServer, tmp_path: Path) -> None:
    fetched(server, tmp_path, *ALL)
    assert names_in(tmp_path) == set(ALL)
    # Three sets are made of one archive, and the two of clothes and digits here of the same pictures.
    asked = Counter(server.files[path] for path, _ in server.asked)
    assert asked == dict.fromkeys(served().values(), 1)
    for source in SOURCES:
        if source.upstream:
            assert names_in(tmp_path / source.name) == {*source.files, "PROVENANCE.md"}


def test_what_was_downloaded_can_be_imported(server: DataServer, tmp_path: Path) -> None:
    fetched(server, tmp_path, *ALL)
    assert Cifar10HImporter().read(tmp_path / "cifar10h").table.labels().probs.tolist()[1][:3] == [0, 0.4, 0.6]
    assert len(Cifar10SImporter(as_released=True).read(tmp_path / "cifar10s").table) == 3
    assert len(FashionMnistHImporter().read(tmp_path / "fashion-mnist-h").table) == 2
    assert len(HMixImporter().read(tmp_path / "hmix").table) == 2


def test_the_terms_are_said_before_anything_is_asked_for(server: DataServer, tmp_path: Path) -> None:
    events: list[str] = []

    def say(line: str) -> None:
        events.append(line if not server.asked else f"later: {line}")

    fetcher = Fetcher(say, dict.fromkeys(HOMES, server.address))
    download(["cifar10h"], tmp_path, made_up_sources(), fetcher)
    # CIFAR-10 comes along, for the classes of the pictures.
    assert [event.partition(":")[0] for event in events[:2]] == ["cifar10-test", "cifar10h"]
    assert "CC BY-NC-SA 4.0 (non-commercial, share alike)" in events[1]
    assert "https://github.com/jcpeterson/cifar-10h" in events[1]
    assert "Peterson" in events[1]


def test_the_terms_stand_beside_the_data(server: DataServer, tmp_path: Path) -> None:
    fetched(server, tmp_path, "cifar10h")
    text = (tmp_path / "cifar10h" / "PROVENANCE.md").read_text()
    assert "- License: CC BY-NC-SA 4.0 (non-commercial, share alike)" in text
    assert "https://raw.githubusercontent.com/jcpeterson/cifar-10h/48da312" in text


def test_what_is_there_is_left_alone(server: DataServer, tmp_path: Path) -> None:
    (tmp_path / "hmix").mkdir()
    (tmp_path / "hmix" / "mine.txt").write_text("kept")
    assert fetched(server, tmp_path, "hmix") == []
    assert server.asked == []
    assert names_in(tmp_path / "hmix") == {"mine.txt"}


def test_a_failure_leaves_no_set_and_the_next_call_asks_only_for_the_rest(server: DataServer, tmp_path: Path) -> None:
    last = [path for path in served() if "hill-mixup" in path][-1]
    server.faults[last] = Fault(status=503)
    with pytest.raises(
        NoReply, match=r"hmix .*home: https://github.com/cambridge-mlg/hill-mixup; license: none stated"
    ):
        fetched(server, tmp_path, "hmix")
    assert names_in(tmp_path) == {"downloads"}
    server.faults.clear()
    server.asked.clear()
    fetched(server, tmp_path, "hmix")
    assert server.asked == [(last, "")]
    assert names_in(tmp_path) == {"hmix"}


def test_sets_that_were_made_stay_when_a_later_one_fails(server: DataServer, tmp_path: Path) -> None:
    server.files[VOTES] += b"1"
    with pytest.raises(BadFile, match="nothing of it was kept"):
        fetched(server, tmp_path, "fashion-mnist-h")
    assert "fashion-mnist" in names_in(tmp_path)
    assert "fashion-mnist-h" not in names_in(tmp_path)
    assert not [path for path in (tmp_path / "downloads").iterdir() if "fmh" in path.name]


def test_a_file_saved_by_hand_where_the_error_says_is_used(server: DataServer, tmp_path: Path) -> None:
    data = server.files.pop(VOTES)
    with pytest.raises(Exception, match="save it as") as caught:
        fetched(server, tmp_path, "fashion-mnist-h")
    named = str(caught.value).partition("save it as ")[2].partition(";")[0]
    Path(named).write_bytes(data)
    fetched(server, tmp_path, "fashion-mnist-h")
    assert {"fashion-mnist", "fashion-mnist-h"} == names_in(tmp_path)


def test_leftovers_of_a_killed_command_do_no_harm(server: DataServer, tmp_path: Path) -> None:
    (tmp_path / ".hmix.part").mkdir()
    (tmp_path / ".hmix.part" / "half.csv").write_text("half")
    fetched(server, tmp_path, "hmix")
    assert names_in(tmp_path) == {"hmix"}
    assert "half.csv" not in names_in(tmp_path / "hmix")


def job(server: DataServer, place: Path, *names: str) -> subprocess.Popen[str]:
    support = Path(download_job.__file__)
    return subprocess.Popen(
        [sys.executable, str(support), str(place), server.address, *names],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(support.parent)},
    )


def test_a_command_killed_halfway_is_taken_up_by_the_next(server: DataServer, tmp_path: Path) -> None:
    go_on = threading.Event()
    server.faults[ARCHIVE] = Fault(waits_for=go_on)
    with job(server, tmp_path, "cifar10-test") as first:
        assert server.halfway.wait(30)
        part = tmp_path / "downloads"
        while not (part.is_dir() and any(path.stat().st_size for path in part.glob("*.part"))):
            assert first.poll() is None
        first.kill()
    go_on.set()
    server.faults.clear()
    assert not (tmp_path / "cifar10-test").exists()
    fetched(server, tmp_path, "cifar10-test")
    assert server.asked[0] == (ARCHIVE, "")
    assert server.asked[1][1].startswith("bytes=")
    assert names_in(tmp_path) == {"cifar10-test"}


def test_of_two_commands_at_once_the_second_waits_and_finds_it_done(server: DataServer, tmp_path: Path) -> None:
    go_on = threading.Event()
    server.faults[MIXED] = Fault(waits_for=go_on)
    with job(server, tmp_path, "hmix") as first:
        assert server.halfway.wait(30)
        with job(server, tmp_path, "hmix") as second:
            assert second.stdout is not None
            assert "another command downloads into" in second.stdout.readline()
            go_on.set()
            assert second.wait(30) == 0
        assert first.wait(30) == 0
    assert Counter(path for path, _ in server.asked)[MIXED] == 1
    assert names_in(tmp_path) == {"hmix"}


def test_a_place_that_cannot_be_written_is_said(server: DataServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(CannotWrite, match=r"writing failed \(Not a directory\).*--data"):
        fetched(server, tmp_path / "file" / "data", "hmix")


def test_what_is_not_public_is_asked_of_nobody(server: DataServer, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"found no soft-digits, which is not public.*ask the authors of"):
        fetched(server, tmp_path, "hmix", "soft-digits")
    assert server.asked == []


def test_an_unknown_set_is_named(server: DataServer, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"found data set 'hmxi'.*did you mean 'hmix'"):
        fetched(server, tmp_path, "hmxi")


def test_sets_come_after_those_they_take_something_from() -> None:
    order = [source.name for source in in_order(["fashion-mnist-h", "cifar10h", "fashion-mnist"], SOURCES)]
    assert order == ["fashion-mnist", "fashion-mnist-h", "cifar10-test", "cifar10h"]
