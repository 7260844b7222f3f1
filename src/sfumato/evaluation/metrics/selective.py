"""Separation of right from wrong by confidence.

Keeping only what the model is sure of: how often what is kept is wrong.

Area under the risk-coverage curve.

Excess area under the risk-coverage curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, from_influence, undefined
from sfumato.evaluation.metrics.entropy import Ranked
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class FailureAUROC:
    """The chance that of two items, one right and one wrong, the right one has the higher confidence, equals by half:
    the area under the ROC curve of confidence as a sign of being right (Hendrycks & Gimpel 2017).

    .5 is chance, and accuracy does not enter: prefer `aurc` to weigh both. NaN where nothing is right or nothing wrong.
    The interval bootstraps what each item adds (DeLong et al. 1988).
    """

    name: ClassVar[str] = "failure_auroc"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        right, wrong = compared.right, 1 - compared.right
        share = float(right.mean())
        if not 0 < share < 1:
            return undefined("all right or all wrong", len(right))
        ranked = Ranked.of(compared.confidence)
        wrong_below = float(wrong.mean()) - ranked.above(wrong)
        pairs = float((right * wrong_below).mean())
        of_pairs = right * wrong_below + wrong * ranked.above(right) - 2 * pairs
        value = pairs / (share * (1 - share))
        influence = (of_pairs - value * (1 - 2 * share) * (right - share)) / (share * (1 - share))
        return from_influence(value, np.asarray(influence), resampling, bounds=self.bounds)


@dataclass(frozen=True, eq=False)
class SelectivePrediction:
    """Items from the surest to the least sure; among equals every order is as good, and figures are their mean."""

    order: Int[np.ndarray, "items"]
    confidence: Float[np.ndarray, "items"]
    wrong: Float[np.ndarray, "items"]
    group: Int[np.ndarray, "items"]
    """Equals have the same number."""

    @classmethod
    def of(cls, compared: MatchedLabels) -> SelectivePrediction:
        order = compared.by_confidence[::-1]
        confidence = compared.confidence[order]
        group = np.cumsum(np.concatenate([[False], np.diff(confidence) < 0]))
        return cls(order, confidence, 1 - compared.right[order], group)

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def n_kept(self) -> Int[np.ndarray, "items"]:
        return np.arange(1, len(self) + 1)

    @cached_property
    def risk(self) -> Float[np.ndarray, "items"]:
        """The share wrong among the first, second, ... n-th and those before, expected over the order of equals."""
        return np.asarray(np.cumsum(self.among_equals(self.wrong)) / self.n_kept)

    @cached_property
    def aurc(self) -> float:
        return float(self.risk.mean())

    @cached_property
    def best_aurc(self) -> float:
        """The smallest area that as many mistakes allow: all of them come last."""
        n_wrong = float(self.wrong.sum())
        return float((np.maximum(n_wrong - (len(self) - self.n_kept), 0.0) / self.n_kept).mean())

    @cached_property
    def influence(self) -> Float[np.ndarray, "items"]:
        """What each item adds to the area, to first order; in the order of the items compared.

        The area is the mean over items of R(c), the share wrong among items at least as sure as c. An item enters as
        one whose R is averaged, and into the R of all that are less sure than it.
        """
        once = 1 / self.n_kept
        entered = np.cumsum(once[::-1])[::-1]
        expected = np.cumsum((self.risk * once)[::-1])[::-1]
        parts = self.among_equals(self.risk - expected) - self.aurc + self.wrong * self.among_equals(entered)
        found = np.empty(len(self))
        found[self.order] = parts
        return found

    def among_equals(self, values: Float[np.ndarray, "items"]) -> Float[np.ndarray, "items"]:
        """Each value replaced by the mean over items of the same confidence."""
        if self.group[-1] == len(self) - 1:
            return values
        return np.asarray((np.bincount(self.group, values) / np.bincount(self.group))[self.group])


@dataclass(frozen=True)
class AURC:
    """The mean over k of the share wrong among the k surest items: how well confidence says when to hand over to people
    (Geifman et al. 2019).

    Wrong means that the first choice is not people's. Among items of equal confidence it is the expectation over their
    order. The floor is the area were all mistakes the least sure items; `excess_aurc` is what lies above it, and is the
    one to compare between models of different accuracy.
    """

    name: ClassVar[str] = "aurc"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        kept = SelectivePrediction.of(compared)
        return from_influence(kept.aurc, kept.influence, resampling, bounds=self.bounds, floor=kept.best_aurc)


@dataclass(frozen=True)
class ExcessAURC:
    """`aurc` less the area of the best order of the same mistakes, all of them last: E-AURC (Geifman et al. 2019).

    How well confidence orders items, whatever the accuracy; 0 is a perfect order. With mistakes a share r of very many
    items, the best area is r + (1 - r) ln(1 - r).
    """

    name: ClassVar[str] = "excess_aurc"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        kept = SelectivePrediction.of(compared)
        wrong = 1 - compared.right
        r = float(wrong.mean())
        of_best = -np.log1p(-r) * (wrong - r) if r < 1 else np.zeros(len(wrong))
        excess = max(kept.aurc - kept.best_aurc, 0.0)
        return from_influence(excess, kept.influence - of_best, resampling, bounds=self.bounds, floor=0.0)
