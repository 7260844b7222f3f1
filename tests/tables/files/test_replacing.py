"""A file is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import CannotWrite
from sfumato.tables.files import read_rows, write_rows
from sfumato.tables.files.atomic_write import atomic_write

SCHEMA = pa.schema([("item", pa.string())])
SUFFIXES = (".parquet", ".csv", ".csv.gz")


def only_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Interrupted(Exception):
    """A fault that is none of ours."""


def write_half(path: Path, error: BaseException | type[BaseException]) -> None:
    """Begin to replace `path`, and fail."""
    with atomic_write(path) as part:
        part.write_text("half of the n")
        raise error


def test_the_new_file_takes_the_old_ones_place(written, tmp_path):
    path = written("a.txt", "old")
    with atomic_write(path) as part:
        part.write_text("new")
        assert path.read_text() == "old", "the old file stands until the new one is whole"
    assert path.read_text() == "new"
    assert only_files(tmp_path) == ["a.txt"]


def test_the_part_is_beside_the_file_and_hidden(tmp_path):
    """Only within one folder is a rename one step."""
    with atomic_write(tmp_path / "a.txt") as part:
        assert part.parent == tmp_path.resolve()
        assert part.name.startswith(".")
        assert part.name != "a.txt"
        part.write_text("new")


@pytest.mark.parametrize("error", [Interrupted, KeyboardInterrupt, SystemExit, ValueError])
def test_any_fault_leaves_the_old_file_and_no_part(written, tmp_path, error):
    path = written("a.txt", "old")
    with pytest.raises(error):
        write_half(path, error)
    assert path.read_text() == "old"
    assert only_files(tmp_path) == ["a.txt"]


def test_a_fault_before_anything_is_written(written, tmp_path):
    path = written("a.txt", "old")
    with pytest.raises(Interrupted), atomic_write(path):
        raise Interrupted
    assert (path.read_text(), only_files(tmp_path)) == ("old", ["a.txt"])


@pytest.mark.parametrize("there", [True, False], ids=["over a file", "new"])
def test_a_full_disk_is_named_and_the_old_file_stands(tmp_path, there):
    path = tmp_path / "a.txt"
    if there:
        path.write_text("old")
    with pytest.raises(CannotWrite) as caught:
        write_half(path, OSError(errno.ENOSPC, "No space left on device"))
    assert caught.value.code == "disk-full"
    assert caught.value.where.file == str(path)
    assert ("unchanged" in caught.value.found) is there
    assert only_files(tmp_path) == (["a.txt"] if there else [])
    assert not there or path.read_text() == "old"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(CannotWrite, match="there is no folder") as caught:
        write_rows(SCHEMA, iter(()), tmp_path / "nowhere" / "a.parquet")
    assert caught.value.code == "no-such-folder"
    assert only_files(tmp_path) == []


def test_a_folder_in_the_way_is_left_alone(tmp_path):
    folder = tmp_path / "a.csv"
    folder.mkdir()
    (folder / "inside.txt").write_text("kept")
    with pytest.raises(CannotWrite) as caught:
        write_rows(SCHEMA, iter(()), folder)
    assert caught.value.code == "cannot-write"
    assert (folder / "inside.txt").read_text() == "kept"
    assert only_files(tmp_path) == ["a.csv"]


def test_a_link_stays_a_link(written, tmp_path):
    target = written("target.txt", "old")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    with atomic_write(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_the_new_file_is_on_disk_before_the_old_one_goes(tmp_path, monkeypatch):
    steps = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(descriptor):
        steps.append("sync")
        real_sync(descriptor)

    def replace(source, target):
        steps.append("replace")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    with atomic_write(tmp_path / "a.txt") as part:
        part.write_text("new")
    assert steps == ["sync", "replace", "sync"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_writer_that_fails_half_way_leaves_the_old_table(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write_rows(SCHEMA, iter([pa.table({"item": ["old"]})]), path)
    before = path.read_bytes()

    def chunks():
        yield pa.table({"item": ["new"]})
        raise Interrupted

    with pytest.raises(Interrupted):
        write_rows(SCHEMA, chunks(), path)
    assert path.read_bytes() == before
    assert only_files(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_may_be_written_over_the_file_it_is_read_from(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write_rows(SCHEMA, iter([pa.table({"item": ["1", "2"]})]), path)
    rows = read_rows(path)
    write_rows(SCHEMA, rows.chunks, path)
    assert pa.concat_tables(read_rows(path).chunks).to_pylist() == [{"item": "1"}, {"item": "2"}]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_written_twice_is_the_second_one(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    for n_rows in (500, 2):
        items = [f"item {i}" for i in range(n_rows)]
        Beliefs.from_numpy(items, ["a"] * n_rows, [0] * n_rows, ("cat", "dog")).write(path)
    assert Beliefs.read(path).item.names.to_pylist() == ["item 0", "item 1"]
    assert only_files(tmp_path) == [path.name]
