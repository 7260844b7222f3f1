"""Overhead of checkpoints: LeNets trained with and without them, in alternating epochs.

    python bench/train_checkpoints.py [SECONDS]

Prints the ratio of CPU seconds on one thread, and the share for copying and saving: 8 stacked LeNets on 2,131 images of
28 px, batches of 64, with training dynamics. Both trainings must give the same weights.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import numpy as np
import torch

from sfumato.training import resumable_run
from sfumato.training.checkpoint import Checkpoint, Checkpoints
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.networks import LeNet
from sfumato.training.recipe import Recipe
from sfumato.training.run_group import RunGroup
from sfumato.training.targets import SoftTarget
from sfumato.training.training_loop import TrainingLoop
from sfumato.training.training_set import TrainingSet

N_NETWORKS, N_ITEMS, SIZE, N_CLASSES = 8, 2131, 28, 10
LARGEST_SHARE = 0.03

T = TypeVar("T")


@dataclass(frozen=True)
class Overhead:
    """The time of a training with checkpoints, compared with one without."""

    ratio: float
    """CPU seconds with checkpoints / without; varies by a few hundredths on a busy machine."""
    share: float
    """Share of the CPU seconds spent on copying and saving; less affected by other processes than the ratio."""
    n_saves: int
    seconds: float
    """CPU seconds without checkpoints."""


def lenets(epochs: int) -> RunGroup:
    """Eight LeNets and random images, because the content does not affect the time."""
    rng = np.random.default_rng(0)
    people = rng.dirichlet(np.ones(N_CLASSES), N_ITEMS)
    training_set = TrainingSet(tuple(map(str, range(N_ITEMS))), tuple("abcdefghij"), people=people)
    pictures = torch.from_numpy(rng.normal(size=(N_ITEMS, 1, SIZE, SIZE)).astype(np.float32))
    names = tuple(f"soft-{g}" for g in range(N_NETWORKS))
    labels = tuple(SoftTarget().labels(training_set, rng) for _ in names)
    return RunGroup(
        names, LeNet(), labels, training_set, pictures, Recipe(epochs=epochs), seed=0, test_images=pictures[:500]
    )


def checkpoint_overhead(seconds: float = 30.0) -> Overhead:
    """The overhead in a training of about this many CPU seconds, on one thread."""
    torch.set_num_threads(1)
    run_group = lenets(_epochs_in(seconds))
    plain, without, spent = TrainingLoop(run_group), Clock(), Clock()

    def plain_epoch(epoch: int, n_epochs: int) -> None:
        without.time(plain.advance)

    fingerprint = Fingerprint.now(settings="bench", data="noise", device=run_group.device)
    # The training without checkpoints takes half of the time, so the intervals between saves are doubled.
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(resumable_run, "KEEPING", 2 * resumable_run.KEEPING),
        mock.patch.object(Checkpoints, "save", spent.timing(Checkpoints.save)),
        mock.patch.object(Checkpoint, "of", spent.timing(Checkpoint.of)),
    ):
        begun = time.process_time()
        runs = resumable_run.train_group(
            run_group,
            folder=Path(folder),
            fingerprint=fingerprint,
            on_epoch=plain_epoch,
            spacing=2 * resumable_run.SPACING,
        )
        both = time.process_time() - begun
        n_saves = spent.calls["save"]
    for other, run in zip(plain.runs, runs, strict=True):
        assert other.best is not None
        assert run.best is not None
        assert all(torch.equal(tensor, run.best[name]) for name, tensor in other.best.items())
    with_them = both - without.seconds
    return Overhead(with_them / without.seconds, spent.seconds / (with_them - spent.seconds), n_saves, without.seconds)


class Clock:
    """CPU seconds spent in calls, and the number of calls by function."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls: Counter[str] = Counter()

    def time(self, call: Callable[..., T], *arguments: Any) -> T:
        begun = time.process_time()
        try:
            return call(*arguments)
        finally:
            self.seconds += time.process_time() - begun
            self.calls[call.__name__] += 1

    def timing(self, call: Callable[..., T]) -> Callable[..., T]:
        return lambda *arguments: self.time(call, *arguments)


def _epochs_in(seconds: float) -> int:
    training, clock = TrainingLoop(lenets(3)), Clock()
    training.advance()
    clock.time(training.advance)
    return max(3, round(seconds / clock.seconds))


def main() -> int:
    found = checkpoint_overhead(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
    print(
        f"checkpoints: {found.n_saves} saves in {found.seconds:.0f} CPU seconds took {found.share:.1%} of them "
        f"(at most {LARGEST_SHARE:.0%}); ratio with / without {found.ratio:.3f}"
    )
    return 0 if found.share <= LARGEST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
