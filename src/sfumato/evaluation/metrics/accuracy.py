"""Accuracy of the first and of the second choice, and confidence where the model is right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import SHARE, Better, Estimate, mean_over_items
from sfumato.evaluation.score_floor import Floor, bound
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.setting_checks import one_of


@dataclass(frozen=True)
class Accuracy:
    """The share of items whose most probable class is people's most frequent class.

    Ties count by the share of times both would agree if ties were broken at random, so the order of items and classes
    does not matter. It ignores uncertainty: where people disagree, prefer `expected_accuracy` or a divergence.
    """

    name, better, bounds = "accuracy", Better.HIGH, SHARE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(matched.right, bootstrap)


@dataclass(frozen=True)
class AccuracyOriginal:
    """The share of items whose most probable class is the original label; ties count by their share.

    The number of hard-label benchmarks. Prefer `accuracy` to compare with people's most frequent class.
    """

    name, better, bounds = "accuracy_original", Better.HIGH, SHARE
    needs: ClassVar[tuple[str, ...]] = ("original",)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(matched.right_originally, bootstrap)


@dataclass(frozen=True)
class ExpectedAccuracy:
    """The probability that the model's most probable class is the choice of an annotator drawn at random.

    `mean over items of q[argmax p]`; ties in the prediction count by their share. Its floor (here an upper limit) is
    the value of always predicting people's most frequent class, `mean of max q`, below 1 where people disagree.
    """

    name, better, bounds = "expected_accuracy", Better.HIGH, SHARE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        first = matched.predicted_first
        hits = np.einsum("ik,ik->i", matched.people, first) / first.sum(axis=1)
        return mean_over_items(hits, bootstrap, floor=bound(float(matched.people.max(axis=1).mean())))


TIES = ("unique", "credit", "published")


@dataclass(frozen=True)
class SecondBestAccuracy:
    """The share of items whose second most probable class is people's second choice (Peterson et al. 2019).

    Often people have no unique second choice: more than half of CIFAR-10H's images have none. `ties` sets what counts:

    - `unique`: only items where people's first and second choice are both unique; `n_items` counts them. The default.
    - `credit`: all items; every class that could be people's second choice counts, also classes without votes.
    - `published`: all items; of tied classes the one with the highest index is first, as in a stable sort. This value
      depends on the order of the classes.

    Ties in the prediction count by their share, except for `published`.
    """

    ties: str = "unique"

    name, better, bounds = "second_best_accuracy", Better.HIGH, SHARE

    def __post_init__(self) -> None:
        one_of("ties", self.ties, TIES)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        if self.ties == "published":
            ours, theirs = (np.argsort(p, axis=1, kind="stable")[:, -2] for p in (matched.predicted, matched.people))
            return mean_over_items(np.asarray(ours == theirs, np.float64), bootstrap)
        second = matched.people_second
        n_ours = matched.predicted_second.sum(axis=1)
        agree = np.asarray((matched.predicted_second & second).sum(axis=1) / n_ours)
        unique = np.asarray(second.sum(axis=1) == 1, np.float64) if self.ties == "unique" else None
        return mean_over_items(agree, bootstrap, weights=unique)


@dataclass(frozen=True)
class SecondChoiceLogOdds:
    """The mean of `ln p_s - ln(1 - p_s)` over items where people have a unique second choice s: the log-odds that the
    model gives to people's second choice.

    A second choice is unique if q has one largest and one second largest class; `n_items` counts these items. Larger
    is not better: the floor is people's own value, `mean of ln q_s - ln(1 - q_s)`, and close to it is good. Infinite
    if the model gives a second choice probability 0; then prefer `second_best_accuracy`.
    """

    name, better, bounds = "second_choice_log_odds", Better.NEITHER, (-np.inf, np.inf)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        rows = np.flatnonzero(matched.people_second.sum(axis=1) == 1)
        second = matched.people_second[rows].argmax(axis=1)
        unique = np.zeros(len(matched))
        unique[rows] = 1.0
        odds = np.zeros(len(matched))
        odds[rows] = _log_odds(matched.predicted[rows, second])
        theirs = _log_odds(matched.people[rows, second])
        floor = Floor(float(theirs.mean()), "people's own value: close to it is good") if len(rows) else Floor()
        return mean_over_items(odds, bootstrap, weights=unique, floor=floor)


def _log_odds(p: Float[np.ndarray, "some"]) -> Float[np.ndarray, "some"]:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-np.minimum(p, 1.0)))


@dataclass(frozen=True)
class ConfidenceWhenRight:
    """The mean confidence over items whose most probable class is people's; `n_items` counts these.

    Compare it with `confidence_when_wrong`: the difference shows whether confidence separates right from wrong. Tied
    items count by the share of times both agree.
    """

    name, better, bounds = "confidence_when_right", Better.HIGH, SHARE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(matched.confidence, bootstrap, weights=matched.right)


@dataclass(frozen=True)
class ConfidenceWhenWrong:
    """The mean confidence over items whose most probable class is not people's; `n_items` counts these. NaN if there
    are none.

    Compare it with `confidence_when_right`. Tied items count by the share of times both differ.
    """

    name, better, bounds = "confidence_when_wrong", Better.LOW, SHARE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(matched.confidence, bootstrap, weights=1 - matched.right)


@dataclass(frozen=True)
class Overconfidence:
    """The mean confidence minus the accuracy, `mean of (max p - right)`: above 0 the model is overconfident, below 0
    underconfident.

    Errors in both directions cancel out, unlike in `ece`, `rms_calibration` and `smooth_ece`.
    """

    name, better, bounds = "overconfidence", Better.NEITHER, (-1.0, 1.0)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(matched.gaps, bootstrap)
