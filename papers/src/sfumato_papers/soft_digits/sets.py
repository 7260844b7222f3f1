"""Audited sets: pictures with every label the paper compares.

The two parts of soft-digits where its file is given; otherwise two substitutes from published votes, whose votes are
read three at a time as the answers of one person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import Annotations, Beliefs, Doubt, Inputs, SoftLabels
from sfumato.aggregation import Mean
from sfumato.importers.fashion_mnist_h import FASHION_MNIST
from sfumato.importers.importer import CIFAR_10
from sfumato.importers.soft_digits import DIGITS, SoftDigitsImporter, read_columns
from sfumato.labeling import PlausibleEqual, PlausibleWeighted, plausible_doubt
from sfumato.tables.errors import BadTable, ErrorLocation, wrong_shape
from sfumato_papers.paper import Rerun, Scale, once
from sfumato_papers.published_data import vote_counts

PANEL = 3
"""Votes that represent one person."""
ANNOTATIONS_PER_IMAGE = {3: 26, 4: 341, 5: 849, 6: 2620, 7: 1399, 8: 271, 9: 14, 10: 10}
"""How many pictures of soft-digits have this number of answers (Table 6)."""
N_ANNOTATIONS = np.repeat(list(ANNOTATIONS_PER_IMAGE), list(ANNOTATIONS_PER_IMAGE.values()))
"""The number of answers of each picture."""
KIND = "plausible/1"


def panel_answers(votes: SoftLabels, items: tuple[str, ...], rng: np.random.Generator) -> Annotations:
    """Answers as soft-digits asked for them, made of the votes on `items`, none of which is used twice.

    Three votes are one person. The class that two or three of them name is a yes; a class named once is unsure, and so
    are all three where they differ; the rest is no. With unsure counting half, a panel's label is then the share of its
    votes (2 to 1 is 1 to 1/2), and so `weighted` is the share of all votes drawn; `equal` forgets which of a panel's
    classes was named twice. Each item has as many panels as a random picture of soft-digits has answers.
    """
    counts = vote_counts(votes, items)
    n_panels = np.minimum(rng.choice(N_ANNOTATIONS, len(items)), counts.sum(axis=1) // PANEL)
    rows: dict[str, list[str]] = {"item": [], "annotator": [], "payload": []}
    for item, own, n in zip(items, counts, n_panels.tolist(), strict=True):
        drawn = rng.permutation(np.repeat(np.arange(len(own)), own))[: n * PANEL].reshape(n, PANEL)
        rows["item"] += [item] * n
        rows["annotator"] += [str(k) for k in range(n)]
        for panel in drawn:
            times = zip(votes.classes, np.bincount(panel, minlength=len(own)).tolist(), strict=True)
            rows["payload"].append(json.dumps({c: "yes" if k > 1 else "unsure" if k else "no" for c, k in times}))
    rows["kind"] = [KIND] * len(rows["item"])
    return Annotations.from_arrow(pa.table(rows), votes.classes)


N_LEARNT = {Scale.SMALL: 700, Scale.CPU: 2131, Scale.FULL: 2131}
N_VALIDATION = {Scale.SMALL: 150, Scale.CPU: 457, Scale.FULL: 457}
"""As many as in the MNIST part of soft-digits, but for the small scale."""
N_TESTED = {Scale.SMALL: 1000, Scale.CPU: 1500, Scale.FULL: 3000}
FIRST_TESTED = 7000
SEED = 0
NO_HLV, HLV = "NoHLV", "HLV"
MNIST, MUKHOTI = "MNIST", "Mukhoti"
"""The two parts of soft-digits."""
ON_ORIGINAL, ON_PEOPLE = "original labels", "re-annotated labels"
"""What predictions are scored on."""
CIFAR_10H, FASHION_MNIST_H = "CIFAR-10H", "Fashion-MNIST-H"


@dataclass(frozen=True, eq=False)
class Audited:
    """A set of pictures, the labels that are compared on it, and which of them are learned from and tested."""

    name: str
    inputs: Inputs
    """With the original class of each item; of model-made labels, the most probable one."""
    weighted: SoftLabels
    equal: SoftLabels
    doubt: Doubt
    synthetic: SoftLabels | None
    """What a model says of the pictures."""
    learnt: tuple[str, ...]
    """Items to learn from; the last `n_validation` of them are left out where a training is of a fixed length."""
    n_validation: int
    tested: tuple[str, ...]
    is_synthetic: bool = False
    """Whether the original labels are the model-made ones, as in the Mukhoti part."""

    @cached_property
    def original(self) -> SoftLabels:
        """The class each item came with, over the classes of people's labels."""
        assert self.inputs.labels is not None
        return SoftLabels.one_hot(self.inputs.items, self.inputs.labels, self.weighted.classes)

    @cached_property
    def stratum(self) -> Mapping[str, str]:
        """HLV where people's label is not one-hot: human label variation."""
        agreed = self.weighted.probs.max(axis=1) >= 1 - 1e-9
        items = self.weighted.items.to_pylist()
        return {item: NO_HLV if sure else HLV for item, sure in zip(items, agreed.tolist(), strict=True)}

    def share_of_hlv(self) -> float:
        return float(np.mean([each == HLV for each in self.stratum.values()]))

    def agreement(self) -> float:
        """The share of items whose first choice of people's is the original class; ties count as much as they would."""
        original = self.original.probs[self.original.rows_of(self.weighted.items)]
        first = self.weighted.probs >= self.weighted.probs.max(axis=1, keepdims=True) - 1e-9
        return float(((first * original).sum(axis=1) / first.sum(axis=1)).mean())

    def equal_beliefs(self) -> Beliefs:
        """The equal labels as one belief per item, which a de-aggregated training always draws."""
        items = self.equal.items.to_pylist()
        return Beliefs.from_probs(
            item=items, annotator=["all"] * len(items), probs=self.equal.probs, classes=self.equal.classes
        )


@once
def stand_ins(rerun: Rerun) -> tuple[Audited, Audited]:
    """Fashion-MNIST-H and CIFAR-10H, read as soft-digits was asked."""
    data = rerun.data
    return (
        _stand_in(rerun, CIFAR_10H, data.cifar_10h, ("cifar10-test", "images.npz"), CIFAR_10),
        _stand_in(rerun, FASHION_MNIST_H, data.fashion_mnist_h, ("fashion-mnist", "test.npz"), FASHION_MNIST),
    )


def _stand_in(
    rerun: Rerun, name: str, votes: SoftLabels, pictures: tuple[str, str], classes: tuple[str, ...]
) -> Audited:
    n_validation = rerun.scale.of(N_VALIDATION)
    n_learnt = rerun.scale.of(N_LEARNT) + n_validation
    rows = np.r_[:n_learnt, FIRST_TESTED : FIRST_TESTED + rerun.scale.of(N_TESTED)]
    inputs = rerun.data.pictures(*pictures, classes=classes).take(rows)
    items = inputs.items
    answers = panel_answers(votes, items, np.random.default_rng(SEED))
    weighted_beliefs = PlausibleWeighted().label(answers)
    weighted = Mean().aggregate(weighted_beliefs).labels
    equal = Mean().aggregate(PlausibleEqual().label(answers)).labels
    doubt = plausible_doubt(answers, weighted_beliefs)
    return Audited(name, inputs, weighted, equal, doubt, None, items[:n_learnt], n_validation, items[n_learnt:])


NEEDS = "the soft-digits file"
SIDE = 28
SOURCES = {MNIST: "mnist", MUKHOTI: "mukhoti"}
"""The paper's names of the two parts, and the file's."""


@once
def soft_digits(rerun: Rerun) -> tuple[Audited, ...]:
    """The MNIST and the Mukhoti part, where the data has a folder `soft-digits` with the file; nothing where not."""
    folder = rerun.data.folder / "soft-digits"
    found = sorted(path for ending in ("*.parquet", "*.npz") for path in folder.glob(ending))
    return tuple(_part(found[0], name, source) for name, source in SOURCES.items()) if found else ()


def _part(path: Path, name: str, source: str) -> Audited:
    imported = SoftDigitsImporter(source=source).read(path)
    weighted, original = imported.table, imported.original
    assert isinstance(weighted, SoftLabels)
    assert imported.doubt is not None
    if original is None:
        raise _no_column("original_labels", path, "the label each picture came with")
    items = tuple(weighted.items.to_pylist())
    columns = read_columns(path, images=True)
    if missing := [name for name in ("images", "source", "split") if name not in columns]:
        raise _no_column(missing[0], path)
    pictures, sources, splits = columns["images"], columns["source"], columns["split"]
    own = np.flatnonzero(np.array([str(each) for each in sources]) == source)
    images = np.stack([_picture(path, int(row), pictures[row]) for row in own])
    split = [str(splits[row]) for row in own]
    first = original.probs.argmax(axis=1)
    is_synthetic = bool((original.probs.max(axis=1) < 1).any())
    by_split = {each: tuple(items[k] for k, s in enumerate(split) if s == each) for each in ("train", "val", "test")}
    equal = SoftDigitsImporter(column="soft_label_yes_unc_equal", source=source).read(path).table
    assert isinstance(equal, SoftLabels)
    inputs = Inputs(items, images, labels=tuple(DIGITS[k] for k in first))
    synthetic = original if is_synthetic else None
    learnt, n_validation = (*by_split["train"], *by_split["val"]), len(by_split["val"])
    doubt, tested = imported.doubt, by_split["test"]
    return Audited(name, inputs, weighted, equal, doubt, synthetic, learnt, n_validation, tested, is_synthetic)


def _no_column(name: str, path: Path, expected: str = "the published columns") -> BadTable:
    return BadTable(f"no {name}", expected, "is this the published file?", "missing-column", path)


def _picture(path: Path, row: int, value: Any) -> np.ndarray:
    """28 x 28 gray values: an array of them, or their bytes; fractions up to 1 are taken for shares of 255."""
    flat = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else np.asarray(value).reshape(-1)
    if flat.size != SIDE * SIDE or flat.dtype.kind not in "iuf" or not ((flat >= 0) & (flat <= 255)).all():
        raise wrong_shape(
            f"a picture of {flat.size} values",
            f"{SIDE} x {SIDE} gray values from 0 to 255",
            "give pictures as arrays, or as their bytes",
            ErrorLocation(str(path), row=row, column="images"),
        )
    if flat.dtype.kind == "f" and flat.max() <= 1:
        flat = np.rint(flat * 255)
    return flat.reshape(SIDE, SIDE).astype(np.uint8)
