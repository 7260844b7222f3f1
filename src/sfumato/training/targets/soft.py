"""How people judge.

One vote at each access.

One annotator's belief at each access.

Temperature: people's doubt made larger or smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import above_0
from sfumato.training.target_labels import FixedLabels, PooledLabels, SampledLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class SoftTarget:
    """People's distribution over the classes, as it is (Peterson et al. 2019).

    Assumes enough people an item: the doubt of a few is mostly noise. To learn whether it is the doubt about single
    items that helps, compare with `class-level` and `shuffled`; whether it is doubt at all, with `entropy-matched`.
    """

    name: ClassVar[str] = "soft"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(lesson.need_people(self.name))


@dataclass(frozen=True)
class SampledTarget:
    """A class drawn from people's distribution, anew each time an item is seen (Peterson et al. 2019).

    The expected loss is that of `soft`, since cross-entropy is linear in the label; the gradient is noisier. Prefer
    `soft` unless the noise is what you study.
    """

    name: ClassVar[str] = "sampled"

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> SampledLabels:  # noqa: ARG002
        return SampledLabels.of(lesson.need_people(self.name))


@dataclass(frozen=True)
class DeaggregatedTarget:
    """The belief of one annotator of the item, drawn anew and evenly each time the item is seen (Collins et al. 2022).

    With `annotators` = M the pool of an item is M of its annotators, drawn once; an item with fewer keeps them all.
    Every item needs a belief. Its mean is the mean of the pool, so compare with `soft` on the same people.
    """

    annotators: int | None = None

    name: ClassVar[str] = "deaggregated"

    def __post_init__(self) -> None:
        whole = isinstance(self.annotators, int | np.integer)
        if self.annotators is not None and not (whole and self.annotators >= 1):
            raise BadSetting(
                f"found annotators = {self.annotators}",
                expected="a number of annotators an item, at least 1",
                fix="choose another, or leave it out to draw from all",
                code="bad-setting",
            )

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> PooledLabels:
        pool = lesson.need_beliefs(self.name)
        if self.annotators is None:
            return PooledLabels.of(pool.rows, pool.starts)
        kept = _drawn(pool.starts, self.annotators, rng)
        counts = np.minimum(np.diff(pool.starts), self.annotators)
        return PooledLabels.of(pool.rows[kept], np.concatenate(([0], np.cumsum(counts))))


def _drawn(starts: Int[np.ndarray, "bounds"], at_most: int, rng: np.random.Generator) -> Int[np.ndarray, "kept"]:
    """`at_most` rows of every item, drawn evenly, in the order they stand in."""
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    shuffled = np.lexsort((rng.random(len(item)), item))
    # Sorted by item first, so that a row's place within its item is its place less where the item begins.
    place = np.arange(len(item)) - starts[:-1][item]
    return np.sort(shuffled[place < at_most])


@dataclass(frozen=True)
class TemperedTarget:
    """`q ** (1 / temperature)`, normalised, of people's q: above 1 flatter, below 1 sharper, at 1 `soft`.

    The order of the classes stays. A class nobody chose gets nothing at any temperature; towards 0 all mass goes to
    the largest class, evenly where several are. Use it to learn whether people's doubt is too large or too small.
    """

    temperature: float = 2.0

    name: ClassVar[str] = "tempered"

    def __post_init__(self) -> None:
        above_0("temperature", self.temperature)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> FixedLabels:  # noqa: ARG002
        return FixedLabels.of(tempered(lesson.need_people(self.name), self.temperature))


def tempered(probs: Float[np.ndarray, "rows classes"], temperature: float) -> Float[np.ndarray, "rows classes"]:
    """`probs ** (1 / temperature)` with rows that sum to one; zeros stay zeros."""
    probs = np.asarray(probs, np.float64)
    # Relative to the largest, in logarithms: no temperature makes a row underflow as a whole.
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(probs / probs.max(axis=1, keepdims=True)) / temperature
    powered = np.exp(logs)
    return np.asarray(powered / powered.sum(axis=1, keepdims=True))
