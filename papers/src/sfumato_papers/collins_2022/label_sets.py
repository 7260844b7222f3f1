"""The label sets that are compared: what CIFAR-10H and CIFAR-10S say about the same items.

`Relabelled` is the target that exchanges only the labels of these items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from jaxtyping import Int

from sfumato import SoftLabels
from sfumato.importers.importer import CIFAR_10
from sfumato.labeling import Labeler, SelectTopTwo, TopOneClamp, TopOneUniform, TopTwoClamp, TopTwoUniform
from sfumato.training.item_join import beliefs_pool
from sfumato.training.target_labels import FixedLabels, PooledLabels
from sfumato.training.targets import Target
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet, digest_of, one_hot
from sfumato_papers.collins_2022.elicitation import original_classes
from sfumato_papers.published_data import PublishedData, vote_counts


class Labelled:
    """What is known of the items whose labels are compared; runs keep its digest, and so know when it changes."""

    def __init__(self, name: str, training_set: TrainingSet) -> None:
        self.name, self.training_set = name, training_set
        arrays = [training_set.people] if training_set.people is not None else []
        arrays += [training_set.beliefs.rows, training_set.beliefs.starts] if training_set.beliefs is not None else []
        self.digest = digest_of(training_set.items, *arrays)

    def __repr__(self) -> str:
        return f"{self.name}, {self.training_set.n_items} items, {self.digest[:16]}"


@dataclass(frozen=True, eq=False)
class Relabelled:
    """What `target` makes of the items of `known`; of every other item, the class it came with.

    Only what is learned about some items differs between two of these, as where Collins et al. (2022) exchange the
    labels of 900 items among some 7,000.
    """

    target: Target
    known: Labelled

    name: ClassVar[str] = "relabelled"

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> PooledLabels:
        place = {item: row for row, item in enumerate(self.known.training_set.items)}
        own = np.array([place.get(item, -1) for item in training_set.items], np.int64)
        made = self.target.labels(self.known.training_set, rng)
        assert isinstance(made, FixedLabels | PooledLabels), f"{self.target.name} draws from no pool"
        rows = made.probs if isinstance(made, FixedLabels) else made.rows
        starts = np.arange(len(rows) + 1) if isinstance(made, FixedLabels) else made.starts
        sure = one_hot(training_set.need_original(self.name), training_set.n_classes)
        parts = [sure[i : i + 1] if k < 0 else rows[starts[k] : starts[k + 1]] for i, k in enumerate(own)]
        return PooledLabels.of(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))


RULES: dict[str, Callable[..., Labeler]] = {
    "T1, Unif": TopOneUniform,
    "T1, Clamp": TopOneClamp,
    "T2, Unif": TopTwoUniform,
    "T2, Clamp": TopTwoClamp,
    "Select Top 2 Only": SelectTopTwo,
}
"""Section 4.2's ways from an answer to a label."""
LABELERS = {name: rule(as_released=True) for name, rule in RULES.items()}
"""The same, as the released code goes them."""


LabelSets: TypeAlias = dict[str, Labelled]
"""By label set: each annotator's label of the items that are compared, and their mean."""


def label_sets(data: PublishedData, compared: Int[np.ndarray, "compared"]) -> LabelSets:
    original = original_classes(data)[compared]
    items = tuple(map(str, compared))
    pools = {"CIFAR-10H": votes_pool(data.cifar_10h, compared)}
    pools |= {name: beliefs_pool(by.label(data.cifar_10s, CIFAR_10), items, CIFAR_10) for name, by in LABELERS.items()}
    return {
        name: Labelled(name, TrainingSet(items, CIFAR_10, original, mean_of(pool), pool))
        for name, pool in pools.items()
    }


def votes_pool(labels: SoftLabels, numbers: Int[np.ndarray, "items"]) -> AnnotatorBeliefs:
    """CIFAR-10H's votes one by one; whose they are is not published with the counts, so each has a voter of its own."""
    counts = vote_counts(labels, [str(n) for n in numbers])
    item, chosen = np.nonzero(counts)
    rows_each = np.repeat(np.eye(len(labels.classes))[chosen], counts[item, chosen], axis=0)
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
    return AnnotatorBeliefs(rows_each, starts, np.arange(len(rows_each)), len(rows_each))


def mean_of(pool: AnnotatorBeliefs) -> np.ndarray:
    return np.asarray(np.add.reduceat(pool.rows, pool.starts[:-1]) / np.diff(pool.starts)[:, None])
