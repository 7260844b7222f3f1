"""Label quality: how well labels from few answers serve a goal (distribution, class, geometry), so that answers of two
kinds can be compared; and similarity judgments as a matrix. Called by `exchange_estimates.py`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.evaluation.rank_correlation import average_ranks
from sfumato.planning.goals import Goal
from sfumato.planning.informativeness.embedding import DIGITS
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable
from sfumato.tables.growable_array import freeze
from sfumato.tables.payloads import payload_kind
from sfumato.tables.setting_checks import one_of

CONSTANTS = np.concatenate([[1e-6], np.geomspace(0.003, 1, 9)])
"""Smoothing constants to choose from: a share of a vote added to every class."""
LOSSES = {"tv": "total variation", "squared": "squared distance", "log-loss": "log-loss"}


@dataclass(frozen=True, eq=False)
class QualitySplit:
    """Sums of the first 0, 1, ... answers about each item, and the reference distributions."""

    sums: Float[np.ndarray, "items steps classes"]
    reference: Float[np.ndarray, "items classes"]


@dataclass(frozen=True, eq=False)
class Losses:
    """Loss per item, smoothing and number of answers; the best smoothing is chosen for each set of weights and number
    of answers."""

    losses: Float[np.ndarray, "smoothings steps items"]

    def __post_init__(self) -> None:
        freeze(self, "losses")

    def values(self, weights: Float[np.ndarray, "draws items"]) -> Float[np.ndarray, "draws steps"]:
        """The quality of labels from 0, 1, ... answers, for any weights of the items; more is better."""
        totals = np.stack([weights @ of_constant.T for of_constant in self.losses])
        return np.asarray(-totals.min(axis=0) / weights.sum(axis=1, keepdims=True))


@final
@dataclass(frozen=True)
class DistributionQuality:
    """How close the shares of the answers are to those of held-out votes: by total variation, squared distance or
    log-loss.

    The label of M answers is `(sum + a) / (M + a K)`, with the best `a` for each kind and number of answers, found on
    the reference itself: both kinds get the same advantage. Total variation is the default: it hardly depends on
    smoothing. It needs about ten held-out votes per item; with fewer, squared distance is less biased. Log-loss makes
    rich answers worth more, because one vote gives most classes no probability; `bayes` makes that difference smaller.
    """

    loss: str = "tv"

    goal: ClassVar[Goal] = Goal.DISTRIBUTION
    odd_only: ClassVar[bool] = False
    """Whether an even number of votes is never better than the odd number before."""
    most_splits: ClassVar[int] = 100
    """The largest useful number of random splits."""

    def __post_init__(self) -> None:
        one_of("loss", self.loss, list(LOSSES))

    @property
    def measure(self) -> str:
        return LOSSES[self.loss]

    def curve(self, splits: Iterable[QualitySplit], items: pa.StringArray) -> Losses:  # noqa: ARG002
        """The quality of labels from the first answers of each split, compared with its reference."""
        found = [
            np.stack([self._losses(split, constant) for constant in CONSTANTS], axis=1)  # steps x smoothings x items
            for split in splits
        ]
        return Losses(np.mean(found, axis=0).transpose(1, 0, 2))

    def _losses(self, split: QualitySplit, constant: float) -> Float[np.ndarray, "steps items"]:
        """The loss per item and number of answers, for one smoothing constant."""
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
    """How often the most probable class is the most frequent one of held-out votes, or the true one if given.

    Ties share the hit. Two votes name the leading class no more often than one, and four hardly more often than three:
    only odd numbers of votes are compared.
    """

    truth: Float[np.ndarray, "items classes"] | None = None

    goal: ClassVar[Goal] = Goal.CLASS
    odd_only: ClassVar[bool] = True
    most_splits: ClassVar[int] = 100
    measure: ClassVar[str] = "accuracy"

    def curve(self, splits: Iterable[QualitySplit], items: pa.StringArray) -> Losses:  # noqa: ARG002
        missed = []
        for split in splits:
            right = _top_classes(self.truth if self.truth is not None else split.reference)
            missed.append(1 - (_top_classes(np.round(split.sums, DIGITS)) * right[:, None]).sum(axis=2).T)
        return Losses(np.mean(missed, axis=0)[None])


def _top_classes(probs: Float[np.ndarray, "*items classes"]) -> Float[np.ndarray, "*items classes"]:
    top = probs == probs.max(axis=-1, keepdims=True)
    return np.asarray(top / top.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Similarities:
    """The mean rating of every pair of items; NaN on the diagonal and for pairs without a rating."""

    items: pa.StringArray
    values: Float[np.ndarray, "items items"]

    def __post_init__(self) -> None:
        n = len(self.items)
        if self.values.shape != (n, n) or not np.array_equal(self.values, self.values.T, equal_nan=True):
            raise BadTable(
                f"an array of shape {self.values.shape} for {n} items",
                "a symmetric array, items x items",
                "give one number per pair, the same in both directions",
                "bad-similarities",
            )
        freeze(self, "values")

    @classmethod
    def of(cls, annotations: Annotations) -> Similarities:
        """From answers of kind `similarity`, in either order of the two items."""
        table = annotations.of_kind("similarity").for_purposes("label")
        first = table.item.text()
        other: list[str] = []
        ratings: list[float] = []
        for answers, inverse, _ in table.decoded(payload_kind("similarity/1")):
            other += [answers[i].other for i in inverse]
            ratings += [answers[i].rating for i in inverse]
        items = pc.unique(pa.concat_arrays([first, pa.array(other, pa.string())]))
        a, b = (pc.index_in(each, value_set=items).to_numpy() for each in (first, pa.array(other, pa.string())))
        total, n_each = np.zeros((len(items), len(items))), np.zeros((len(items), len(items)))
        for one, two in ((a, b), (b, a)):
            np.add.at(total, (one, two), ratings)
            np.add.at(n_each, (one, two), 1)
        np.fill_diagonal(n_each, 0)
        return cls(items, np.where(n_each > 0, total / np.maximum(n_each, 1), np.nan))

    def of_items(self, items: pa.StringArray) -> Float[np.ndarray, "items items"]:
        """The similarities of these items; NaN for items without ratings."""
        at = pc.index_in(items, value_set=self.items).fill_null(-1).to_numpy(zero_copy_only=False)
        found = self.values[np.ix_(at, at)]
        return np.where((at >= 0)[:, None] & (at >= 0), found, np.nan)


MOST_PLACED = 300
"""The largest number of items whose pairs are ranked."""


@dataclass(frozen=True, eq=False)
class PairRanks:
    """Ranks of all pairs of items by label and by reference; Spearman's rho for any weights of the items.

    A pair's weight is the product of its items' weights, so a bootstrap over items is one over their pairs; ranks are
    those among all items.
    """

    found: tuple[tuple[Float[np.ndarray, "placed placed"], ...], ...]
    true: tuple[Float[np.ndarray, "placed placed"], ...]
    known: Float[np.ndarray, "placed placed"]
    places: np.ndarray

    def values(self, weights: Float[np.ndarray, "draws items"]) -> Float[np.ndarray, "draws steps"]:
        w = weights[:, self.places]

        def mean(pairs: np.ndarray) -> np.ndarray:
            return np.asarray(((w @ pairs) * w).sum(axis=1))

        total = np.maximum(mean(self.known), 1e-300)
        rhos = np.zeros((len(w), len(self.found[0])))
        for steps, true in zip(self.found, self.true, strict=True):
            t, tt = mean(true) / total, mean(true**2) / total
            for i, found in enumerate(steps):
                f, ff, ft = (mean(each) / total for each in (found, found**2, found * true))
                size = np.sqrt(np.maximum((ff - f**2) * (tt - t**2), 0.0))
                rhos[:, i] += np.divide(ft - f * t, size, out=np.zeros(len(w)), where=size > 1e-9)
        return rhos / len(self.found)


@final
@dataclass(frozen=True, eq=False)
class GeometryQuality:
    """How well the similarities of labels rank pairs of items: Spearman's rho with similarity judgments, or with the
    similarities of held-out labels.

    The similarity of two labels is the probability that answers drawn from them agree, `p . q`. At most 300 items,
    evenly spread, are used.
    """

    similarities: Similarities | None = None

    goal: ClassVar[Goal] = Goal.GEOMETRY
    odd_only: ClassVar[bool] = False
    most_splits: ClassVar[int] = 3

    @property
    def measure(self) -> str:
        by = "similarities of held-out labels" if self.similarities is None else "similarity judgments"
        return f"rank correlation with {by}"

    def curve(self, splits: Iterable[QualitySplit], items: pa.StringArray) -> PairRanks:
        ratings = None if self.similarities is None else self.similarities.of_items(items)
        rated = np.arange(len(items)) if ratings is None else np.flatnonzero(~np.isnan(ratings).all(axis=1))
        places = evenly_spread(rated, MOST_PLACED)
        known = ~np.eye(len(places), dtype=bool)
        if ratings is not None:
            known &= ~np.isnan(ratings[np.ix_(places, places)])
        found = []
        true = []
        for split in splits:
            labels, reference = split.sums[places], split.reference[places]
            found.append(tuple(_ranks(step @ step.T, known) for step in labels.transpose(1, 0, 2)))
            by = reference @ reference.T if ratings is None else ratings[np.ix_(places, places)]
            true.append(_ranks(by, known))
        return PairRanks(tuple(found), tuple(true), known.astype(np.float64), places)


LabelQuality = DistributionQuality | ClassQuality | GeometryQuality
"""What makes labels good for a goal; `measure` names it."""


def evenly_spread(places: Int[np.ndarray, "places"], most: int) -> Int[np.ndarray, "kept"]:
    """At most `most` of the places."""
    return np.asarray(places[np.unique(np.linspace(0, len(places) - 1, min(len(places), most)).astype(np.int64))])


def _ranks(similarities: Float[np.ndarray, "placed placed"], known: np.ndarray) -> Float[np.ndarray, "placed placed"]:
    """The ranks of the known pairs, from 0 to 1; 0 for the others."""
    ranks = np.zeros(similarities.shape)
    values = similarities[known]
    if len(values):
        ranks[known] = average_ranks(np.round(values, DIGITS)) / len(values)
    return ranks
