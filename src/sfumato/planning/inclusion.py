"""Inclusion: means over everything that was asked, from answers that were each included with a known probability."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int


def horvitz_thompson(
    values: Float[np.ndarray, "included columns"],
    probability: Float[np.ndarray, "included"],
    group: Int[np.ndarray, "included"],
    n_asked: Int[np.ndarray, "groups"],
) -> Float[np.ndarray, "groups columns"]:
    """The mean of every group: each included value counts for `1 / probability` of the `n_asked` there are.

    Without bias whatever the values are, if every probability is right and above 0; a mean of distributions need not
    sum to 1. `1/N * sum_i y_i / p_i` (Horvitz & Thompson 1952, Journal of the American Statistical Association 47).
    """
    sums = _sums(values / probability[:, None], group, len(n_asked))
    return np.asarray(sums / np.maximum(n_asked, 1)[:, None])


def hajek(
    values: Float[np.ndarray, "included columns"],
    probability: Float[np.ndarray, "included"],
    group: Int[np.ndarray, "included"],
    n_groups: int,
) -> Float[np.ndarray, "groups columns"]:
    """The mean of every group, as above but divided by the estimated number instead of the known one; NaN where nothing
    was included.

    A weighted mean: distributions stay distributions, and it mostly varies less. Its bias goes with one over the number
    included. `sum_i (y_i / p_i) / sum_i (1 / p_i)` (Hajek 1971, in Godambe & Sprott, Foundations of Statistical
    Inference, 236).
    """
    weights = 1 / probability
    total = np.bincount(group, weights, n_groups)
    sums = _sums(values * weights[:, None], group, n_groups)
    return np.asarray(sums / np.where(total > 0, total, np.nan)[:, None])


def difference(
    guessed: Float[np.ndarray, "asked columns"],
    values: Float[np.ndarray, "asked columns"],
    probability: Float[np.ndarray, "asked"],
    is_included: Int[np.ndarray, "asked"],
    group: Int[np.ndarray, "asked"],
    n_groups: int,
) -> Float[np.ndarray, "groups columns"]:
    """The mean of every group: of what is guessed of each value, put right by what the included ones differ from it.

    Without bias however bad the guess, and the better it is the less is left to chance. `values` count where
    `is_included`. `1/N * sum_i (g_i + I_i (y_i - g_i) / p_i)` (Sarndal, Swensson & Wretman 1992, Model Assisted Survey
    Sampling, ch. 6).
    """
    put_right = np.where(is_included[:, None] > 0, (values - guessed) / probability[:, None], 0.0)
    n_asked = np.bincount(group, minlength=n_groups)
    return np.asarray(_sums(guessed + put_right, group, n_groups) / np.maximum(n_asked, 1)[:, None])


def effective_number(probability: Float[np.ndarray, "included"]) -> float:
    """How many answers of equal weight would tell as much: `(sum w)^2 / sum w^2` (Kish 1965, Survey Sampling)."""
    weights = 1 / probability
    return float(weights.sum() ** 2 / (weights**2).sum()) if len(weights) else 0.0


def _sums(
    values: Float[np.ndarray, "rows columns"], group: Int[np.ndarray, "rows"], n_groups: int
) -> Float[np.ndarray, "groups columns"]:
    sums = np.zeros((n_groups, values.shape[1]))
    np.add.at(sums, group, values)
    return sums
