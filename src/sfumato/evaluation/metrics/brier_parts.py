"""The Brier score taken apart: what a shift of predictions would mend, and what it would not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metrics.bins import equal_width

BINS = 15


@dataclass(frozen=True, eq=False)
class BrierParts:
    """For each class apart, items are put in bins of its predicted probability; in bin b of class k the predictions
    miss people by d_kb on average.

    `calibration = sum_k sum_b n_kb / n d_kb^2` is what would go, were every prediction shifted by its bin's miss; the
    rest of the Brier score is the spread of misses within bins, which no such shift can mend.
    """

    calibration: float
    bias: float
    """By how much chance makes it too large: the squared standard error of every d_kb, summed up."""
    influence: Float[np.ndarray, "items"]
    """What each item adds to calibration, to first order."""

    @classmethod
    def of(cls, compared: MatchedLabels, n_bins: int) -> BrierParts:
        n = len(compared)
        found, bias, influence = 0.0, 0.0, np.zeros(n)
        for predicted, people in zip(compared.predicted.T, compared.people.T, strict=True):
            place = equal_width(predicted, n_bins)
            miss = predicted - people
            n_in = np.bincount(place, minlength=n_bins)
            mean = np.bincount(place, miss, minlength=n_bins) / np.maximum(n_in, 1)
            spread = np.bincount(place, miss**2, minlength=n_bins) - n_in * mean**2
            found += float(n_in @ mean**2) / n
            # One item alone says nothing about spread: its square is all chance.
            alone = np.where(n_in == 1, mean**2, spread / np.maximum(n_in - 1, 1))
            bias += float(np.maximum(alone, 0.0).sum()) / n
            influence += 2 * mean[place] * miss - (mean**2)[place]
        return cls(found, min(bias, found), influence - found)
