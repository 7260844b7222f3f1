"""Checkpoints come back as they were saved, and one that is damaged is never taken for whole."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from resume_job import fingerprint, outcome_of, small_group

from sfumato.tables.errors import BadFile, BadSetting, CannotWrite, SfumatoWarning
from sfumato.training import checkpoint as module
from sfumato.training.checkpoint import Checkpoint, Checkpoints, delete_checkpoints
from sfumato.training.fingerprint import Fingerprint, hash_of
from sfumato.training.training_loop import TrainingLoop


def saved_after(n_epochs: int, job: str = "conv") -> Checkpoint:
    training = TrainingLoop(small_group(job))
    for _ in range(n_epochs):
        training.advance()
    return Checkpoint.of(training)


@pytest.fixture
def saves() -> list[Checkpoint]:
    """One training after 1, 2 and 3 epochs."""
    return list(three_saves())


@functools.cache
def three_saves() -> tuple[Checkpoint, ...]:
    training, found = TrainingLoop(small_group()), []
    for _ in range(3):
        training.advance()
        found.append(Checkpoint.of(training))
    return tuple(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints" / "of-one"


def kept_in(folder: Path) -> Checkpoints:
    made = Checkpoints(folder, fingerprint())
    made.prepare()
    return made


def assert_same(found: Checkpoint | None, expected: Checkpoint) -> None:
    assert found is not None
    assert found.epoch == expected.epoch
    assert found.state.keys() == expected.state.keys()
    for name, tensor in expected.state.items():
        assert found.state[name].dtype == tensor.dtype
        assert torch.equal(found.state[name], tensor), name
    assert outcome_of(found.runs) == outcome_of(expected.runs)


# --- as it was saved ---


def test_what_is_loaded_is_what_was_saved(folder: Path, saves: list[Checkpoint]) -> None:
    kept_in(folder).save(saves[2])
    assert_same(kept_in(folder).load(), saves[2])


@pytest.mark.parametrize("n_epochs", [0, 1])
def test_a_training_that_has_hardly_begun(folder: Path, n_epochs: int) -> None:
    saved = saved_after(n_epochs, "ffn")
    kept_in(folder).save(saved)
    assert_same(kept_in(folder).load(), saved)


def test_a_member_that_diverged_has_no_weights(folder: Path, saves: list[Checkpoint]) -> None:
    saved = saved_after(1)
    saved.runs[1].ended, saved.runs[1].best = "diverged", None
    kept_in(folder).save(saved)
    found = kept_in(folder).load()
    assert found is not None
    assert [(run.ended, run.best is None) for run in found.runs] == [
        ("", False), ("diverged", True), ("", False)
    ]  # fmt: skip


def test_a_copy_does_not_grow_with_the_training() -> None:
    training = TrainingLoop(small_group())
    training.advance()
    saved = Checkpoint.of(training)
    before = outcome_of(saved.runs), {name: tensor.clone() for name, tensor in saved.state.items()}
    training.advance()
    assert outcome_of(saved.runs) == before[0]
    assert all(torch.equal(saved.state[name], tensor) for name, tensor in before[1].items())


def test_nothing_saved_is_nothing_loaded(folder: Path) -> None:
    assert kept_in(folder).load() is None


def test_the_newest_and_the_one_before_are_kept(folder: Path, saves: list[Checkpoint]) -> None:
    kept = kept_in(folder)
    for saved in saves:
        kept.save(saved)
    assert sorted(path.name for path in folder.iterdir()) == [
        "checkpoint-00000002.safetensors",
        "checkpoint-00000003.safetensors",
    ]


def test_what_a_killed_process_left_is_taken_away(folder: Path, saves: list[Checkpoint]) -> None:
    kept_in(folder).save(saves[0])
    (folder / ".checkpoint-00000002.safetensors.123.part").write_bytes(b"half")
    assert_same(kept_in(folder).load(), saves[0])
    assert [path.name for path in folder.iterdir()] == ["checkpoint-00000001.safetensors"]


def test_to_forget_leaves_what_is_not_ours(folder: Path, saves: list[Checkpoint]) -> None:
    kept_in(folder).save(saves[0])
    (folder / "notes.txt").write_text("mine")
    delete_checkpoints(folder)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    delete_checkpoints(folder)
    assert not folder.exists()
    delete_checkpoints(folder)


# --- damage ---


def newest(folder: Path) -> Path:
    return max(folder.glob("*.safetensors"))


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_by_one(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_a_weight(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1000] ^= 1
    path.write_bytes(content)


def other_file(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04" + bytes(1000))


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = (cut_short, cut_by_one, empty, flip_a_weight, other_file, folder_instead)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_newest_falls_back_to_the_one_before(folder: Path, saves: list[Checkpoint], damage) -> None:
    kept = kept_in(folder)
    kept.save(saves[0])
    kept.save(saves[1])
    damage(newest(folder))
    again = kept_in(folder)
    with pytest.warns(SfumatoWarning, match=r"checkpoint-00000002.safetensors \(.*\) damaged .* from epoch 1"):
        found = again.load()
    assert_same(found, saves[0])
    # The next save clears the damaged one away: what is left are two whole ones.
    if damage is not folder_instead:
        again.save(saves[2])
        assert [path.name[-13:-12] for path in sorted(folder.iterdir())] == ["1", "3"]
        cut_short(newest(folder))
        with pytest.warns(SfumatoWarning, match="damaged"):
            assert_same(kept_in(folder).load(), saves[0])


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_both_damaged_is_an_error_that_says_what_to_do(folder: Path, saves: list[Checkpoint], damage) -> None:
    kept = kept_in(folder)
    kept.save(saves[0])
    kept.save(saves[1])
    for path in folder.iterdir():
        damage(path)
    with pytest.raises(BadFile, match=r"every checkpoint damaged: .*2.safetensors .*1.safetensors .* start again"):
        kept_in(folder).load()


def test_no_flipped_bit_goes_unnoticed(folder: Path, saves: list[Checkpoint]) -> None:
    kept_in(folder).save(saves[0])
    path = newest(folder)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    rng = np.random.default_rng(0)
    places = np.concatenate([np.arange(8), rng.integers(8, header, 250), rng.integers(header, len(whole), 50)])
    for place in places:
        content = bytearray(whole)
        content[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        with contextlib.suppress(BadFile):
            # Only where the format itself does not care may it pass: white space that fills the header up.
            assert_same(kept_in(folder).load(), saves[0])
            assert whole[place : place + 1] == b" ", place
    path.write_bytes(whole)
    assert_same(kept_in(folder).load(), saves[0])


def test_nothing_is_unpickled(folder: Path) -> None:
    kept_in(folder)
    torch.save({"weights": torch.zeros(3)}, folder / "checkpoint-00000001.safetensors")
    with pytest.raises(BadFile, match="damaged"):
        kept_in(folder).load()


# --- drift ---


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"threads": 64}, "threads was 1 and is 64"),
        ({"data": "f" * 64}, "data was '000"),
        ({"settings": "a"}, "settings was "),
        ({"torch_version": "1.0"}, r"torch version was '2.* and is '1.0'"),
        ({"sfumato_version": "9"}, "sfumato version was "),
        ({"device": "cuda T4"}, "device was 'cpu .* and is 'cuda T4'"),
        ({"precision": "bfloat16"}, "precision was 'float32' and is 'bfloat16'"),
    ],
)
def test_drift_is_refused_unless_allowed(folder: Path, saves: list[Checkpoint], changed, said: str) -> None:
    kept_in(folder).save(saves[0])
    with pytest.raises(BadSetting, match=said) as caught:
        Checkpoints(folder, fingerprint(**changed)).load()
    assert caught.value.code == "drift"
    with pytest.warns(SfumatoWarning, match=said):
        assert_same(Checkpoints(folder, fingerprint(**changed), allow_drift=True).load(), saves[0])


def test_a_fingerprint_is_that_of_this_process() -> None:
    now = Fingerprint.now(settings={"b": 1, "a": 2}, data="d", device=torch.device("cpu"))
    assert now.threads == 1
    assert now.torch_version == torch.__version__
    assert now.settings == hash_of({"a": 2, "b": 1}) != hash_of({"a": 2, "b": 2})
    assert now.differences(asdict(now)) == []
    assert now.differences({}) != []


# --- no place to write ---


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """An ext4 disk of 24 MB; skips where mounting is not allowed."""
    if not sys.platform.startswith("linux") or os.geteuid():
        pytest.skip("mounting a small disk needs Linux and root")
    disk, image = tmp_path / "disk", tmp_path / "disk.img"
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(24 * 2**20)
    for command in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(disk)]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            pytest.skip(str(error))
        if done.returncode:
            pytest.skip(f"mounting a small disk is not allowed here: {done.stderr.strip()}")
    try:
        yield disk
    finally:
        if subprocess.run(["umount", str(disk)], check=False).returncode:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path, room: int) -> Path:
    """Fill `disk` up to the last `room` bytes."""
    filler = disk / "filler"
    with filler.open("wb") as file:
        with contextlib.suppress(OSError):
            while file.write(bytes(2**16)):
                file.flush()
        file.truncate(max(0, file.tell() - room))
    return filler


def test_on_a_full_disk_the_old_checkpoint_stays(small_disk: Path, saves: list[Checkpoint]) -> None:
    folder = small_disk / "of-one"
    kept = kept_in(folder)
    kept.save(saves[0])
    filler = fill(small_disk, newest(folder).stat().st_size // 2)
    with pytest.raises(CannotWrite, match="disk is full") as caught:
        kept.save(saves[1])
    assert caught.value.code == "disk-full"
    assert [path.name for path in folder.iterdir()] == ["checkpoint-00000001.safetensors"]
    assert_same(kept_in(folder).load(), saves[0])
    filler.unlink()
    kept.save(saves[1])
    assert_same(kept_in(folder).load(), saves[1])


def test_writing_in_place_would_lose_it(
    small_disk: Path, saves: list[Checkpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_disk / "of-one"
    monkeypatch.setattr(Checkpoints, "_path", lambda self, epoch: self.folder / "checkpoint-in-place.safetensors")
    monkeypatch.setattr(module, "atomic_write", contextlib.nullcontext)
    kept = kept_in(folder)
    kept.save(saves[0])
    fill(small_disk, room=0)
    larger = replace(saves[1], state=saves[1].state | {"more": torch.zeros(2**20)})
    with pytest.raises(OSError, match="No space left"):
        kept.save(larger)
    with pytest.raises(BadFile, match="every checkpoint damaged"):
        kept_in(folder).load()


def test_a_write_that_fails_part_way(folder: Path, saves: list[Checkpoint], monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_in(folder)
    kept.save(saves[0])

    def half(self: Path, content: bytes) -> int:
        with self.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(CannotWrite, match="disk is full"):
        kept.save(saves[1])
    assert [path.name for path in folder.iterdir()] == ["checkpoint-00000001.safetensors"]
    assert_same(kept_in(folder).load(), saves[0])


def test_a_read_only_disk_is_found_before_training(small_disk: Path, saves: list[Checkpoint]) -> None:
    folder = small_disk / "of-one"
    kept = kept_in(folder)
    kept.save(saves[0])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(CannotWrite):
        kept_in(folder)
    with pytest.raises(CannotWrite, match="Read-only"):
        kept.save(saves[1])
    assert_same(Checkpoints(folder, fingerprint()).load(), saves[0])


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "of-one").write_text("")
    with pytest.raises(CannotWrite, match="no checkpoint can be written here"):
        kept_in(tmp_path / "of-one")
