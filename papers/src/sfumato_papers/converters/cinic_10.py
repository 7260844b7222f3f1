"""CINIC-10: the 200 pictures per class that its page shows, cut out of the sheets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from sfumato.importers.importer import CIFAR_10
from sfumato.tables.errors import MissingExtra
from sfumato_papers.converters.cifar_10 import ARCHIVE, SIDE, TEST, TRAIN, batches
from sfumato_papers.converters.released_files import write_arrays

GUTTER = 1
"""White pixels before, between and after the pictures of a sheet."""


def convert(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """The pictures with their classes, and which of them CIFAR-10 has too: CINIC-10 was made of it and of ImageNet.

    What is in CIFAR-10 is no shifted test set for a model that learned from it.
    """
    sheets = [_cut(_pixels(files[f"cinic-{name}.png"])) for name in CIFAR_10]
    images = np.concatenate(sheets)
    known = _in_cifar_10(files[ARCHIVE])
    found = [known.get(image.tobytes(), ("", -1)) for image in images]
    index = np.array([number for _, number in found], np.int32)
    write_arrays(
        folder / "images.npz",
        images=images,
        labels=np.repeat(np.arange(len(CIFAR_10), dtype=np.uint8), [len(sheet) for sheet in sheets]),
        in_cifar10=index >= 0,
        cifar10_split=np.array([split for split, _ in found], dtype="U5"),
        cifar10_index=index,
        class_names=np.array(CIFAR_10),
    )


def _cut(sheet: UInt8[np.ndarray, "height width 3"]) -> UInt8[np.ndarray, "items 32 32 3"]:
    """The pictures of a sheet, row by row."""
    step = SIDE + GUTTER
    rows, columns = (sheet.shape[0] - GUTTER) // step, (sheet.shape[1] - GUTTER) // step
    tiles = sheet[GUTTER:, GUTTER:][: rows * step, : columns * step].reshape(rows, step, columns, step, 3)
    return np.ascontiguousarray(tiles[:, :SIDE, :, :SIDE].transpose(0, 2, 1, 3, 4)).reshape(-1, SIDE, SIDE, 3)


def _in_cifar_10(archive: Path) -> dict[bytes, tuple[str, int]]:
    """Every picture of CIFAR-10, with its split and its number there; the first, where one stands twice."""
    *train, test = batches(archive, *TRAIN, TEST)
    known: dict[bytes, tuple[str, int]] = {}
    for split, parts in (("train", train), ("test", [test])):
        for number, image in enumerate(image for batch in parts for image in batch.images):
            known.setdefault(image.tobytes(), (split, number))
    return known


def _pixels(path: Path) -> UInt8[np.ndarray, "height width 3"]:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtra(
            "found no Pillow",
            expected="the package that reads pictures, for the sheets of CINIC-10",
            fix='pip install "sfumato[train]"',
            code="missing-extra",
        ) from error
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
