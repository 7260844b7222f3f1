"""A run_group that is left and taken up ends as if it had not been, and leaves politely when asked to."""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from resume_job import Outcome, fingerprint, outcome_of, small_group

from sfumato.tables.errors import CannotWrite
from sfumato.training import resumable_run, training_loop
from sfumato.training.checkpoint import Checkpoint
from sfumato.training.random_streams import RandomStreams
from sfumato.training.resumable_run import train_group
from sfumato.training.training_loop import TrainingLoop
from sfumato.training.training_progress import STOPPED

NEVER = float("inf")


class Cut(Exception):
    """Somebody pulled the plug."""


def carried_out(job: str, folder: Path, *, spacing: float = 0.0, on_epoch: Any = None) -> Outcome:
    run_group = small_group(job)
    return outcome_of(
        train_group(run_group, folder=folder, fingerprint=fingerprint(), spacing=spacing, on_epoch=on_epoch)
    )


def at_epoch(wanted: int, act: Callable[[], object]) -> Callable[[int, int], None]:
    def on_epoch(epoch: int, n_epochs: int) -> None:
        if epoch == wanted:
            act()

    return on_epoch


def cut() -> None:
    raise Cut


def ask_to_leave() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def epochs_in(folder: Path) -> list[int]:
    return sorted(int(path.stem.removeprefix("checkpoint-")) for path in folder.glob("*.safetensors"))


@pytest.fixture
def undisturbed() -> dict[str, Outcome]:
    """What the plain loop comes to."""
    return {job: plain_outcome(job) for job in ("conv", "ffn")}


@functools.cache
def plain_outcome(job: str) -> Outcome:
    # Kept by itself and not by a fixture of the module: those are made before the threads are set.
    loop = TrainingLoop(small_group(job))
    while not loop.finished:
        loop.advance()
    return outcome_of(loop.runs)


# --- taken up ---


def test_members_of_the_trial_leave_at_different_epochs() -> None:
    loop = TrainingLoop(small_group("conv"))
    while not loop.finished:
        loop.advance()
    ends = {len(run.rows) for run in loop.runs}
    assert len(ends) == 3, ends
    assert {run.ended for run in loop.runs} == {"stopped early"}
    rates = {row.rate for run in loop.runs for row in run.rows}
    assert len(rates) > 1, "the rate fell on a plateau"


@pytest.mark.parametrize("job", ["conv", "ffn"])
def test_without_a_break_it_is_the_plain_loop(tmp_path: Path, undisturbed: dict[str, Outcome], job: str) -> None:
    assert carried_out(job, tmp_path, spacing=resumable_run.SPACING) == undisturbed[job]


@pytest.mark.parametrize(("job", "epochs"), [("conv", (1, 4, 5, 6, 7, 12)), ("ffn", (2, 23))])
def test_left_and_taken_up_it_ends_the_same(
    tmp_path: Path, undisturbed: dict[str, Outcome], job: str, epochs: tuple[int, ...]
) -> None:
    # Cut off after an epoch and before it is saved, again and again: each time the epoch is trained anew.
    for epoch in epochs:
        with pytest.raises(Cut):
            carried_out(job, tmp_path, on_epoch=at_epoch(epoch, cut))
        assert (epochs_in(tmp_path) or [0])[-1] == epoch - 1
    assert carried_out(job, tmp_path) == undisturbed[job]


def test_one_that_had_ended_ends_at_once(tmp_path: Path, undisturbed: dict[str, Outcome]) -> None:
    assert carried_out("conv", tmp_path) == undisturbed["conv"]
    told: list[int] = []
    assert carried_out("conv", tmp_path, on_epoch=lambda epoch, _: told.append(epoch)) == undisturbed["conv"]
    assert told == epochs_in(tmp_path)[-1:]


def test_luck_that_begins_anew_is_seen(
    tmp_path: Path, undisturbed: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Cut):
        carried_out("conv", tmp_path, on_epoch=at_epoch(3, cut))
    monkeypatch.setattr(training_loop, "RandomStreams", lambda seed, epoch: RandomStreams(seed, epoch - 2))
    assert carried_out("conv", tmp_path) != undisturbed["conv"]


def test_it_tells_how_far_it_has_come(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    def tell(epoch: int, n_epochs: int) -> None:
        told.append((epoch, n_epochs))
        if told == [(1, 24), (2, 24), (3, 24)]:
            raise Cut

    with pytest.raises(Cut):
        carried_out("ffn", tmp_path, on_epoch=tell)
    carried_out("ffn", tmp_path, on_epoch=tell)
    assert told[3:6] == [(2, 24), (3, 24), (4, 24)]
    assert told[-1] == (24, 24)


# --- as often as it may cost ---


def test_a_save_is_due_after_forty_times_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(resumable_run.time, "monotonic", lambda: clock[0])
    cadence = resumable_run._Cadence(40.0, 0.05)
    clock[0] = 101.9
    assert not cadence.is_due
    clock[0] = 102.0  # 100 + 40 * 0.05
    assert cadence.is_due
    with cadence.timed():
        clock[0] = 102.5
    clock[0] = 122.4
    assert not cadence.is_due
    clock[0] = 122.5  # 102.5 + 40 * 0.5
    assert cadence.is_due


def test_a_short_training_is_never_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable_run, "FIRST_SAVE_SECONDS", 60.0)
    carried_out("ffn", tmp_path, spacing=resumable_run.SPACING)
    assert epochs_in(tmp_path) == []


# --- asked to leave ---


def test_asked_between_epochs_it_saves_and_leaves(tmp_path: Path, undisturbed: dict[str, Outcome]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as left:
        carried_out("conv", tmp_path, spacing=NEVER, on_epoch=at_epoch(4, ask_to_leave))
    assert left.value.code == STOPPED == 75
    assert epochs_in(tmp_path) == [4]
    assert signal.getsignal(signal.SIGTERM) == before
    assert carried_out("conv", tmp_path, spacing=NEVER) == undisturbed["conv"]


@pytest.mark.parametrize(
    ("stopping", "error", "short", "saved"),
    [
        (signal.SIGTERM, SystemExit, NEVER, 6),
        (signal.SIGTERM, SystemExit, 0.0, 5),
        (signal.SIGINT, KeyboardInterrupt, NEVER, 5),
    ],
)
def test_in_the_midst_of_an_epoch_it_saves_the_end_of_this_one_if_it_is_short_else_of_the_last(
    tmp_path: Path,
    undisturbed: dict[str, Outcome],
    monkeypatch: pytest.MonkeyPatch,
    stopping: signal.Signals,
    error: type[BaseException],
    short: float,
    saved: int,
) -> None:
    def draws(seed: int, epoch: int) -> RandomStreams:
        if epoch == 5:
            # Here and now: a signal to the process may come a little later, where Python drops what is raised.
            signal.raise_signal(stopping)
        return RandomStreams(seed, epoch)

    monkeypatch.setattr(resumable_run, "KEEPING", 0.0)
    monkeypatch.setattr(resumable_run, "SHORT_EPOCH_SECONDS", short)
    # As a program has it: others that ran in this process may have left another.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        with monkeypatch.context() as patched:
            patched.setattr(training_loop, "RandomStreams", draws)
            with pytest.raises(error):
                carried_out("conv", tmp_path, spacing=NEVER)
    finally:
        signal.signal(signal.SIGINT, before)
    assert epochs_in(tmp_path) == [saved]
    assert carried_out("conv", tmp_path, spacing=NEVER) == undisturbed["conv"]


def test_asked_during_a_save_it_ends_the_save_first(
    tmp_path: Path, undisturbed: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    to_tensors = Checkpoint.to_tensors

    def asked_meanwhile(self: Checkpoint) -> Any:
        if self.epoch == 3:
            ask_to_leave()
        return to_tensors(self)

    monkeypatch.setattr(Checkpoint, "to_tensors", asked_meanwhile)
    with pytest.raises(SystemExit):
        carried_out("conv", tmp_path)
    assert epochs_in(tmp_path) == [2, 3]
    assert carried_out("conv", tmp_path) == undisturbed["conv"]


def test_asked_after_the_last_epoch_it_still_leaves(tmp_path: Path, undisturbed: dict[str, Outcome]) -> None:
    with pytest.raises(SystemExit):
        carried_out("ffn", tmp_path, spacing=NEVER, on_epoch=at_epoch(24, ask_to_leave))
    assert epochs_in(tmp_path) == [24]
    assert carried_out("ffn", tmp_path, spacing=NEVER) == undisturbed["ffn"]


def test_what_would_take_too_long_to_save_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable_run, "LONGEST_SAVE_SECONDS", 0.0)
    with pytest.raises(SystemExit):
        carried_out("ffn", tmp_path, spacing=0.0, on_epoch=at_epoch(3, ask_to_leave))
    # The save of epoch 3 that was due is made; none for leaving.
    assert epochs_in(tmp_path) == [2, 3]
    with pytest.raises(SystemExit):
        carried_out("ffn", tmp_path, spacing=NEVER, on_epoch=at_epoch(5, ask_to_leave))
    assert epochs_in(tmp_path) == [2, 3]


def test_what_is_too_large_is_not_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n_copies, copy_of = [0], Checkpoint.of

    def counted(loop: TrainingLoop) -> Checkpoint:
        n_copies[0] += 1
        return copy_of(loop)

    monkeypatch.setattr(resumable_run, "MAX_KEPT_BYTES", 10)
    monkeypatch.setattr(resumable_run, "KEEPING", 0.0)
    monkeypatch.setattr(Checkpoint, "of", counted)
    carried_out("ffn", tmp_path, spacing=NEVER)
    assert n_copies == [1]


def test_in_another_thread_it_works_too(tmp_path: Path, undisturbed: dict[str, Outcome]) -> None:
    found: list[Outcome] = []
    thread = threading.Thread(target=lambda: found.append(carried_out("ffn", tmp_path)))
    thread.start()
    thread.join()
    assert found == [undisturbed["ffn"]]


# --- no room ---


def test_a_disk_that_fills_up_ends_it_and_loses_nothing(
    tmp_path: Path, undisturbed: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        write(self, content[:100])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(CannotWrite, match="disk is full"):
        carried_out("conv", tmp_path, on_epoch=at_epoch(4, lambda: patched.setattr(Path, "write_bytes", full)))
    assert epochs_in(tmp_path) == [2, 3]
    assert list(tmp_path.glob(".*")) == []
    assert carried_out("conv", tmp_path) == undisturbed["conv"]


def test_a_place_that_cannot_be_is_found_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite):
        carried_out("ffn", tmp_path / "file" / "of-one", on_epoch=at_epoch(1, cut))
