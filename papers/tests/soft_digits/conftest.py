"""A rerun over the published data, and a small file in the columns of soft-digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.published_data import PublishedData

N_TRAIN, N_VAL, N_TEST = 60, 20, 80
CLASSES = 11


@pytest.fixture
def rerun(published: Path, tmp_path: Path) -> Rerun:
    return Rerun(PublishedData(published), Scale.SMALL, tmp_path / "runs", processes=1)


@pytest.fixture
def columns() -> dict[str, np.ndarray]:
    """Two parts of 160 pictures: bright squares whose place is their class, every second one in doubt.

    Of each part, 5 doubtful pictures are rather the next class than the one they came with.
    """
    rng = np.random.default_rng(0)
    n = N_TRAIN + N_VAL + N_TEST
    images, rows, original, source = [], [], [], []
    for part in ("mnist", "mukhoti"):
        for k in range(n):
            digit = k % 10
            picture = rng.integers(0, 40, (28, 28))
            picture[4 + 2 * digit : 8 + 2 * digit, 4:24] = 220
            images.append(picture.astype(np.uint8))
            label = np.zeros(CLASSES)
            label[digit] = 1.0 if k % 4 < 2 else 0.4 if k in (2, 22, 42, 62, 82) else 0.75
            label[(digit + 1) % 10] += 1 - label.sum()
            rows.append(label)
            one = np.eye(10)[digit]
            original.append(one if part == "mnist" else 0.9 * one + 0.1 / 10)
            source.append(part)
    soft = np.array(rows)
    doubt = 1 - soft.max(axis=1)
    return {
        "images": np.array(images),
        "indices": np.tile(np.arange(n), 2),
        "source": np.array(source),
        "split": np.tile(np.repeat(["train", "val", "test"], [N_TRAIN, N_VAL, N_TEST]), 2),
        "soft_label": soft,
        "soft_label_yes_unc_equal": np.where(soft > 0, 1, 0) / (soft > 0).sum(axis=1, keepdims=True),
        "soft_label_argmax": np.eye(CLASSES)[soft.argmax(axis=1)],
        "human_uncert_mean": doubt / 10,
        "pct_ann_unsure": doubt,
        "original_labels": np.array(original),
    }


def rerun_with(columns: dict[str, np.ndarray], folder: Path) -> Rerun:
    """A rerun whose data are the soft-digits file alone."""
    place = folder / "data" / "soft-digits"
    place.mkdir(parents=True)
    np.savez(place / "soft-digits.npz", **columns)
    return Rerun(PublishedData(folder / "data"), Scale.SMALL, folder / "runs", processes=1)


@pytest.fixture
def made() -> object:
    return rerun_with
