"""Audited sets: pictures with every label the paper compares; here two substitutes, made from published votes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.aggregation import Mean
from sfumato.importers.fashion_mnist_h import FASHION_MNIST
from sfumato.importers.importer import CIFAR_10
from sfumato.labeling.plausible_labelers import PlausibleEqual, PlausibleWeighted, plausible_doubt
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import Doubt
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.soft_digits.panels import panel_answers

N_LEARNT = {Scale.SMALL: 700, Scale.CPU: 2131, Scale.FULL: 2131}
N_VALIDATION = {Scale.SMALL: 150, Scale.CPU: 457, Scale.FULL: 457}
"""As many as in the MNIST part of soft-digits, but for the small scale."""
N_TESTED = {Scale.SMALL: 1000, Scale.CPU: 1500, Scale.FULL: 3000}
FIRST_TESTED = 7000
SEED = 0
NO_HLV, HLV = "NoHLV", "HLV"
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


def stand_ins(rerun: Rerun) -> tuple[Audited, Audited]:
    """Fashion-MNIST-H and CIFAR-10H, read as soft-digits was asked."""
    return rerun.once(
        "soft-digits stand-ins",
        lambda: (
            _stand_in(rerun, CIFAR_10H, rerun.data.cifar_10h, ("cifar10-test", "images.npz"), CIFAR_10),
            _stand_in(rerun, FASHION_MNIST_H, rerun.data.fashion_mnist_h, ("fashion-mnist", "test.npz"), FASHION_MNIST),
        ),
    )


def _stand_in(
    rerun: Rerun, name: str, votes: SoftLabels, pictures: tuple[str, str], classes: tuple[str, ...]
) -> Audited:
    n_validation = rerun.scale.of(N_VALIDATION)
    n_learnt = rerun.scale.of(N_LEARNT) + n_validation
    rows = [*range(n_learnt), *range(FIRST_TESTED, FIRST_TESTED + rerun.scale.of(N_TESTED))]
    whole = rerun.data.pictures(*pictures, classes=classes)
    assert whole.images is not None
    assert whole.labels is not None
    items = tuple(whole.items[row] for row in rows)
    answers = panel_answers(votes, items, np.random.default_rng(SEED))
    weighted_beliefs = PlausibleWeighted().label(answers)
    weighted = Mean().aggregate(weighted_beliefs).labels
    inputs = Inputs(items, whole.images[rows], labels=tuple(whole.labels[row] for row in rows))
    return Audited(
        name,
        inputs,
        weighted,
        Mean().aggregate(PlausibleEqual().label(answers)).labels,
        plausible_doubt(answers, weighted_beliefs),
        None,
        items[:n_learnt],
        n_validation,
        items[n_learnt:],
    )
