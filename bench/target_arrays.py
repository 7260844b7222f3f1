"""Published label sets, and the labels of every target as arrays: for models that are fitted without batches."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from sfumato.training.targets import target_named
from sfumato.training.training_set import TrainingSet

DATA = Path(os.environ.get("SFUMATO_DATA", "data"))
TARGETS = ("hard", "majority", "soft", "sampled", "class-level", "smoothing", "shuffled", "entropy-matched")
RANDOM = ("sampled", "shuffled")
"""Targets whose labels differ between seeds."""


@dataclass(frozen=True, eq=False)
class LabelSet:
    """People's labels and the original class of every item, and what models predict for them."""

    name: str
    people: np.ndarray
    original: np.ndarray
    predictions: dict[str, np.ndarray]
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    """Labels of further targets."""

    @property
    def hard(self) -> np.ndarray:
        return np.eye(self.people.shape[1])[self.original]

    def folds(self, k: int = 10, seed: int = 0) -> np.ndarray:
        """The fold of each item, stratified by original class."""
        order = np.random.default_rng(seed).permutation(len(self.original))
        order = order[np.argsort(self.original[order], kind="stable")]
        fold = np.empty(len(order), np.int64)
        fold[order] = np.arange(len(order)) % k
        return fold

    def labels(self, name: str, rows: np.ndarray, seed: int = 0) -> np.ndarray:
        """The labels of a target, made from the items `rows` only."""
        if name in self.extra:
            return self.extra[name][rows]
        items, classes = tuple(str(row) for row in rows), tuple(str(k) for k in range(self.people.shape[1]))
        given = TrainingSet(items, classes, self.original[rows], self.people[rows])
        rng = np.random.default_rng(seed)
        made = target_named(name, {}).labels(given, rng)
        if name == "sampled":
            drawn = made.at(torch.arange(len(rows)), torch.from_numpy(rng.random(len(rows))))
            return drawn.numpy().astype(np.float64)
        probs = made.mean().astype(np.float64)
        return probs / probs.sum(axis=1, keepdims=True)


def cifar_10h() -> LabelSet:
    """CIFAR-10H, with the released predictions of three networks."""
    counts = np.load(DATA / "cifar10h" / "counts.npz")["counts"].astype(np.float64)
    with np.load(DATA / "cifar10-model-predictions" / "probs.npz") as released:
        names = {
            "ResNet-110": "resnet_110",
            "PreResNet-110": "preresnet_110",
            "DenseNet-BC-190-40": "densenet_bc_L190_k40",
        }
        predictions = {name: released[key].astype(np.float64) for name, key in names.items()}
        original = released["labels"].astype(np.int64)
    predictions = {name: each / each.sum(axis=1, keepdims=True) for name, each in predictions.items()}
    return LabelSet("CIFAR-10H", counts / counts.sum(axis=1, keepdims=True), original, predictions)


def chaosnli_snli() -> LabelSet:
    """The SNLI part of ChaosNLI, with the logits of three RoBERTa-base models."""
    folder = DATA / "chaosnli-snli"
    pairs = _lines(folder / "chaosNLI_snli.jsonl.gz")
    counts = np.array([pair["label_count"] for pair in pairs], np.float64)
    original = np.array(["enc".index(pair["old_label"]) for pair in pairs])
    five = np.array([[[vote[0] for vote in pair["old_labels"]].count(each) for each in "enc"] for pair in pairs])
    predictions = {}
    for seed in range(3):
        logits = {line["uid"]: line["logits"] for line in _lines(folder / f"roberta-base-{seed}.jsonl.gz")}
        # Released in the order entailment, contradiction, neutral.
        predictions[f"RoBERTa-base, seed {seed}"] = np.array([logits[pair["uid"]] for pair in pairs])[:, [0, 2, 1]]
    extra = {"five original votes": five / five.sum(axis=1, keepdims=True)}
    return LabelSet("ChaosNLI-SNLI", counts / counts.sum(axis=1, keepdims=True), original, predictions, extra)


def _lines(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
