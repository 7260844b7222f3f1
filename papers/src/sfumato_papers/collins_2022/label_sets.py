"""The label sets that are compared: what CIFAR-10H and CIFAR-10S say of the same items, person by person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from sfumato.importers.importer import CIFAR_10
from sfumato.labeling import Labeler, SelectTopTwo, TopOneClamp, TopOneUniform, TopTwoClamp, TopTwoUniform
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet
from sfumato_papers.collins_2022.answers import original_classes
from sfumato_papers.collins_2022.relabeled_target import Labelled
from sfumato_papers.published_data import PublishedData

LABELERS: dict[str, Labeler] = {
    "T1, Unif": TopOneUniform(as_released=True),
    "T1, Clamp": TopOneClamp(as_released=True),
    "T2, Unif": TopTwoUniform(as_released=True),
    "T2, Clamp": TopTwoClamp(as_released=True),
    "Select Top 2 Only": SelectTopTwo(as_released=True),
}
"""Section 4.2's ways from an answer to a label, as the released code goes them."""


@dataclass(frozen=True, eq=False)
class LabelSets:
    """For every label set, each annotator's label of the items that are compared, and their mean."""

    labelled: dict[str, Labelled]

    @classmethod
    def of(cls, data: PublishedData, compared: Int[np.ndarray, "compared"]) -> LabelSets:
        original = original_classes(data)[compared]
        items = tuple(map(str, compared))
        pools = {"CIFAR-10H": votes_pool(data.cifar_10h, compared)}
        pools |= {name: beliefs_pool(by.label(data.cifar_10s, CIFAR_10), items) for name, by in LABELERS.items()}
        return cls(
            {
                name: Labelled(name, TrainingSet(items, CIFAR_10, original, mean_of(pool), pool))
                for name, pool in pools.items()
            }
        )


def votes_pool(labels: SoftLabels, numbers: Int[np.ndarray, "items"]) -> AnnotatorBeliefs:
    """CIFAR-10H's votes one by one; whose they are is not published with the counts, so each has a voter of its own."""
    assert labels.n_annotators is not None
    rows = labels.rows_of([str(n) for n in numbers])
    counts = np.rint(labels.probs[rows] * labels.n_annotators[rows][:, None]).astype(np.int64)
    item, chosen = np.nonzero(counts)
    rows_each = np.repeat(np.eye(len(labels.classes))[chosen], counts[item, chosen], axis=0)
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
    return AnnotatorBeliefs(rows_each, starts, np.arange(len(rows_each)), len(rows_each))


def beliefs_pool(beliefs: Beliefs, items: tuple[str, ...]) -> AnnotatorBeliefs:
    """Beliefs about `items`, item by item."""
    coded = beliefs.coded()
    place = {item: i for i, item in enumerate(items)}
    of_code = np.array([place.get(name, -1) for name in beliefs.item.names.to_pylist()], np.int64)
    item = of_code[coded.item]
    order = np.argsort(item, kind="stable")
    order = order[np.searchsorted(item[order], 0) :]
    starts = np.searchsorted(item[order], np.arange(len(items) + 1)).astype(np.int64)
    return AnnotatorBeliefs(coded.probs()[order], starts, coded.annotator[order].astype(np.int64), coded.n_annotators)


def mean_of(pool: AnnotatorBeliefs) -> np.ndarray:
    """Each item's mean label."""
    return np.asarray(np.add.reduceat(pool.rows, pool.starts[:-1]) / np.diff(pool.starts)[:, None])
