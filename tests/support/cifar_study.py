"""A study with real pictures: those of CIFAR-10's test set with the highest uncertainty, and as many others.

Simulated annotators answer according to CIFAR-10H (Peterson et al. 2019).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from sfumato.tables.doubt import entropy
from sfumato.tables.soft_labels import SoftLabels

N_EACH = 60
N_CHECKS = 3
STUDY = """\
title = "What is in the picture?"
name = "pictures"
classes = {classes}
[items]
npz = "images.npz"
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
"""
CHECK = """\
[[checks]]
item = "{item}"
classes = ["{name}"]
at_least = 0.6
"""


def write_cifar_study(folder: Path) -> Path:
    """Write the study and its truth to `folder`; the pictures come from SFUMATO_DATA."""
    data = Path(os.environ["SFUMATO_DATA"])
    folder.mkdir(parents=True)
    with np.load(data / "cifar10h" / "counts.npz") as counted:
        counts, labels = counted["counts"].astype(float), counted["labels"]
        classes = [str(name) for name in counted["class_names"]]
    with np.load(data / "cifar10-test" / "images.npz") as pictures:
        images = pictures["images"]
    shares = counts / counts.sum(axis=1, keepdims=True)
    by_entropy = np.argsort(-entropy(shares), kind="stable")
    others = np.random.default_rng(0).choice(by_entropy[2000:], N_EACH, replace=False)
    chosen = np.sort(np.concatenate([by_entropy[:N_EACH], others]))
    items = [f"{number:04d}" for number in chosen]
    np.savez_compressed(folder / "images.npz", images=images[chosen], items=np.array(items))
    SoftLabels.from_numpy(items, shares[chosen], classes, 0).write(folder / "truth.parquet")
    clear = [number for number in chosen if shares[number].max() == 1][:N_CHECKS]
    checks = [CHECK.format(item=f"{number:04d}", name=classes[labels[number]]) for number in clear]
    (folder / "study.toml").write_text(STUDY.format(classes=classes) + "".join(checks))
    return folder
