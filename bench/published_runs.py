"""Two small training protocols on published data: eight targets, with the same initial weights and batches per seed.

cifar     CIFAR-10H: 7,000 training and 3,000 test images in the split of CIFAR-10S, the small network, 12 epochs, 5
          seeds. The optimizer of Uma et al. (2020) and Collins et al. (2022), with a one-cycle schedule instead of 65
          epochs with steps.
fashion   Fashion-MNIST-H: the first 7,000 and the last 3,000 test images, LeNet, 15 epochs of Adam, 6 seeds.

The runs are stored in a folder and trained once, so `bench/train.py` and `bench/evaluate.py` describe the same runs.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.importers import Cifar10HImporter, FashionMnistHImporter
from sfumato.tables.counts import Counts
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.experiment import Experiment
from sfumato.training.experiment_file import ExperimentFile
from sfumato.training.worker_pool import run_experiment

DATA = Path(os.environ.get("SFUMATO_DATA", "data"))
TARGETS = ("hard", "majority", "soft", "sampled", "class-level", "smoothing", "shuffled", "entropy-matched")


@dataclass(frozen=True)
class Protocol:
    """A data set and the training settings for it."""

    name: str
    folder: str
    """The folder of people's labels."""
    pictures: str
    network: str
    seeds: int
    recipe: dict[str, Any]
    rest: dict[str, Any] = field(default_factory=dict)

    def people(self) -> SoftLabels:
        reader = Cifar10HImporter() if self.name == "cifar" else FashionMnistHImporter()
        table = reader.read(DATA / self.folder).table
        assert isinstance(table, SoftLabels | Counts)
        return table.labels() if isinstance(table, Counts) else table

    def split(self) -> tuple[np.ndarray, np.ndarray]:
        if self.name == "cifar":
            return tuple(np.load(DATA / "cifar10s" / f"{part}_indices.npy") for part in ("train", "test"))  # type: ignore[return-value]
        return np.arange(7000), np.arange(7000, 10_000)


CIFAR = Protocol(
    "cifar", "cifar10h", "cifar10-test/images.npz", "small", 5, {"epochs": 12},
    {
        "optimiser": {"name": "sgd", "rate": 0.1, "momentum": 0.9, "weight_decay": 1e-4}, "schedule": "one-cycle",
        "augmentation": "none",
    },
)  # fmt: skip
FASHION = Protocol(
    "fashion",
    "fashion-mnist-h",
    "fashion-mnist/test.npz",
    "lenet",
    6,
    {"epochs": 15, "dynamics": "both", "predictions_each_epoch": True},
)
PROTOCOLS = {each.name: each for each in (CIFAR, FASHION)}


@dataclass(frozen=True, eq=False)
class Published:
    """The runs of a protocol, with their training data."""

    protocol: Protocol
    runs: Path
    inputs: Path
    labels: Path
    cpu_seconds: float | None
    """CPU seconds per run, if they were trained now."""


def published_runs(name: str, place: Path) -> Published:
    """The runs of protocol `name` in the folder `place`; missing runs are trained, two at a time."""
    protocol = PROTOCOLS[name]
    place = place / name
    place.mkdir(parents=True, exist_ok=True)
    inputs, labels = place / "inputs.npz", place / "labels.parquet"
    if not labels.exists():
        people = protocol.people()
        with np.load(DATA / protocol.pictures) as file, np.load(DATA / protocol.folder / "counts.npz") as counts:
            original = np.array(people.classes)[counts["labels"].astype(int)]
            np.savez(inputs, images=file["images"], items=np.array(people.items.to_pylist()), labels=original)
        for part, rows in zip(("train", "test"), protocol.split(), strict=True):
            (place / f"{part}.txt").write_text("\n".join(map(str, rows)) + "\n")
        people.write(labels)
    experiment = _experiment(protocol, place, inputs, labels)
    n_missing = protocol.seeds * len(TARGETS) - len(list(experiment.folder.rglob("run.json")))
    before = _cpu_seconds()
    run_experiment(experiment, processes=2)
    seconds = (_cpu_seconds() - before) / n_missing if n_missing else None
    return Published(protocol, place / "runs", inputs, labels, seconds)


def _experiment(protocol: Protocol, place: Path, inputs: Path, labels: Path) -> Experiment:
    file = ExperimentFile.of(
        {
            "data": {"inputs": inputs, "labels": labels},
            "grid": {"targets": list(TARGETS), "networks": [protocol.network], "seeds": protocol.seeds},
            "split": {"name": "given", "train": str(place / "train.txt"), "test": str(place / "test.txt")},
            "recipe": protocol.recipe,
            **protocol.rest,
        }
    )
    return file.experiment(place / "runs")


def _cpu_seconds() -> float:
    """CPU seconds of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
