"""CIFAR-10 from its binary archive: a picture is a byte for its class and 3,072 for its pixels, plane by plane.

Predictions of three published networks for the test pictures of CIFAR-10.
"""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from sfumato.importers.importer import CIFAR_10
from sfumato_papers.converters.released_files import write_arrays

ARCHIVE = "cifar-10-binary.tar.gz"
TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST = "test_batch.bin"
SIDE = 32
RECORD_BYTES = 1 + 3 * SIDE * SIDE


@dataclass(frozen=True, eq=False)
class Batch:
    """Pictures of the archive with their classes, in its order."""

    images: UInt8[np.ndarray, "items 32 32 3"]
    labels: UInt8[np.ndarray, "items"]


def batches(archive: Path, *names: str) -> list[Batch]:
    """The batches called `names`, read without unpacking anything to the disk."""
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.rpartition("/")[2]
            if name in names and (file := tar.extractfile(member)) is not None:
                found[name] = _batch(file.read())
    return [found[name] for name in names]


def convert_test(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """The test pictures."""
    (test,) = batches(files[ARCHIVE], TEST)
    write_arrays(folder / "images.npz", images=test.images, labels=test.labels, class_names=np.array(CIFAR_10))


def convert_train(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """The first of the five batches of training pictures, and the classes of all five."""
    train = batches(files[ARCHIVE], *TRAIN)
    first = train[0]
    write_arrays(
        folder / "images.npz",
        images=first.images,
        labels=first.labels,
        index=np.arange(len(first.labels), dtype=np.int32),
        class_names=np.array(CIFAR_10),
    )
    write_arrays(folder / "train-labels-all50000.npz", labels=np.concatenate([batch.labels for batch in train]))


def _batch(data: bytes) -> Batch:
    records = np.frombuffer(data, np.uint8).reshape(-1, RECORD_BYTES)
    planes = records[:, 1:].reshape(-1, 3, SIDE, SIDE)
    return Batch(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, 0].copy())


NETWORKS = ("resnet-110", "preresnet-110", "densenet-bc-L190-k40")
N_CLASSES = 10


def convert(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """A row has the class, ten counts of CIFAR-10H, and ten probabilities; the counts are left to CIFAR-10H."""
    tables = {name: np.loadtxt(files[f"{name}.csv"], delimiter=",", ndmin=2) for name in NETWORKS}
    probs = {name.replace("-", "_"): table[:, 1 + N_CLASSES :].astype(np.float32) for name, table in tables.items()}
    write_arrays(folder / "probs.npz", labels=tables[NETWORKS[0]][:, 0].astype(np.uint8), **probs)
