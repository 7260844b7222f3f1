"""`train_group` trains a run group to its end and resumes from checkpoints after interruptions."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from sfumato.training.checkpoint import Checkpoint, Checkpoints
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.ranks import Ranks
from sfumato.training.run_group import RunGroup, RunState
from sfumato.training.training_loop import TrainingLoop
from sfumato.training.training_progress import STOPPED

SPACING = 40.0
"""Seconds between checkpoints per second that one takes: with `KEEPING` less than 3% of the time."""
KEEPING = 200.0
"""The same for a copy in memory, which is saved when the process is stopped."""
MAX_KEPT_BYTES = 2**28
"""The largest copy kept in memory."""
LONGEST_SAVE_SECONDS = 5.0
"""A save that takes longer is not started when the process is stopped: it has ten seconds."""
SHORT_EPOCH_SECONDS = 2.0
"""When the process is stopped, an epoch shorter than this is finished; a longer one is interrupted."""
FIRST_SAVE_SECONDS = 0.05
"""Assumed duration of the first checkpoint; a training of two seconds needs none."""


def train_group(
    group: RunGroup,
    *,
    folder: Path,
    fingerprint: Fingerprint,
    allow_drift: bool = False,
    on_epoch: Callable[[int, int], None] | None = None,
    spacing: float = SPACING,
) -> list[RunState]:
    """Train the runs of the group, from the checkpoints in `folder` if there are any.

    A process that is killed and started again ends with the same runs, bit for bit. On SIGTERM it saves the end of an
    epoch (this one if it is short, else the last) and raises `SystemExit` with code 75. `on_epoch` is called with the
    number of finished epochs and of all epochs: once when training resumes, and after each epoch. `spacing` 0 saves
    every epoch.
    """
    checkpoints = Checkpoints(folder, fingerprint, allow_drift=allow_drift)
    ranks = Ranks.here()
    if ranks.writes:
        checkpoints.prepare()
    ranks.wait()
    saving, keeping = _Cadence(spacing, FIRST_SAVE_SECONDS), _Cadence(KEEPING, 0.0)
    kept: Checkpoint | None = None
    with _StopSignal() as stop:
        loop = TrainingLoop(group)
        if (checkpoint := checkpoints.load()) is not None:
            checkpoint.restore(loop)
        if loop.epoch:
            _report(on_epoch, loop)
        try:
            while not loop.finished and not stop.received:
                stop.advance(loop)
                _report(on_epoch, loop)
                if not ranks.writes:
                    continue
                if saving.is_due:
                    with saving.timed():
                        checkpoints.save(Checkpoint.of(loop))
                    kept = None
                elif keeping.is_due:
                    with keeping.timed():
                        kept = Checkpoint.of(loop)
                    if kept.n_bytes > MAX_KEPT_BYTES:
                        kept, keeping.seconds = None, math.inf
            if stop.received:
                kept = Checkpoint.of(loop) if ranks.writes else None
                raise SystemExit(STOPPED)
        except (SystemExit, KeyboardInterrupt):
            if kept is not None and saving.seconds <= LONGEST_SAVE_SECONDS:
                checkpoints.save(kept)
            raise
    return loop.runs


class _Cadence:
    """When an action is due again, so that it takes at most one part in `spacing` of the time."""

    def __init__(self, spacing: float, seconds: float) -> None:
        self._spacing, self._since = spacing, time.monotonic()
        self.seconds = seconds
        """Duration of the last action."""

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._since >= self._spacing * self.seconds

    @contextmanager
    def timed(self) -> Iterator[None]:
        started_at = time.monotonic()
        yield
        self._since = time.monotonic()
        self.seconds = self._since - started_at


class _StopSignal:
    """Handles SIGTERM: interrupts a long epoch at once, and waits for anything else to finish."""

    def __init__(self) -> None:
        self.received = False
        self._can_interrupt = False
        self._epoch_seconds = math.inf

    def advance(self, loop: TrainingLoop) -> None:
        """Train one epoch; a signal may interrupt it."""
        started_at = time.monotonic()
        self._can_interrupt = self._epoch_seconds > SHORT_EPOCH_SECONDS
        try:
            loop.advance()
        finally:
            self._can_interrupt = False
        self._epoch_seconds = time.monotonic() - started_at

    def __enter__(self) -> _StopSignal:
        # Only the main thread can handle signals; elsewhere the default handling applies.
        self._installed = threading.current_thread() is threading.main_thread()
        if self._installed:
            self._before = signal.signal(signal.SIGTERM, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGTERM, self._before if self._before is not None else signal.SIG_DFL)

    def _receive(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.received = True
        if self._can_interrupt:
            self._can_interrupt = False
            raise SystemExit(STOPPED)


def _report(on_epoch: Callable[[int, int], None] | None, loop: TrainingLoop) -> None:
    if on_epoch is not None:
        on_epoch(loop.epoch, loop.group.recipe.epochs)
