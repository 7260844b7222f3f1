"""What networks learn about images that were mixed once and judged by people; all others keep their class.

Class-pair mixing with the entropy-weighted loss (thesis, appendix C): one makes the labels, the other the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.training.mixing import ClassPair, EntropyWeighted, HumanMixtures, MixedBatch, MixtureSmoothing
from sfumato.training.target_labels import FixedLabels, PooledLabels
from sfumato.training.targets import Target
from sfumato.training.training_set import TrainingSet, digest_of, one_hot

SHUFFLE = 2023


class RowsOf:
    """The labels of each mixture by its name. No dataclass: the settings of a run say its digest, and not every row."""

    def __init__(self, mixtures: HumanMixtures, labels: FixedLabels | PooledLabels) -> None:
        if isinstance(labels, PooledLabels):
            rows, starts = labels.rows, labels.starts
        else:
            rows, starts = labels.mean(), np.arange(len(mixtures.items) + 1)
        self.digest = digest_of(mixtures.items, rows, starts)
        self._rows = {name: rows[starts[i] : starts[i + 1]] for i, name in enumerate(mixtures.items)}

    def of(self, item: str, otherwise: Float[np.ndarray, "one classes"]) -> Float[np.ndarray, "rows classes"]:
        return self._rows.get(item, otherwise)

    def __contains__(self, item: str) -> bool:
        return item in self._rows


@dataclass(frozen=True, eq=False)
class MixtureLabels:
    """One of a mixture's labels, drawn again at every access; an item that is no mixture has its original class."""

    name: str
    digest: str
    told: RowsOf

    @classmethod
    def of(cls, name: str, mixtures: HumanMixtures, labels: FixedLabels | PooledLabels) -> MixtureLabels:
        told = RowsOf(mixtures, labels)
        return cls(name, told.digest, told)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> PooledLabels:  # noqa: ARG002
        original = one_hot(training_set.need_original(self.name), training_set.n_classes).astype(np.float32)
        parts = [self.told.of(item, original[i : i + 1]) for i, item in enumerate(training_set.items)]
        starts = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
        return PooledLabels.of(np.concatenate(parts), starts)


@dataclass(frozen=True, eq=False)
class RandomOnMixtures:
    """One class for each mixture, any alike, drawn once a seed; all other items keep their class."""

    digest: str
    told: RowsOf

    name: ClassVar[str] = "random"

    @classmethod
    def of(cls, mixtures: HumanMixtures) -> RandomOnMixtures:
        told = RowsOf(mixtures, mixtures.uniform())
        return cls(told.digest, told)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:
        drawn = rng.integers(training_set.n_classes, size=training_set.n_items)
        is_mixture = np.array([item in self.told for item in training_set.items])
        return FixedLabels.of(
            one_hot(np.where(is_mixture, drawn, training_set.need_original(self.name)), training_set.n_classes)
        )


def labelings(mixtures: HumanMixtures) -> dict[str, Target]:
    """Every labeling of the augmenting set that is compared (thesis, tables 4.1 to 4.3), and two controls of ours.

    `generating-smoothed`: mixup's labels, each smoothed as much as people's confidence does on average.
    `shuffled-confidence`: what each person saw, smoothed by the confidence of another judgment.
    """
    told = mixtures.judgments
    share = float(MixtureSmoothing().of(told.confidence).mean())
    shuffled = replace(told, confidence=np.random.default_rng(SHUFFLE).permutation(told.confidence))
    labels: dict[str, FixedLabels | PooledLabels] = {
        "uniform": mixtures.uniform(),
        "generating": mixtures.generating(),
        "averaged": mixtures.averaged(),
        "by-annotator": mixtures.by_annotator(),
        "averaged-confidence": mixtures.averaged(MixtureSmoothing()),
        "by-annotator-confidence": mixtures.by_annotator(MixtureSmoothing()),
        "generating-smoothed": FixedLabels.of((1 - share) * mixtures.generating().mean() + share / mixtures.n_classes),
        "shuffled-confidence": replace(mixtures, judgments=shuffled).by_annotator(MixtureSmoothing()),
    }
    found: dict[str, Target] = {name: MixtureLabels.of(name, mixtures, each) for name, each in labels.items()}
    return found | {"random": RandomOnMixtures.of(mixtures)}


@dataclass(frozen=True)
class ClassPairWeighted:
    """Labels in the proportion that people see, and a loss that spares a network which doubts.

    Tensors pass through here unseen: what they are is said by the two mixings.
    """

    pairs: ClassPair
    weighted: EntropyWeighted = field(default_factory=EntropyWeighted)

    name: ClassVar[str] = "class-pair-weighted"

    def mixed(self, x: Any, y: Any, draw: Any) -> MixedBatch:
        return self.pairs.mixed(x, y, draw)

    def losses(self, logits: Any, mixed: MixedBatch) -> Any:
        return self.weighted.losses(logits, mixed)
