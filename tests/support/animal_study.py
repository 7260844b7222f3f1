"""A study with drawn pictures: heads from cat to dog, and what simulated annotators believe about them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from drawn_animals import draw_animal

from sfumato.tables.soft_labels import SoftLabels

CLASSES = ("cat", "dog", "fox", "rabbit")
N_ITEMS = 60
STUDY = """\
title = "What is in the picture?"
name = "pictures"
classes = ["cat", "dog", "fox", "rabbit"]
[items]
folder = "images"
[question]
kind = "tokens"
[pages]
instructions = "Say what you see, and **how sure** you are."
[people]
answers_per_item = 10
batch_size = 20
repeats = 3
[pay]
amount = 1.5
currency = "GBP"
minutes = 6
[[checks]]
item = "head-00"
classes = ["cat"]
at_least = 0.6
[[checks]]
item = "head-59"
classes = ["dog"]
at_least = 0.6
"""


def write_animal_study(folder: Path) -> Path:
    """Write the study, its pictures, and its truth as `truth.parquet` to `folder`."""
    dogness = np.linspace(0, 1, N_ITEMS)
    items = [f"head-{number:02d}" for number in range(N_ITEMS)]
    for item, share in zip(items, dogness, strict=True):
        # The most similar heads are blurred most, so that people are unsure about them.
        draw_animal(folder / "images" / f"{item}.png", float(share), blur=1.0 + 8 * float(share * (1 - share)))
    dog = 1 / (1 + np.exp(-12 * (dogness - 0.5)))
    others = 0.3 * dogness * (1 - dogness)
    truth = np.stack([(1 - dog) * (1 - 2 * others), dog * (1 - 2 * others), others, others], axis=1)
    SoftLabels.from_numpy(items, truth, CLASSES, 0).write(folder / "truth.parquet")
    (folder / "study.toml").write_text(STUDY)
    return folder
