"""A small training for resume trials, with all kinds of state that a resumed run could lose."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from held_out_group import held_out_group

from sfumato.training import resumable_run, training_loop
from sfumato.training.checkpoint import Checkpoint, Checkpoints
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.mixing import Mixup
from sfumato.training.networks import SimpleFfn, Small
from sfumato.training.optimizers import Adam, OneCycle, Plateau, Sgd
from sfumato.training.random_streams import RandomStreams
from sfumato.training.recipe import CropAndFlip, Recipe
from sfumato.training.run_group import RunGroup, RunState
from sfumato.training.targets import HardTarget, SampledTarget, SoftTarget
from sfumato.training.training_set import TrainingSet

N_ITEMS, N_TEST, N_CLASSES, SIZE = 240, 40, 3, 12
CLASSES = ("cat", "dog", "ship")

CONV = Recipe(
    epochs=24,
    batch_size=32,
    optimiser=Adam(rate=0.01),
    schedule=Plateau(by=0.5, patience=1),
    mixing=Mixup(alpha=0.4),
    augmentation=CropAndFlip(pad=1),
    validation=0.2,
    patience=3,
    dynamics="both",
    predictions_each_epoch=True,
)
"""Batch norm, augmentation, mixup, Adam, a plateau schedule and early stopping."""
FFN = Recipe(epochs=24, batch_size=16, optimiser=Sgd(rate=0.05), schedule=OneCycle(), clip=1.0, dynamics="online")
"""Momentum, a one-cycle schedule, gradient clipping and online dynamics."""
JOBS = {"conv": (Small(width=4), CONV), "ffn": (SimpleFfn(hidden=32), FFN)}


def training_set_and_images(n_items: int, size: int, seed: int) -> tuple[TrainingSet, torch.Tensor]:
    """Images of three patterns in noise, with soft labels."""
    rng = np.random.default_rng(seed)
    original = rng.integers(0, N_CLASSES, n_items)
    patterns = rng.normal(size=(N_CLASSES, 1, size, size))
    pictures = patterns[original] + 2 * rng.normal(size=(n_items, 1, size, size))
    people = rng.dirichlet(np.ones(N_CLASSES), n_items) * 0.6 + 0.4 * np.eye(N_CLASSES)[original]
    training_set = TrainingSet(tuple(map(str, range(n_items))), CLASSES, original=original, people=people)
    return training_set, torch.from_numpy(pictures.astype(np.float32)).contiguous(memory_format=torch.channels_last)


def small_group(job: str = "conv", **changes: Any) -> RunGroup:
    """The run group of a job: three targets, with changes to its recipe."""
    network, recipe = JOBS[job]
    training_set, pictures = training_set_and_images(N_ITEMS, SIZE, seed=1)
    _, test_images = training_set_and_images(N_TEST, SIZE, seed=2)
    targets = (HardTarget(), SoftTarget(), SampledTarget())
    changed = replace(recipe, **changes)
    return held_out_group(targets, network, training_set, pictures, changed, 10, test_images, label_seed=3)


def fingerprint(**changes: Any) -> Fingerprint:
    return replace(Fingerprint.now(settings={"job": 1}, data="0" * 64, device=torch.device("cpu")), **changes)


@dataclass(frozen=True)
class Outcome:
    """SHA-256 of each part of a training's result."""

    weights: str
    history: str
    dynamics: str
    predictions: str


def outcome_of(runs: Iterable[RunState]) -> Outcome:
    parts: dict[str, Any] = {name: hashlib.sha256() for name in ("weights", "history", "dynamics", "predictions")}
    for run in runs:
        for part in parts.values():
            part.update(f"run {run.number} {run.name}\n".encode())
        for name, tensor in (run.best or {}).items():
            parts["weights"].update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode() + tensor.numpy().tobytes())
        parts["history"].update(f"{run.ended} {run.rows}".encode())
        for key, moment in run.dynamics.items():
            parts["dynamics"].update(f"{key}".encode())
            for values in asdict(moment).values():
                parts["dynamics"].update(f"{values.dtype} {values.shape}".encode() + values.tobytes())
        for probs in run.predictions:
            parts["predictions"].update(f"{probs.dtype} {probs.shape}".encode() + probs.tobytes())
    return Outcome(**{name: part.hexdigest() for name, part in parts.items()})


# --- in a separate process ---


def work(sender: Connection, job: str, folder: Path, threads: int, fault: str | None, spacing: float) -> None:
    """Train a job and report `began`, `saving`, `saved`, each with its epoch; at the end the outcome."""
    torch.set_num_threads(threads)
    if fault is not None:
        FAULTS[fault]()

    class ReportingCheckpoints(Checkpoints):
        def load(self) -> Checkpoint | None:
            found = super().load()
            sender.send(("began", found.epoch if found else 0))
            return found

        def save(self, saved: Checkpoint) -> None:
            sender.send(("saving", saved.epoch))
            super().save(saved)
            sender.send(("saved", saved.epoch))

    resumable_run.Checkpoints = ReportingCheckpoints  # type: ignore[misc]
    runs = resumable_run.train_group(
        small_group(job),
        folder=folder,
        fingerprint=fingerprint(),
        spacing=spacing,
        on_epoch=lambda epoch, _: sender.send(("epoch", epoch)),
    )
    sender.send(("done", outcome_of(runs)))


def _restart_random_numbers() -> None:
    """Random numbers restart in every process, because the epoch number is dropped."""
    first: list[int] = []

    def draws(seed: int, epoch: int) -> RandomStreams:
        first.append(epoch)
        return RandomStreams(seed, epoch - first[0])

    training_loop.RandomStreams = draws  # type: ignore[misc, assignment]


def _forget_optimiser() -> None:
    """Only the weights are restored."""
    restore = Checkpoint.restore

    def forgetful(self: Checkpoint, onto: training_loop.TrainingLoop) -> None:
        restore(replace(self, state={k: v for k, v in self.state.items() if not k.startswith("optimiser.")}), onto)

    Checkpoint.restore = forgetful  # type: ignore[method-assign]


FAULTS: dict[str, Callable[[], None]] = {
    "restart-draws": _restart_random_numbers,
    "forget-optimiser": _forget_optimiser,
}
