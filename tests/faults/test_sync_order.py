"""An answer is acknowledged only after a sync that began when it had been read, as strace sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from crowd import write_crowd_study
from study_server import StudyServer
from sync_order_trial import order_of, sync_order_trial, why_not

BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))
ASKED = '11 read(9<socket:[1]>, "POST /s/x/api/answers HTTP/1.1", 65536) = 30'
SYNCED = "12 fdatasync(7</a/answers.sqlite-wal>) = 0"
FAILED = "12 fdatasync(7</a/answers.sqlite-wal>) = -1 EIO (Input/output error)"
OTHER = "12 fdatasync(6</a/answers.sqlite>) = 0"
TOLD = '11 write(9<socket:[1]>, "HTTP/1.1 201 Created", 20) = 20'
BEGINS = "12 fdatasync(7</a/answers.sqlite-wal> <unfinished ...>"
ENDS = "12 <... fdatasync resumed>) = 0"
needs_strace = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


@pytest.mark.parametrize(
    ("lines", "unsynced"),
    [
        ((ASKED, SYNCED, TOLD), 0),
        ((ASKED, BEGINS, ENDS, TOLD), 0),
        ((SYNCED, ASKED, TOLD), 1),
        ((BEGINS, ASKED, ENDS, TOLD), 1),
        ((ASKED, BEGINS, TOLD, ENDS), 1),
        ((ASKED, FAILED, TOLD), 1),
        ((ASKED, OTHER, TOLD), 1),
    ],
)
def test_a_trace_is_read_right(lines: tuple[str, ...], unsynced: int) -> None:
    report = order_of(lines)
    assert (report.acknowledged, report.unsynced) == (1, unsynced)


@needs_strace
def test_a_sync_lies_between_each_answer_and_its_201(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(write_crowd_study(tmp_path / "study", 4_000), store=store) as server:
        report = sync_order_trial(server, 60, seed=1)
    print(report)
    assert report.clean, report


@pytest.mark.slow
@needs_strace
def test_a_store_that_syncs_seldom_is_found_out(tmp_path: Path) -> None:
    study, store = write_crowd_study(tmp_path / "study", 4_000), str(tmp_path / "answers.sqlite")
    with StudyServer(study, store=store, program=(BROKEN_SERVER, "sync-seldom")) as server:
        report = sync_order_trial(server, 60, seed=1)
    print(report)
    assert report.unsynced > 0
