"""Geometry: how well the similarities of labels rank pairs of items."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from scipy.stats import rankdata

from sfumato.planning.goals import Goal
from sfumato.planning.informativeness.embedding import DIGITS
from sfumato.planning.quality import QualitySplit
from sfumato.planning.similarities import Similarities

MOST_PLACED = 300
"""Items whose similarities are looked at: pairs grow with the square."""


@dataclass(frozen=True, eq=False)
class PairRanks:
    """Ranks of all pairs of items by label and by reference; Spearman's rho for any weighing of the items.

    A pair weighs by both its items, so that a bootstrap over items is one over the pairs they bring; ranks are those
    among all items.
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
    """How well the similarities of labels rank the pairs of items: Spearman's rho with similarity judgments, or where
    there are none with the similarities of labels held out.

    Two labels are as similar as it is probable that answers drawn from them agree, `p . q`. At most 300 items, evenly
    spread, are placed.
    """

    similarities: Similarities | None = None

    goal: ClassVar[Goal] = Goal.GEOMETRY
    odd_alone: ClassVar[bool] = False
    most_splits: ClassVar[int] = 3

    @property
    def measure(self) -> str:
        by = "similarities of held-out labels" if self.similarities is None else "similarity judgments"
        return f"rank correlation with {by}"

    def judged(self, splits: Iterable[QualitySplit], items: pa.StringArray) -> PairRanks:
        judged = None if self.similarities is None else self.similarities.of_items(items)
        rated = np.arange(len(items)) if judged is None else np.flatnonzero(~np.isnan(judged).all(axis=1))
        places = rated[np.unique(np.linspace(0, len(rated) - 1, min(len(rated), MOST_PLACED)).astype(np.int64))]
        known = ~np.eye(len(places), dtype=bool)
        if judged is not None:
            known &= ~np.isnan(judged[np.ix_(places, places)])
        found = []
        true = []
        for split in splits:
            labels, reference = split.sums[places], split.reference[places]
            found.append(tuple(_ranks(step @ step.T, known) for step in labels.transpose(1, 0, 2)))
            by = reference @ reference.T if judged is None else judged[np.ix_(places, places)]
            true.append(_ranks(by, known))
        return PairRanks(tuple(found), tuple(true), known.astype(np.float64), places)


def _ranks(similarities: Float[np.ndarray, "placed placed"], known: np.ndarray) -> Float[np.ndarray, "placed placed"]:
    """The ranks of the known pairs, from 0 to 1; 0 for the others."""
    ranks = np.zeros(similarities.shape)
    values = similarities[known]
    if len(values):
        ranks[known] = rankdata(np.round(values, DIGITS)) / len(values)
    return ranks
