"""Toy data for training: sixty gray pictures of 28 px in three classes, with people's labels and beliefs."""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import nn

from sfumato.tables.beliefs import Beliefs
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.item_join import join_items
from sfumato.training.networks import SimpleFfn
from sfumato.training.training_set import TrainingSet

CLASSES = ("cat", "dog", "emu")
N_ITEMS = 60
ITEMS = tuple(f"i{i}" for i in range(N_ITEMS))
NUMBERS = np.arange(N_ITEMS) % 3
"""The original class of each item."""


def images(seed: int = 0, n_items: int = N_ITEMS) -> np.ndarray:
    """Noise with a bright bar whose position shows the class."""
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 90, (n_items, 28, 28), dtype=np.uint8)
    for i in range(n_items):
        noise[i, 8 * (i % 3) : 8 * (i % 3) + 8] += 120
    return noise


def people() -> SoftLabels:
    """Soft labels: four of five people choose the original class, the fifth the next one."""
    probs = 0.8 * np.eye(3)[NUMBERS] + 0.2 * np.eye(3)[(NUMBERS + 1) % 3]
    return SoftLabels.from_numpy(ITEMS, probs, CLASSES, 5)


def beliefs() -> Beliefs:
    """The beliefs of the five people."""
    said = [k if person < 4 else (k + 1) % 3 for k in NUMBERS.tolist() for person in range(5)]
    item = [name for name in ITEMS for _ in range(5)]
    return Beliefs.from_numpy(item, [f"a{p}" for _ in ITEMS for p in range(5)], np.array(said), CLASSES)


def inputs() -> Inputs:
    return Inputs(ITEMS, images(), labels=tuple(CLASSES[k] for k in NUMBERS), classes=CLASSES)


def data() -> TrainingSet:
    return join_items(inputs(), people=people(), beliefs=beliefs())


def write_files(folder: Path) -> None:
    """Write x.npz, labels.parquet, beliefs.parquet and teacher.parquet."""
    np.savez(folder / "x.npz", images=images(), items=ITEMS, labels=NUMBERS.astype(np.uint8), class_names=CLASSES)
    people().write(folder / "labels.parquet")
    beliefs().write(folder / "beliefs.parquet")
    SoftLabels.from_numpy(ITEMS, np.full((N_ITEMS, 3), 1 / 3), CLASSES, 0).write(folder / "teacher.parquet")


@dataclass(frozen=True)
class Deadly:
    """A network that kills the process that builds it the first `times` times; `folder` counts the kills."""

    folder: str
    times: int

    name: ClassVar[str] = "deadly"

    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        deaths = len(list(Path(self.folder).glob("death-*")))
        if multiprocessing.parent_process() is not None and deaths < self.times:
            Path(self.folder, f"death-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return SimpleFfn().build(shape, n_classes)
