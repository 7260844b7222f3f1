"""An answer is acknowledged only after a sync that started after the answer was read (checked with strace)."""

from __future__ import annotations

from pathlib import Path

import pytest
from crowd import write_crowd_study
from study_server import StudyServer
from sync_order_trial import evaluate_trace, skip_reason, sync_order_trial

BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))
REQUEST = '11 read(9<socket:[1]>, "POST /s/x/api/answers HTTP/1.1", 65536) = 30'
SYNCED = "12 fdatasync(7</a/answers.sqlite-wal>) = 0"
FAILED = "12 fdatasync(7</a/answers.sqlite-wal>) = -1 EIO (Input/output error)"
OTHER = "12 fdatasync(6</a/answers.sqlite>) = 0"
REPLY = '11 write(9<socket:[1]>, "HTTP/1.1 201 Created", 20) = 20'
BEGINS = "12 fdatasync(7</a/answers.sqlite-wal> <unfinished ...>"
ENDS = "12 <... fdatasync resumed>) = 0"
needs_strace = pytest.mark.skipif(skip_reason() is not None, reason=skip_reason() or "")


@pytest.mark.parametrize(
    ("lines", "unsynced"),
    [
        ((REQUEST, SYNCED, REPLY), 0),
        ((REQUEST, BEGINS, ENDS, REPLY), 0),
        ((SYNCED, REQUEST, REPLY), 1),
        ((BEGINS, REQUEST, ENDS, REPLY), 1),
        ((REQUEST, BEGINS, REPLY, ENDS), 1),
        ((REQUEST, FAILED, REPLY), 1),
        ((REQUEST, OTHER, REPLY), 1),
    ],
)
def test_traces_are_evaluated_correctly(lines: tuple[str, ...], unsynced: int) -> None:
    report = evaluate_trace(lines)
    assert (report.acknowledged, report.unsynced) == (1, unsynced)


@needs_strace
def test_a_sync_precedes_each_reply_201(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    with StudyServer(write_crowd_study(tmp_path / "study", 4_000), store=store) as server:
        report = sync_order_trial(server, 60, seed=1)
    print(report)
    assert report.clean, report


@pytest.mark.slow
@needs_strace
def test_control_synchronous_normal_is_detected(tmp_path: Path) -> None:
    study, store = write_crowd_study(tmp_path / "study", 4_000), str(tmp_path / "answers.sqlite")
    with StudyServer(study, store=store, program=(BROKEN_SERVER, "sync-normal")) as server:
        report = sync_order_trial(server, 60, seed=1)
    print(report)
    assert report.unsynced > 0
