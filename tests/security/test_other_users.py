"""What another user of the same machine can read, and what a killed server leaves behind, with real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from study_server import StudyServer, write_texts_study

NOBODY = 65534
READABLE = ["find", ".", "-readable", "-type", "f"]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StudyServer]:
    """A server with the usual umask, and a temporary folder that everybody can use."""
    before = os.umask(0o022)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)
    monkeypatch.setenv("TMPDIR", str(temporary))
    tmp_path.chmod(0o755)
    with StudyServer(write_texts_study(tmp_path / "study", 2)) as server:
        yield server
    os.umask(before)


def make_export(server: StudyServer) -> None:
    """Log in by the printed link, and make a file that nobody fetches."""
    while not (found := re.search(r"works once: (\S+)", server.log.read_text())):
        time.sleep(0.01)
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    opener.open(found[1], b"").close()
    body = json.dumps({"what": "records", "format": "csv"}).encode()
    request = urllib.request.Request(f"{server.url}/studio/downloads", body, {"Content-Type": "application/json"})
    with opener.open(request) as reply:
        assert reply.status == 201


def exports(folder: Path) -> list[Path]:
    return list((folder / "tmp").rglob("*.csv"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_reads_nothing_of_a_study_but_what_the_researcher_wrote(
    served: StudyServer, tmp_path: Path
) -> None:
    make_export(served)
    assert exports(tmp_path)
    assert list(served.study.glob("store/*.sessions"))
    for folder in (tmp_path / "study" / "store", *(tmp_path / "tmp").iterdir()):
        assert folder.stat().st_mode & 0o777 == 0o700, folder
    for file in (tmp_path / "study" / "store").iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file
    # From inside of the folder: those above it belong to the test.
    found = subprocess.run(
        READABLE, cwd=tmp_path, capture_output=True, text=True, user=NOBODY, group=NOBODY, extra_groups=[]
    )
    assert set(found.stdout.split()) == {"./study/study.toml", "./study/texts.csv", "./study/server.log"}


def test_a_stopped_server_leaves_no_export(served: StudyServer, tmp_path: Path) -> None:
    make_export(served)
    assert exports(tmp_path)
    served.kill(signal.SIGTERM)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert "stopped; every acknowledged answer is stored" in served.log.read_text()


def test_the_next_server_removes_the_export_of_a_killed_one(served: StudyServer, tmp_path: Path) -> None:
    make_export(served)
    served.kill(signal.SIGKILL)
    assert exports(tmp_path)
    with StudyServer(write_texts_study(tmp_path / "another", 2)) as other:
        assert exports(tmp_path) == []
        make_export(other)
        with StudyServer(write_texts_study(tmp_path / "third", 2)):
            # That of a server that runs stays.
            assert len(exports(tmp_path)) == 2
