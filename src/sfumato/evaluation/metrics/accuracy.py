"""Accuracy.

Accuracy against the original labels.

Accuracy against one person.

Accuracy of the second choice.

Log-odds of people's second choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import NO_ORIGINAL, Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import one_of


@dataclass(frozen=True)
class Accuracy:
    """The share of items whose first choice is people's first choice.

    Where either is tied, the share of times they would agree if ties were broken at random, so that no order of items
    or classes matters. Blind to doubt: where people disagree, prefer `expected_accuracy`, or a divergence.
    """

    name: ClassVar[str] = "accuracy"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.right, resampling)


@dataclass(frozen=True)
class AccuracyOriginal:
    """The share of items whose first choice is the class the item came with; ties in the prediction count by their
    share.

    The figure of hard-label benchmarks. Prefer `accuracy` to know how often people's first choice is met.
    """

    name: ClassVar[str] = "accuracy_original"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:
        return NO_ORIGINAL if compared.original is None else ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.right_originally, resampling)


@dataclass(frozen=True)
class ExpectedAccuracy:
    """The share of people who chose the model's first choice, on average: how often it agrees with a person drawn at
    random.

    `mean over items of q[argmax p]`; ties in the prediction count by their share. Its floor (here: a ceiling) is that
    of always naming people's first choice, `mean of max q`, which is below 1 wherever people disagree.
    """

    name: ClassVar[str] = "expected_accuracy"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        first = compared.predicted_first
        chosen = np.einsum("ik,ik->i", compared.people, first) / first.sum(axis=1)
        return mean_over_items(np.asarray(chosen), resampling, floor=float(compared.people.max(axis=1).mean()))


TIES = ("unique", "credit", "published")


@dataclass(frozen=True)
class SecondBestAccuracy:
    """The share of items whose second choice is people's second choice (Peterson et al. 2019).

    Often people have no clear second: more than half of CIFAR-10H's images have none. `ties` says what then:

    - `unique`: only items where people's first and second choice are both clear; `n_items` counts them. The default.
    - `credit`: all items; any class that could be people's second counts, even those nobody chose.
    - `published`: all items; of tied classes the one with the highest index comes first, as a stable sort has it. This
      figure changes when the classes are put in another order.

    Ties in the prediction count by their share, but for `published`.
    """

    name: ClassVar[str] = "second_best_accuracy"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    ties: str = "unique"

    def __post_init__(self) -> None:
        one_of("ties", self.ties, TIES)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        if self.ties == "published":
            ours, theirs = (np.argsort(p, axis=1, kind="stable")[:, -2] for p in (compared.predicted, compared.people))
            return mean_over_items(np.asarray(ours == theirs, np.float64), resampling)
        second = compared.people_second
        n_ours = compared.predicted_second.sum(axis=1)
        agree = np.asarray((compared.predicted_second & second).sum(axis=1) / n_ours)
        clear = np.asarray(second.sum(axis=1) == 1, np.float64) if self.ties == "unique" else None
        return mean_over_items(agree, resampling, weights=clear)


@dataclass(frozen=True)
class SecondChoiceLogOdds:
    """The mean over items with a clear human second choice s of `ln p_s - ln(1 - p_s)`: how probable the model holds
    what people choose second, against everything else.

    A second choice is clear where q has one largest and one second largest class; `n_items` counts these items. Not a
    score to be made large: the floor is people's own, `mean of ln q_s - ln(1 - q_s)`, and near it is good. Infinite
    where the model holds the second choice for impossible; then prefer `second_best_accuracy`.
    """

    name: ClassVar[str] = "second_choice_log_odds"
    better: ClassVar[Better] = Better.NEITHER
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        rows = np.flatnonzero(compared.people_second.sum(axis=1) == 1)
        second = compared.people_second[rows].argmax(axis=1)
        clear = np.zeros(len(compared))
        clear[rows] = 1.0
        odds = np.zeros(len(compared))
        odds[rows] = _log_odds(compared.predicted[rows, second])
        theirs = _log_odds(compared.people[rows, second])
        floor = float(theirs.mean()) if len(rows) else np.nan
        return mean_over_items(odds, resampling, weights=clear, floor=floor)


def _log_odds(p: Float[np.ndarray, "some"]) -> Float[np.ndarray, "some"]:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-np.minimum(p, 1.0)))
