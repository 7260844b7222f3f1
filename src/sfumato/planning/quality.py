"""Quality: how well the labels that few answers give serve a goal, so that answers of two kinds can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol, final, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.planning.goals import Goal
from sfumato.planning.informativeness.embedding import DIGITS
from sfumato.tables.growable_array import freeze
from sfumato.tables.settings import one_of

CONSTANTS = np.concatenate([[1e-6], np.geomspace(0.003, 1, 9)])
"""Smoothing to choose from: a share of a vote added to every class."""
LOSSES = {"tv": "total variation", "squared": "squared distance", "log-loss": "log-loss"}


@dataclass(frozen=True, eq=False)
class QualitySplit:
    """Sums of the first 0, 1, ... answers about each item, and the distributions that judge their labels."""

    sums: Float[np.ndarray, "items steps classes"]
    reference: Float[np.ndarray, "items classes"]


@runtime_checkable
class QualityCurve(Protocol):
    """How good labels of 0, 1, ... answers are, for any weighing of the items; more is better."""

    def values(self, weights: Float[np.ndarray, "draws items"]) -> Float[np.ndarray, "draws steps"]: ...


@runtime_checkable
class LabelQuality(Protocol):
    """What makes labels good for a goal; `measure` says it in words."""

    goal: ClassVar[Goal]
    odd_alone: ClassVar[bool]
    """Whether an even number of votes is known to serve no better than the odd one before."""
    most_splits: ClassVar[int]
    """Random splits that are worth their time."""

    @property
    def measure(self) -> str: ...

    def judged(self, splits: Iterable[QualitySplit], items: pa.StringArray) -> QualityCurve:
        """Labels from the first answers of each split, judged by what it holds out."""


@dataclass(frozen=True, eq=False)
class Losses:
    """What each item loses, by smoothing and number of answers: the best smoothing counts, chosen for each weighing
    and number of answers."""

    losses: Float[np.ndarray, "smoothings steps items"]

    def __post_init__(self) -> None:
        freeze(self, "losses")

    def values(self, weights: Float[np.ndarray, "draws items"]) -> Float[np.ndarray, "draws steps"]:
        lost = np.stack([weights @ of_constant.T for of_constant in self.losses])
        return np.asarray(-lost.min(axis=0) / weights.sum(axis=1, keepdims=True))


@final
@dataclass(frozen=True)
class DistributionQuality:
    """How near the shares of the answers come to those of votes held out: by total variation, squared distance or
    log-loss.

    The label of M answers is `(sum + a) / (M + a K)`, where `a` is the best for each kind and number of answers, found
    on the votes that judge: neither side is handicapped by its smoothing, and both are favoured alike. Total variation
    is the default: it hardly depends on smoothing. It needs some ten votes held out an item: against fewer it favours
    labels as ragged as these few are, which squared distance does not. Log-loss cannot forgive a class that one vote
    did not name: it makes rich answers worth more, and `bayes` makes that difference smaller.
    """

    loss: str = "tv"

    goal: ClassVar[Goal] = Goal.DISTRIBUTION
    odd_alone: ClassVar[bool] = False
    most_splits: ClassVar[int] = 100

    def __post_init__(self) -> None:
        one_of("loss", self.loss, list(LOSSES))

    @property
    def measure(self) -> str:
        return LOSSES[self.loss]

    def judged(self, splits: Iterable[QualitySplit], items: pa.StringArray) -> Losses:  # noqa: ARG002
        found = [
            np.stack([self._lost(split, constant) for constant in CONSTANTS], axis=1)  # steps x smoothings x items
            for split in splits
        ]
        return Losses(np.mean(found, axis=0).transpose(1, 0, 2))

    def _lost(self, split: QualitySplit, constant: float) -> Float[np.ndarray, "steps items"]:
        """What each item loses, by number of answers, under one smoothing."""
        sums = split.sums.transpose(1, 0, 2)
        label = (sums + constant) / (sums.sum(axis=2, keepdims=True) + constant * sums.shape[2])
        if self.loss == "tv":
            return np.asarray(np.abs(label - split.reference).sum(axis=2) / 2)
        if self.loss == "squared":
            return np.asarray(((label - split.reference) ** 2).sum(axis=2))
        return np.asarray(-(split.reference * np.log(label)).sum(axis=2))


@final
@dataclass(frozen=True, eq=False)
class ClassQuality:
    """How often the most probable class is the one that votes held out name most often, or the true one if it is given.

    Classes that are equally probable share the hit, and so do classes that were named equally often. Two votes then
    name the leading class as often as one does, and four hardly more often than three: only odd numbers of votes are
    compared with.
    """

    truth: Float[np.ndarray, "items classes"] | None = None

    goal: ClassVar[Goal] = Goal.CLASS
    odd_alone: ClassVar[bool] = True
    most_splits: ClassVar[int] = 100
    measure: ClassVar[str] = "accuracy"

    def judged(self, splits: Iterable[QualitySplit], items: pa.StringArray) -> Losses:  # noqa: ARG002
        missed = []
        for split in splits:
            right = _leading(self.truth if self.truth is not None else split.reference)
            missed.append(1 - (_leading(np.round(split.sums, DIGITS)) * right[:, None]).sum(axis=2).T)
        return Losses(np.mean(missed, axis=0)[None])


def _leading(probs: Float[np.ndarray, "*items classes"]) -> Float[np.ndarray, "*items classes"]:
    top = probs == probs.max(axis=-1, keepdims=True)
    return np.asarray(top / top.sum(axis=-1, keepdims=True))
