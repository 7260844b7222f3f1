"""A task carried out to its end, however often it is cut off on the way."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from sfumato.training.checkpoint import Checkpoints, SavedState
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.ranks import Ranks
from sfumato.training.run_group import RunGroup, RunState
from sfumato.training.training_loop import TrainingLoop

LEFT = 75
"""The exit code of a process that was asked to leave and may be started again (EX_TEMPFAIL)."""
SPACING = 40.0
"""Seconds between checkpoints for every second that one takes: with `KEEPING` less than 3 % of the time."""
KEEPING = 200.0
"""The same for a copy in memory, to be saved when the process is asked to leave."""
KEPT_BYTES = 2**28
"""The largest copy kept in memory."""
LONGEST_SAVE_SECONDS = 5.0
"""What takes longer is not begun when the process is asked to leave: it has ten seconds."""
SHORT_EPOCH_SECONDS = 2.0
"""An epoch as short as this is trained to its end when the process is asked to leave, a longer one is broken off."""
FIRST_SAVE_SECONDS = 0.05
"""What the first checkpoint is taken to cost, until one was made: a training of two seconds needs none."""


def train_group(
    task: RunGroup,
    *,
    folder: Path,
    fingerprint: Fingerprint,
    allow_drift: bool = False,
    on_epoch: Callable[[int, int], None] | None = None,
    spacing: float = SPACING,
) -> list[RunState]:
    """The members of the task, trained; goes on from the checkpoints in `folder` where there are any.

    A process that is killed and started again ends with the same members, bit for bit. Asked to leave by SIGTERM it
    saves the end of an epoch (this one if it is short, else the last) and leaves by `SystemExit` with code 75.
    `on_epoch` is told how many epochs are done, and of how many: once when a training is taken up, and after each of
    them. `spacing` 0 saves every epoch.
    """
    checkpoints = Checkpoints(folder, fingerprint, allow_drift=allow_drift)
    ranks = Ranks.here()
    if ranks.writes:
        checkpoints.prepare()
    ranks.wait()
    saving, keeping = _Cadence(spacing, FIRST_SAVE_SECONDS), _Cadence(KEEPING, 0.0)
    kept: SavedState | None = None
    with _Request() as request:
        training = _taken_up(task, checkpoints)
        if training.epoch:
            _tell(on_epoch, training)
        try:
            while not training.finished and not request.made:
                request.advance(training)
                _tell(on_epoch, training)
                if not ranks.writes:
                    continue
                if saving.is_due:
                    with saving.timed():
                        checkpoints.save(SavedState.of(training))
                    kept = None
                elif keeping.is_due:
                    with keeping.timed():
                        kept = SavedState.of(training)
                    if kept.n_bytes > KEPT_BYTES:
                        kept, keeping.seconds = None, math.inf
            if request.made:
                kept = SavedState.of(training) if ranks.writes else None
                raise SystemExit(LEFT)
        except (SystemExit, KeyboardInterrupt):
            if kept is not None and saving.seconds <= LONGEST_SAVE_SECONDS:
                checkpoints.save(kept)
            raise
    return training.members


def _taken_up(task: RunGroup, checkpoints: Checkpoints) -> TrainingLoop:
    training = TrainingLoop(task)
    saved = checkpoints.load()
    if saved is not None:
        saved.go_on(training)
    return training


class _Cadence:
    """When a thing may be done again, so that it takes no more than one part in `spacing` of the time."""

    def __init__(self, spacing: float, seconds: float) -> None:
        self._spacing, self._since = spacing, time.monotonic()
        self.seconds = seconds
        """How long it took the last time."""

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._since >= self._spacing * self.seconds

    @contextmanager
    def timed(self) -> Iterator[None]:
        begun = time.monotonic()
        yield
        self._since = time.monotonic()
        self.seconds = self._since - begun


class _Request:
    """Whether the process was asked to leave. A long epoch is broken off for it; all else comes to its end first."""

    def __init__(self) -> None:
        self.made = False
        self._can_break_off = False
        self._epoch_seconds = math.inf

    def advance(self, training: TrainingLoop) -> None:
        """Train one epoch, or leave in the midst of it."""
        begun = time.monotonic()
        self._can_break_off = self._epoch_seconds > SHORT_EPOCH_SECONDS
        try:
            training.advance()
        finally:
            self._can_break_off = False
        self._epoch_seconds = time.monotonic() - begun

    def __enter__(self) -> _Request:
        # Only the main thread may listen; in another one, the process leaves as it always would.
        self._listens = threading.current_thread() is threading.main_thread()
        if self._listens:
            self._before = signal.signal(signal.SIGTERM, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._listens:
            signal.signal(signal.SIGTERM, self._before if self._before is not None else signal.SIG_DFL)

    def _hear(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.made = True
        if self._can_break_off:
            self._can_break_off = False
            raise SystemExit(LEFT)


def _tell(on_epoch: Callable[[int, int], None] | None, training: TrainingLoop) -> None:
    if on_epoch is not None:
        on_epoch(training.epoch, training.task.recipe.epochs)
