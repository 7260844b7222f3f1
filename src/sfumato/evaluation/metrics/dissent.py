"""Uncertainty of predictions compared with people's dissent: difference and correlation, unbiased from few votes.

The dissent of a prediction is `1 - sum_k p_k^2`, the probability that two draws from it differ; that of people is the
share of pairs of votes that differ (`sfumato.tables.dissent`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.metric import Better, Estimate, from_sums, mean_over_items, undefined
from sfumato.evaluation.score_floor import CHOSEN_BY_VOTES
from sfumato.tables.bootstrap import Bootstrap, Interval
from sfumato.tables.dissent import dissent_of_counts, squared_dissent_of_counts

if TYPE_CHECKING:
    from sfumato.evaluation.matched_labels import MatchedLabels

BY_VOTES = CHOSEN_BY_VOTES.removeprefix("none: ")


@dataclass(frozen=True)
class DissentDifference:
    """The mean over items of the prediction's dissent minus people's: above 0 the model is more uncertain than people,
    below 0 less.

    Unbiased from two votes per item on; items with one vote are left out. In contrast to `entropy_difference` nothing
    is assumed about classes that nobody chose.
    """

    name, better, bounds = "dissent_difference", Better.NEITHER, (-1.0, 1.0)
    needs = ("vote_counts",)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        assert matched.vote_counts is not None
        if matched.chosen_by_votes:
            return undefined(BY_VOTES, len(matched))
        people = dissent_of_counts(matched.vote_counts)
        known = ~np.isnan(people)
        if not known.any():
            return undefined("no item has two votes", len(matched))
        differences = np.where(known, predicted_dissent(matched) - np.nan_to_num(people), 0.0)
        return mean_over_items(differences, bootstrap, weights=known.astype(np.float64))


FEWEST_VOTES = 4
NO_SPREAD = 1e-12
"""Smaller variances are rounding errors."""
ALL_BUT_ONE = 1 - 1e-9


@dataclass(frozen=True)
class DissentPearson:
    """The correlation over items between the dissent of predictions and of people, as if every item had infinitely many
    votes: is the model uncertain about the same items as people?

        cov(people, model) / sqrt(cov(half, other half) var(model))

    The dissent of a few votes varies by chance, which makes a plain correlation too low. The covariance of the dissents
    of two halves of the votes does not contain this chance (Spearman 1904 on attenuation); it is averaged over all ways
    to split the votes. Needs four votes per item; items with fewer are left out. NaN if people's dissent does not vary
    more than by chance.
    """

    name, better, bounds = "dissent_pearson", Better.HIGH, (-1.0, 1.0)
    needs = ("vote_counts",)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        counts = matched.vote_counts
        assert counts is not None
        if matched.chosen_by_votes:
            return undefined(BY_VOTES, len(matched))
        known = counts.sum(axis=1) >= FEWEST_VOTES
        n_items = int(known.sum())
        if n_items < 3:
            return undefined(f"fewer than three items have {FEWEST_VOTES} votes", n_items)
        people = np.where(known, np.nan_to_num(dissent_of_counts(counts)), 0.0)
        model = np.where(known, predicted_dissent(matched), 0.0)
        # Relative to the means, which avoids cancellation.
        model = np.where(known, model - model[known].mean(), 0.0)
        squared = np.where(known, np.nan_to_num(squared_dissent_of_counts(counts)), 0.0)
        sums = bootstrap.sums(known.astype(float), model, people, model**2, people**2, model * people, squared)
        found = from_sums(sums, _correlation, bootstrap, n_items=n_items)
        return replace(found, interval=_fisher_interval(sums, found.value, bootstrap))


def _fisher_interval(sums: Float[np.ndarray, "blocks 7"], value: float, bootstrap: Bootstrap) -> Interval:
    """On Fisher's atanh scale, with the standard error of the jackknife."""
    left_out = _correlation(sums.sum(axis=0) - sums)
    if np.isnan(value) or np.isnan(left_out).any() or abs(value) > ALL_BUT_ONE:
        reason = "undefined without some item" if abs(value) <= ALL_BUT_ONE else "undefined, or all but 1"
        return Interval(np.nan, np.nan, f"none: {reason}")
    error = float(np.sqrt((len(sums) - 1) * left_out.var()))
    half = bootstrap.normal_quantile * error / (1 - value**2)
    low, high = np.tanh(np.arctanh(value) + np.array([-half, half]))
    return Interval(float(low), float(high), f"{100 * bootstrap.level:g}% jackknife of atanh over {bootstrap.over}")


def predicted_dissent(matched: MatchedLabels) -> Float[np.ndarray, "items"]:
    """The probability that two draws from a prediction differ."""
    return np.asarray(1 - np.einsum("ik,ik->i", matched.predicted, matched.predicted))


def _correlation(totals: Float[np.ndarray, "draws 7"]) -> Float[np.ndarray, "draws"]:
    n, x, y, xx, yy, xy, true_yy = totals.T
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = (xy - x * y / n) / (n - 1)
        of_model = (xx - x * x / n) / (n - 1)
        of_people = true_yy / n - (y * y - yy) / (n * (n - 1))
        below = of_model * of_people
        known = (n > 2) & (of_model > NO_SPREAD) & (of_people > NO_SPREAD)
        found = np.divide(covariance, np.sqrt(np.where(known, below, 1.0)), out=np.full(len(n), np.nan), where=known)
    return np.asarray(np.clip(found, -1.0, 1.0))
