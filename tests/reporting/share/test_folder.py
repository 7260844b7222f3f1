"""A folder is filled whole or not at all, and never over anybody else's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.tables.errors import CannotWrite
from sfumato.tables.files.atomic_write import MANIFEST, atomic_folder, check_vacant, sha256_of


def fill(folder: Path, text: str = "one") -> None:
    with atomic_folder(folder, "test") as part:
        (part / "below").mkdir()
        (part / "below" / "a.txt").write_text(text)


def seen(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_folder_appears_whole(tmp_path):
    with atomic_folder(tmp_path / "out", "test") as part:
        (part / "a.txt").write_text("half")
        assert not (tmp_path / "out").exists()
        assert part.parent == tmp_path
    assert seen(tmp_path) == ["out", "out/a.txt", f"out/{MANIFEST}"]
    assert sha256_of(tmp_path / "out" / "a.txt") in (tmp_path / "out" / MANIFEST).read_text()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_fault_leaves_nothing_half_written(tmp_path, error):
    def half(folder: Path) -> None:
        with atomic_folder(folder, "test") as part:
            (part / "a.txt").write_text("half")
            raise error

    with pytest.raises(CannotWrite if isinstance(error, OSError) else error):
        half(tmp_path / "new")
    assert seen(tmp_path) == []
    fill(tmp_path / "old", "first")
    with pytest.raises(CannotWrite if isinstance(error, OSError) else error):
        half(tmp_path / "old")
    assert (tmp_path / "old" / "below" / "a.txt").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_folder_of_ours_and_an_empty_one_are_replaced(tmp_path):
    (tmp_path / "empty").mkdir()
    fill(tmp_path / "empty")
    fill(tmp_path / "empty", "two")
    assert (tmp_path / "empty" / "below" / "a.txt").read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_other_files_are_refused(tmp_path):
    fill(tmp_path / "out")
    (tmp_path / "out" / "below" / "notes.txt").write_text("mine")
    with pytest.raises(CannotWrite, match=r"other files in it \(below/notes.txt\).*choose another place"):
        fill(tmp_path / "out", "two")
    assert (tmp_path / "out" / "below" / "a.txt").read_text() == "one"
    assert (tmp_path / "out" / "below" / "notes.txt").read_text() == "mine"


def test_a_foreign_list_of_files_protects_nothing(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    (tmp_path / "out" / MANIFEST).write_text("{not json")
    with pytest.raises(CannotWrite, match="other files in it"):
        fill(tmp_path / "out")


def test_changed_files_are_refused(tmp_path):
    fill(tmp_path / "out")
    (tmp_path / "out" / "below" / "a.txt").write_text("ONE")  # as long as before
    with pytest.raises(CannotWrite, match=r"changed since they were written \(below/a.txt\)"):
        fill(tmp_path / "out", "two")
    assert (tmp_path / "out" / "below" / "a.txt").read_text() == "ONE"


def test_a_file_and_a_missing_folder_are_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CannotWrite, match="found a file; expected a new folder"):
        check_vacant(tmp_path / "file")
    with pytest.raises(CannotWrite, match="there is no folder"):
        check_vacant(tmp_path / "none" / "out")
