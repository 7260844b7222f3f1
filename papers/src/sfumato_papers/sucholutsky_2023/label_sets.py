"""The label sets of Section 7.1 that are public, what replaces others, and a target that learns any of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato import Annotations, SoftLabels
from sfumato.importers import Cifar10SImporter
from sfumato.importers.importer import CIFAR_10
from sfumato.labeling import TopTwoClamp
from sfumato.labeling.transforms import Infill, Smooth, Sparsify, Temper
from sfumato.training.target_labels import FixedLabels
from sfumato.training.targets.controls import cycles
from sfumato.training.training_set import TrainingSet, digest_of
from sfumato_papers.paper import Rerun, once
from sfumato_papers.published_data import PublishedData, original_labels

HARD, S_HARD, H, S_DENSE = "CIFAR-10", "CIFAR-10S+hard", "CIFAR-10H", "CIFAR-10S+dense"
LOW, DS, HIGH, T = "CIFAR-10LS (Low)", "CIFAR-10DS", "CIFAR-10LS (High)", "CIFAR-10T"
PAPER_SETS = (HARD, S_HARD, H, S_DENSE, LOW, DS, HIGH, T)
"""In the order of Table 1."""
NOT_PUBLIC = {
    S_DENSE: "CIFAR-10DS, of which the in-filled labels are made",
    DS: "CIFAR-10DS: sliders over all ten classes",
    T: "CIFAR-10T: typicality ratings",
}
S_TOP_TWO, S_ALL = "CIFAR-10S+10H, two classes", "CIFAR-10S+10H, all classes"
"""Stand in for CIFAR-10S+dense: the same in-filling, from CIFAR-10H in place of CIFAR-10DS."""
SHUFFLED = "CIFAR-10H, shuffled within class"
"""The control that the paper lacks: each image has the label of another of its class."""
TEMPERED = {2.0: "CIFAR-10H, temperature 2", 4.0: "CIFAR-10H, temperature 4"}
SMOOTHED = "CIFAR-10H, half uniform"
"""Softer than any label set of the paper, to see the other side of a U."""
BY_SOFTNESS = (HARD, H, *TEMPERED.values(), SMOOTHED)
"""One set of people's labels from hard to softest: the axis of a U."""
LOW_MASS, HIGH_MASS = 0.05, 0.2
"""Mass on the nine other classes, as Section 7.1 gives it."""


@once
def label_sets(rerun: Rerun) -> dict[str, SoftLabels]:
    """All label sets that can be had, over the 10,000 test pictures of CIFAR-10, under the paper's names and ours."""
    data = rerun.data
    people = replace(data.cifar_10h, n_annotators=None)
    hard, elicited = original_labels(data.cifar_10_test), cifar_10s(data)
    items = people.items

    def filled(filling: SoftLabels) -> SoftLabels:
        made = Infill(filling=filling).apply(elicited)
        return SoftLabels(items, CIFAR_10, made.probs[made.rows_of(items)], None)

    def smoothed(mass: float) -> SoftLabels:
        """`mass` on the nine other classes: `Smooth` gives the tenth its part too."""
        made = Smooth(mass * len(CIFAR_10) / (len(CIFAR_10) - 1)).apply(hard)
        assert isinstance(made, SoftLabels)
        return made

    group = hard.probs[hard.rows_of(items)].argmax(axis=1)
    two = Sparsify(2).apply(people)
    assert isinstance(two, SoftLabels)
    found = {
        HARD: hard,
        S_HARD: filled(hard),
        H: people,
        S_TOP_TWO: filled(two),
        S_ALL: filled(people),
        LOW: smoothed(LOW_MASS),
        HIGH: smoothed(HIGH_MASS),
        SHUFFLED: replace(people, probs=people.probs[cycles(group, np.random.default_rng(2023))]),
        SMOOTHED: Smooth(0.5).apply(people),
    }
    found |= {name: Temper(temperature).apply(people) for temperature, name in TEMPERED.items()}
    return {name: each for name, each in found.items() if isinstance(each, SoftLabels)}


def cifar_10s(data: PublishedData) -> SoftLabels:
    """The mean of the released labels of each of the 1,000 images: two classes, clamped, a tenth redistributed.

    All 6,723 released labels, repeats among them: so their mean entropy comes to what the paper says.
    """
    answers = data.table(Cifar10SImporter(as_released=True), Annotations, "cifar10s")
    beliefs = TopTwoClamp(as_released=True).label(answers, CIFAR_10)
    names, codes = beliefs.item.names, beliefs.item.codes.astype(np.int64)
    sums = np.zeros((len(names), len(CIFAR_10)))
    np.add.at(sums, codes, beliefs.probs)
    some = sums.sum(axis=1) > 0
    return SoftLabels(
        names.filter(pa.array(some)), CIFAR_10, sums[some] / sums[some].sum(axis=1, keepdims=True), n_annotators=None
    )


class LabelTable:
    """Labels by item; runs keep its digest, and so know when they change."""

    def __init__(self, labels: SoftLabels) -> None:
        self.labels = labels
        self.digest = digest_of(labels.items.to_pylist(), np.asarray(labels.probs, np.float64))

    def __repr__(self) -> str:
        return f"{len(self.labels):,} labels, {self.digest[:16]}"

    def of(self, items: tuple[str, ...]) -> Float[np.ndarray, "items classes"]:
        return np.asarray(self.labels.probs[self.labels.rows_of(items)])


@dataclass(frozen=True, eq=False)
class LabelSet:
    """A whole set of labels as a target, so that sets that differ in more than one source are trained side by side."""

    table: LabelTable

    name: ClassVar[str] = "label-set"

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(self.table.of(training_set.items))
