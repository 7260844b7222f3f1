"""What checkpoints cost: a training of LeNets with and without them, in turns.

    python bench/learn_checkpoints.py [SECONDS]

Prints the ratio of the CPU seconds of one thread, and of the seconds on the clock: 8 LeNets side by side on 2,131
images of 28 px, batches of 64, dynamics noted. Both come to the same weights (checked).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from sfumato.learn import carrying_out
from sfumato.learn.carrying_out import carry_out
from sfumato.learn.checkpoints import Checkpoints
from sfumato.learn.fingerprint import Fingerprint
from sfumato.learn.lesson import Lesson
from sfumato.learn.networks import LeNet
from sfumato.learn.recipe import Recipe
from sfumato.learn.targets import Soft
from sfumato.learn.task import Task
from sfumato.learn.training import Training

N_MEMBERS, N_ITEMS, SIZE, N_CLASSES = 8, 2131, 28, 10
ALLOWED = 1.03
N_PAIRS = 3


@dataclass(frozen=True)
class Overhead:
    """With checkpoints against without, by the median of pairs run in turns."""

    cpu: float
    clock: float
    n_saves: int
    """Checkpoints made in all pairs."""


def lenets(epochs: int) -> Task:
    """Eight LeNets, and images of noise: what they show does not matter to the clock."""
    rng = np.random.default_rng(0)
    people = rng.dirichlet(np.ones(N_CLASSES), N_ITEMS)
    lesson = Lesson(tuple(map(str, range(N_ITEMS))), tuple("abcdefghij"), people=people)
    pictures = torch.from_numpy(rng.normal(size=(N_ITEMS, 1, SIZE, SIZE)).astype(np.float32))
    names = tuple(f"soft-{g}" for g in range(N_MEMBERS))
    labels = tuple(Soft().labels(lesson, rng) for _ in names)
    return Task(names, LeNet(), labels, lesson, pictures, Recipe(epochs=epochs), seed=0, tested=pictures[:500])


def checkpoint_overhead(seconds: float = 40.0, n_pairs: int = N_PAIRS) -> Overhead:
    """What checkpoints cost a training of about so many CPU seconds, at one thread."""
    torch.set_num_threads(1)
    epochs = _epochs_in(seconds)
    n_saves, save = [0], Checkpoints.save

    def counted(self: Checkpoints, saved: carrying_out.Saved) -> None:
        n_saves[0] += 1
        save(self, saved)

    Checkpoints.save = counted  # type: ignore[method-assign]
    try:
        pairs = [_pair(lenets(epochs)) for _ in range(n_pairs)]
    finally:
        Checkpoints.save = save  # type: ignore[method-assign]
    return Overhead(*(statistics.median(pair[i] for pair in pairs) for i in (0, 1)), n_saves[0])


def _epochs_in(seconds: float) -> int:
    training = Training(lenets(3))
    training.advance()
    begun = time.process_time()
    training.advance()
    return max(2, round(seconds / (time.process_time() - begun)))


def _pair(task: Task) -> tuple[float, float]:
    """One training without checkpoints and one with them: the ratios of their CPU seconds and clocks."""
    cpu, clock = time.process_time(), time.perf_counter()
    training = Training(task)
    while not training.finished:
        training.advance()
    cpu_without, clock_without = time.process_time() - cpu, time.perf_counter() - clock
    fingerprint = Fingerprint.now(settings="bench", data="noise", device=task.device)
    with tempfile.TemporaryDirectory() as folder:
        cpu, clock = time.process_time(), time.perf_counter()
        members = carry_out(task, folder=Path(folder), fingerprint=fingerprint)
        cpu_with, clock_with = time.process_time() - cpu, time.perf_counter() - clock
    for plain, member in zip(training.members, members, strict=True):
        assert plain.best is not None
        assert member.best is not None
        assert all(torch.equal(tensor, member.best[name]) for name, tensor in plain.best.items())
    return cpu_with / cpu_without, clock_with / clock_without


def main() -> int:
    found = checkpoint_overhead(float(sys.argv[1]) if len(sys.argv) > 1 else 40.0)
    print(
        f"checkpoints: {found.cpu:.3f} of the CPU seconds without, {found.clock:.3f} of the clock "
        f"({found.n_saves} saves in {N_PAIRS} trainings; at most {ALLOWED})"
    )
    return 0 if found.cpu <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
