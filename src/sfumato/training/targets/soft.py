"""Targets from people's distributions: soft, sampled, deaggregated, tempered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.setting_checks import above_0, at_least
from sfumato.training.target_labels import FixedLabels, PooledLabels, SampledLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class SoftTarget:
    """People's distribution over the classes (Peterson et al. 2019).

    Needs enough annotators per item: the distribution of a few is mostly noise. To find out whether the uncertainty of
    single items helps, compare with `class-level` and `shuffled`; whether uncertainty helps at all, with
    `entropy-matched`.
    """

    name: ClassVar[str] = "soft"
    sources: ClassVar[tuple[str, ...]] = ("people",)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(training_set.need_people(self.name))


@dataclass(frozen=True)
class SampledTarget:
    """At every access a class sampled from people's distribution (Peterson et al. 2019).

    The expected loss is that of `soft`, because cross-entropy is linear in the label; the gradient is noisier. Prefer
    `soft` unless you study the noise.
    """

    name: ClassVar[str] = "sampled"
    sources: ClassVar[tuple[str, ...]] = ("people",)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> SampledLabels:  # noqa: ARG002
        return SampledLabels.of(training_set.need_people(self.name))


@dataclass(frozen=True)
class DeaggregatedTarget:
    """At every access the belief of one annotator of the item, sampled uniformly (Collins et al. 2022).

    With `annotators` = M, only M annotators per item are used, sampled once; an item with fewer keeps all. Every item
    needs a belief. On average the label is the mean belief, so compare with `soft` of the same annotators.
    """

    annotators: int | None = None

    name: ClassVar[str] = "deaggregated"
    sources: ClassVar[tuple[str, ...]] = ("beliefs",)

    def __post_init__(self) -> None:
        if self.annotators is not None:
            at_least("annotators", self.annotators, 1)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> PooledLabels:
        pool = training_set.need_beliefs(self.name)
        if self.annotators is None:
            return PooledLabels.of(pool.rows, pool.starts)
        kept = _sampled_rows(pool.starts, self.annotators, rng)
        counts = np.minimum(np.diff(pool.starts), self.annotators)
        return PooledLabels.of(pool.rows[kept], np.concatenate(([0], np.cumsum(counts))))


def _sampled_rows(starts: Int[np.ndarray, "bounds"], at_most: int, rng: np.random.Generator) -> Int[np.ndarray, "kept"]:
    """At most `at_most` rows of every item, sampled uniformly, in their original order."""
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    shuffled = np.lexsort((rng.random(len(item)), item))
    # Rows are sorted by item, so that the position within an item is the row number minus the item's start.
    place = np.arange(len(item)) - starts[:-1][item]
    return np.sort(shuffled[place < at_most])


@dataclass(frozen=True)
class TemperedTarget:
    """`q ** (1 / temperature)`, normalized, for people's distribution q: above 1 flatter, below 1 sharper, 1 is `soft`.

    The order of the classes does not change, and zeros stay zeros. Towards 0 all probability goes to the most probable
    classes. Use it to find out whether people's uncertainty is too large or too small for training.
    """

    temperature: float = 2.0

    name: ClassVar[str] = "tempered"
    sources: ClassVar[tuple[str, ...]] = ("people",)

    def __post_init__(self) -> None:
        above_0("temperature", self.temperature)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(tempered(training_set.need_people(self.name), self.temperature))


def tempered(probs: Float[np.ndarray, "rows classes"], temperature: float) -> Float[np.ndarray, "rows classes"]:
    """`probs ** (1 / temperature)`, normalized by row; zeros stay zeros."""
    probs = np.asarray(probs, np.float64)
    # In logarithms, relative to the largest, so that no row underflows.
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(probs / probs.max(axis=1, keepdims=True)) / temperature
    powered = np.exp(logs)
    return np.asarray(powered / powered.sum(axis=1, keepdims=True))
