"""Bins of confidence: equally wide ones, and ones of equally many items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.evaluation.compared import MatchedLabels


def equal_width(values: Float[np.ndarray, "items"], n_bins: int) -> Int[np.ndarray, "items"]:
    """The bin of each value among `n_bins` of equal width over 0..1: (lo, hi], 0 in the first and 1 in the last."""
    edges = np.linspace(0, 1, n_bins + 1)
    return np.clip(np.searchsorted(edges, values, side="left") - 1, 0, n_bins - 1)


@dataclass(frozen=True, eq=False)
class EqualCount:
    """Items in order of confidence, `size` to a bin, the last bin with what remains.

    Where items of equal confidence fall into different bins, all figures are expectations over the order of equals,
    so that the order of items does not matter.
    """

    n_items: Int[np.ndarray, "bins"]
    confidence: Float[np.ndarray, "bins"]
    accuracy: Float[np.ndarray, "bins"]
    variance: Float[np.ndarray, "bins"]
    """Of each bin's accuracy, over the order of equals: 0 where no equals are torn apart."""

    @classmethod
    def of(cls, compared: MatchedLabels, size: int) -> EqualCount:
        n = len(compared)
        starts = np.arange(max(n // size, 1)) * size
        n_items = np.diff(starts, append=n)
        confidence, right = compared.confidence[compared.by_confidence], compared.right[compared.by_confidence]
        begins = np.concatenate([[True], np.diff(confidence) > 0])
        variance = np.zeros(len(starts))
        if not begins.all():
            group = np.cumsum(begins) - 1
            n_equal = np.bincount(group)
            mean = np.bincount(group, right) / n_equal
            spread = np.maximum(np.bincount(group, right**2) / n_equal - mean**2, 0.0)
            right = mean[group]
            # A piece is what one bin holds of one group of equals: drawn from the group without replacement.
            begins[starts] = True
            pieces = np.flatnonzero(begins)
            k, m = np.diff(pieces, append=n), n_equal[group[pieces]]
            of_sum = k * (m - k) / np.maximum(m - 1, 1) * spread[group[pieces]]
            variance = np.add.reduceat(of_sum, np.searchsorted(pieces, starts)) / n_items**2
        return cls(
            n_items,
            np.add.reduceat(confidence, starts) / n_items,
            np.add.reduceat(right, starts) / n_items,
            variance,
        )

    @classmethod
    def as_sorted(cls, compared: MatchedLabels, size: int) -> EqualCount:
        """Equals in the order a sort leaves them in, and the first of tied classes chosen."""
        n = len(compared)
        order = np.argsort(compared.confidence)
        right = compared.predicted.argmax(axis=1) == compared.people.argmax(axis=1)
        starts = np.arange(max(n // size, 1)) * size
        n_items = np.diff(starts, append=n)
        return cls(
            n_items,
            np.add.reduceat(compared.confidence[order], starts) / n_items,
            np.add.reduceat(right[order].astype(np.float64), starts) / n_items,
            np.zeros(len(starts)),
        )

    @property
    def squared_gaps(self) -> Float[np.ndarray, "bins"]:
        return np.asarray((self.confidence - self.accuracy) ** 2 + self.variance)

    @property
    def spread(self) -> Float[np.ndarray, "bins"]:
        """acc (1 - acc)."""
        return np.asarray(self.accuracy * (1 - self.accuracy) - self.variance)
