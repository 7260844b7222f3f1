"""Fetching: a file comes whole and checked, or not at all, whatever the connection does."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from data_server import DataServer, Fault

from sfumato.tables.errors import BadFile, NoReply, Refused
from sfumato_papers.dataset_source import Source, Upstream
from sfumato_papers.download import Fetcher

DATA = np.random.default_rng(1).bytes(3_000_000)
AT = "/sets/digits.bin"
FILE = Upstream(f"https://home.example{AT}", len(DATA), hashlib.sha256(DATA).hexdigest())
SOURCE = Source(
    "digits", "Digits", "CC BY-NC 4.0 (non-commercial)", "A (2020)", "https://home.example/page", {}, (FILE,)
)


@pytest.fixture
def server() -> Iterator[DataServer]:
    with DataServer({AT: DATA}).open() as running:
        yield running


class Case:
    """A fetch into a folder, and what was said."""

    def __init__(self, server: DataServer, folder: Path) -> None:
        self.said: list[str] = []
        self.path = folder / "digits.bin"
        self.part = folder / "digits.bin.part"
        self.fetcher = Fetcher(self.said.append, {"https://home.example": server.address}, timeout_seconds=5)

    def fetch(self, file: Upstream = FILE) -> None:
        self.fetcher.fetch(file, SOURCE, self.path)


@pytest.fixture
def case(server: DataServer, tmp_path: Path) -> Case:
    return Case(server, tmp_path)


def test_a_file_comes_whole(server: DataServer, case: Case) -> None:
    case.fetch()
    assert case.path.read_bytes() == DATA
    assert not case.part.exists()
    assert server.asked == [(AT, "")]


def test_what_is_there_already_is_not_asked_for(server: DataServer, case: Case) -> None:
    case.path.write_bytes(DATA)
    case.fetch()
    assert server.asked == []


def test_a_wrong_file_put_there_by_hand_is_told_of_and_fetched_anew(server: DataServer, case: Case) -> None:
    case.path.write_bytes(b"another")
    case.fetch()
    assert case.path.read_bytes() == DATA
    assert hashlib.sha256(b"another").hexdigest() in case.said[0]
    assert FILE.sha256 in case.said[0]


def test_a_broken_connection_is_taken_up_where_it_broke(server: DataServer, case: Case) -> None:
    server.faults[AT] = Fault(cut_at=[1_000_000, 2_500_000])
    case.fetch()
    assert case.path.read_bytes() == DATA
    assert server.asked == [(AT, ""), (AT, "bytes=1000000-"), (AT, "bytes=2500000-")]


def test_a_server_that_knows_no_ranges_sends_it_from_the_beginning(server: DataServer, case: Case) -> None:
    server.faults[AT] = Fault(cut_at=[1_000_000], ignores_ranges=True)
    case.fetch()
    assert case.path.read_bytes() == DATA


def test_a_connection_that_brings_nothing_more_is_given_up_and_what_came_is_kept(
    server: DataServer, case: Case
) -> None:
    server.faults[AT] = Fault(cut_at=[1_000_000] * 9)
    with pytest.raises(NoReply, match=r"found only 1,000,000 of 3,000,000 bytes"):
        case.fetch()
    assert len(server.asked) == 2
    assert case.part.read_bytes() == DATA[:1_000_000]
    assert not case.path.exists()
    server.faults.clear()
    case.fetch()
    assert server.asked[-1] == (AT, "bytes=1000000-")
    assert case.path.read_bytes() == DATA


def test_a_connection_that_always_breaks_ends_after_some_tries(server: DataServer, case: Case) -> None:
    server.faults[AT] = Fault(cut_at=[100_000 * n for n in range(1, 20)])
    with pytest.raises(NoReply, match="found only 500,000 of 3,000,000 bytes"):
        case.fetch()
    assert len(server.asked) == 5


def test_a_kept_part_that_does_not_fit_is_dropped_and_all_fetched_anew(server: DataServer, case: Case) -> None:
    case.part.write_bytes(bytes(1_000_000))
    case.fetch()
    assert case.path.read_bytes() == DATA
    assert [ask for _, ask in server.asked] == ["bytes=1000000-", ""]


@pytest.mark.parametrize("kept", [b"", DATA, DATA + b"more"], ids=["empty", "whole", "too long"])
def test_any_part_left_behind_ends_well(case: Case, kept: bytes) -> None:
    case.part.write_bytes(kept)
    case.fetch()
    assert case.path.read_bytes() == DATA


def test_a_wrong_checksum_says_found_and_expected_and_keeps_nothing(
    server: DataServer, case: Case, tmp_path: Path
) -> None:
    wrong = DATA[:-1] + bytes([DATA[-1] ^ 1])
    server.files[AT] = wrong
    with pytest.raises(BadFile) as caught:
        case.fetch()
    error = caught.value
    assert error.code == "wrong-checksum"
    assert hashlib.sha256(wrong).hexdigest() in error.found
    assert FILE.sha256 in error.expected
    assert SOURCE.home in error.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [DATA[:-1], DATA + b"x", b""], ids=["shorter", "longer", "empty"])
def test_another_size_is_refused_before_anything_is_taken(
    server: DataServer, case: Case, data: bytes, tmp_path: Path
) -> None:
    server.files[AT] = data
    with pytest.raises((BadFile, NoReply)) as caught:
        case.fetch()
    assert f"{len(data):,} bytes" in caught.value.found or not data
    assert list(tmp_path.iterdir()) == []


def test_a_part_longer_than_the_file_at_its_home_is_not_kept(server: DataServer, case: Case, tmp_path: Path) -> None:
    server.files[AT] = DATA[:500_000]
    case.part.write_bytes(DATA[:1_000_000])
    with pytest.raises(BadFile, match="a file of no more than 1,000,000 bytes"):
        case.fetch()
    assert list(tmp_path.iterdir()) == []


def test_an_endless_file_stops_at_its_known_size(server: DataServer, case: Case, tmp_path: Path) -> None:
    server.faults[AT] = Fault(endless=True)
    with pytest.raises(BadFile, match="a file of more than 3,000,000 bytes"):
        case.fetch()
    assert list(tmp_path.iterdir()) == []


def test_no_network_names_the_home_the_licence_the_file_and_where_to_put_it(case: Case, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    case.fetcher = Fetcher(case.said.append, {"https://home.example": address})
    with pytest.raises(NoReply) as caught:
        case.fetch()
    text = str(caught.value)
    for part in (FILE.url, "Connection refused", SOURCE.home, "non-commercial", "digits.bin", str(case.path), "--data"):
        assert part in text
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_does_not_resolve_is_no_answer(case: Case) -> None:
    case.fetcher = Fetcher(case.said.append, {"https://home.example": "https://no-such-host.invalid"})
    with pytest.raises(NoReply, match=r"found no answer \(.+\)"):
        case.fetch()


def test_a_server_that_falls_silent_is_not_waited_for(server: DataServer, case: Case) -> None:
    go_on = threading.Event()
    server.faults[AT] = Fault(waits_for=go_on)
    case.fetcher = Fetcher(case.said.append, case.fetcher.homes, timeout_seconds=0.2)
    try:
        with pytest.raises(NoReply, match="timed out"):
            case.fetch()
    finally:
        go_on.set()


@pytest.mark.parametrize(("status", "kind"), [(404, Refused), (403, Refused), (503, NoReply), (429, NoReply)])
def test_what_the_server_answers_is_said(server: DataServer, case: Case, status: int, kind: type[Exception]) -> None:
    server.faults[AT] = Fault(status=status)
    with pytest.raises(kind, match=f"found the answer {status}"):
        case.fetch()


@pytest.mark.parametrize("address", ["http://home.example", "ftp://127.0.0.1", "file:///etc"])
def test_only_safe_addresses_are_asked(case: Case, address: str) -> None:
    case.fetcher = Fetcher(case.said.append, {"https://home.example": address})
    with pytest.raises(Refused, match="which is not https"):
        case.fetch()


def test_no_redirect_leads_to_an_open_connection(server: DataServer, case: Case) -> None:
    server.faults[AT] = Fault(points_to="http://home.example/elsewhere")
    with pytest.raises(NoReply, match=r"points to http://home.example/elsewhere, which is not https"):
        case.fetch()


def test_a_redirect_to_a_safe_address_is_followed(server: DataServer, case: Case) -> None:
    server.files["/moved"] = DATA
    server.faults[AT] = Fault(points_to=f"{server.address}/moved")
    case.fetch()
    assert case.path.read_bytes() == DATA


def test_a_large_file_tells_how_far_it_is(server: DataServer, case: Case) -> None:
    large = bytes(24_000_000)
    server.files[AT] = large
    case.fetch(Upstream(FILE.url, len(large), hashlib.sha256(large).hexdigest()))
    assert len(case.said) == 4
    assert case.said[-1] == "digits.bin: 24 of 24 MB"
