"""A disk that is full: the error says so, and the file that stood there before is as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from badinput_cases.building import crowd
from badinput_cases.running import ERROR_FORM, PROGRAM

OLD = b"the file that stood here before\n" * 100
ROOM = 64 * 2**10
"""What is left on the disk, in bytes; the new file needs more in every format."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte of its own; skips where mounting is not allowed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not sys.platform.startswith("linux"):
        pytest.skip("mounting a small disk needs Linux")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting a small disk is not allowed here: {mounted.stderr.strip()}")
    try:
        yield disk
    finally:
        if subprocess.run(["umount", str(disk)], check=False).returncode:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Answers about items with random names, which no compression makes small."""
    rng = np.random.default_rng(0)
    path = tmp_path / "answers.csv"
    path.write_bytes(crowd(*(f"{rng.bytes(32).hex()},x,{'cat' if i % 2 else 'dog'}" for i in range(5000))))
    return path


def _fill(disk: Path) -> Path:
    """Fill `disk` up to the last `ROOM` bytes."""
    filler = disk / "filler"
    room = os.statvfs(disk)
    filler.write_bytes(bytes(room.f_bavail * room.f_frsize - ROOM))
    return filler


def _import(answers: Path, output: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "import", "crowd", answers, "-o", output], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.csv.gz"])
def test_a_full_disk_leaves_the_old_file(name: str, small_disk: Path, answers: Path) -> None:
    output = small_disk / name
    output.write_bytes(OLD)
    filler = _fill(small_disk)
    outcome = _import(answers, output)
    form = ERROR_FORM.fullmatch(outcome.stderr.removesuffix("\n"))
    assert form, outcome.stderr
    assert form["code"] == "disk-full"
    assert str(output) in outcome.stderr
    assert "unchanged" in outcome.stderr
    assert outcome.returncode == 2
    assert output.read_bytes() == OLD
    assert sorted(path.name for path in small_disk.iterdir()) == sorted([name, filler.name])
    filler.unlink()
    assert _import(answers, output).returncode == 0
    assert output.read_bytes() != OLD
    assert [path.name for path in small_disk.iterdir()] == [name]


def test_a_full_disk_without_an_old_file_is_left_as_it_was(small_disk: Path, answers: Path) -> None:
    filler = _fill(small_disk)
    outcome = _import(answers, small_disk / "out.parquet")
    assert "error[disk-full]" in outcome.stderr
    assert "unchanged" not in outcome.stderr
    assert outcome.returncode == 2
    assert list(small_disk.iterdir()) == [filler]


def test_writing_in_place_would_lose_the_old_file(small_disk: Path) -> None:
    output = small_disk / "out.csv"
    output.write_bytes(OLD)
    _fill(small_disk)
    with pytest.raises(OSError, match="No space left"):
        output.write_bytes(bytes(10 * ROOM))
    assert output.read_bytes() != OLD


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_sent_to_a_full_disk_ends_without_a_traceback(tmp_path: Path) -> None:
    beliefs = tmp_path / "beliefs.csv"
    beliefs.write_bytes(b"item,annotator,p:cat,p:dog\na,x,1,0\n")
    with open("/dev/full", "w") as full:
        outcome = subprocess.run(
            [PROGRAM, "doubt", beliefs], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    assert "Traceback" not in outcome.stderr
    assert ERROR_FORM.fullmatch(outcome.stderr.removesuffix("\n")), outcome.stderr
    assert "error[disk-full]" in outcome.stderr
    assert outcome.returncode == 2
