"""Selective prediction: how well confidence separates right from wrong predictions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import SHARE, Better, Estimate, from_influence, undefined
from sfumato.evaluation.rank_correlation import Ranked
from sfumato.evaluation.score_floor import Floor, bound
from sfumato.tables.bootstrap import Bootstrap

SAME_MISTAKES = "the best order of the same mistakes, all of them last"


@dataclass(frozen=True)
class FailureAUROC:
    """The probability that a right item has a higher confidence than a wrong one, ties by half: the area under the ROC
    curve of confidence as a predictor of being right (Hendrycks & Gimpel 2017).

    0.5 is chance, and accuracy has no effect: prefer `aurc` to include it. NaN if all items are right or all wrong. The
    interval bootstraps the contribution of each item (DeLong et al. 1988).
    """

    name, better, bounds = "failure_auroc", Better.HIGH, SHARE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        right, wrong = matched.right, 1 - matched.right
        share = float(right.mean())
        if not 0 < share < 1:
            return undefined("all right or all wrong", len(right))
        ranked = Ranked.of(matched.confidence)
        wrong_below = float(wrong.mean()) - ranked.above(wrong)
        pairs = float((right * wrong_below).mean())
        of_pairs = right * wrong_below + wrong * ranked.above(right) - 2 * pairs
        value = pairs / (share * (1 - share))
        influence = (of_pairs - value * (1 - 2 * share) * (right - share)) / (share * (1 - share))
        return from_influence(value, np.asarray(influence), bootstrap, bounds=self.bounds)


@dataclass(frozen=True, eq=False)
class SelectivePrediction:
    """Items from the most to the least confident; values are means over all orders of ties."""

    order: Int[np.ndarray, "items"]
    confidence: Float[np.ndarray, "items"]
    wrong: Float[np.ndarray, "items"]
    group: Int[np.ndarray, "items"]
    """The number of each group of ties."""

    @classmethod
    def of(cls, matched: MatchedLabels) -> SelectivePrediction:
        order = matched.by_confidence[::-1]
        confidence = matched.confidence[order]
        group = np.cumsum(np.concatenate([[False], np.diff(confidence) < 0]))
        return cls(order, confidence, 1 - matched.right[order], group)

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def n_kept(self) -> Int[np.ndarray, "items"]:
        return np.arange(1, len(self) + 1)

    @cached_property
    def risk(self) -> Float[np.ndarray, "items"]:
        """The share of wrong items among the first 1, 2, ... n items, expected over the order of ties."""
        return np.asarray(np.cumsum(self.mean_of_ties(self.wrong)) / self.n_kept)

    @cached_property
    def aurc(self) -> float:
        return float(self.risk.mean())

    @cached_property
    def best_aurc(self) -> float:
        """The smallest area possible with this number of mistakes: all of them last."""
        n_wrong = float(self.wrong.sum())
        return float((np.maximum(n_wrong - (len(self) - self.n_kept), 0.0) / self.n_kept).mean())

    @cached_property
    def influence(self) -> Float[np.ndarray, "items"]:
        """The contribution of each item to the area, to first order; in the order of `matched`.

        The area is the mean over items of R(c), the share of wrong items with confidence c or more. An item
        contributes its own R, and to the R of all less confident items.
        """
        once = 1 / self.n_kept
        entered = np.cumsum(once[::-1])[::-1]
        expected = np.cumsum((self.risk * once)[::-1])[::-1]
        parts = self.mean_of_ties(self.risk - expected) - self.aurc + self.wrong * self.mean_of_ties(entered)
        found = np.empty(len(self))
        found[self.order] = parts
        return found

    def mean_of_ties(self, values: Float[np.ndarray, "items"]) -> Float[np.ndarray, "items"]:
        """Each value replaced by the mean over items of the same confidence."""
        if self.group[-1] == len(self) - 1:
            return values
        return np.asarray((np.bincount(self.group, values) / np.bincount(self.group))[self.group])


@dataclass(frozen=True)
class AURC:
    """The mean over k of the share of wrong items among the k most confident ones: how well confidence shows which
    items need a person (Geifman et al. 2019).

    Wrong: the most probable class is not people's. For ties it is the expectation over their order. The floor is the
    area if all mistakes were the least confident items; compare `excess_aurc`, the area above it, between models of
    different accuracy.
    """

    name, better, bounds = "aurc", Better.LOW, SHARE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        kept = SelectivePrediction.of(matched)
        return from_influence(
            kept.aurc, kept.influence, bootstrap, bounds=self.bounds, floor=Floor(kept.best_aurc, SAME_MISTAKES)
        )


@dataclass(frozen=True)
class ExcessAURC:
    """`aurc` minus the area of the best order of the same mistakes, all of them last: E-AURC (Geifman et al. 2019).

    How well confidence orders items, independent of accuracy; 0 is a perfect order. With a share r of mistakes among
    many items, the best area is r + (1 - r) ln(1 - r).
    """

    name, better, bounds = "excess_aurc", Better.LOW, SHARE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        kept = SelectivePrediction.of(matched)
        wrong = 1 - matched.right
        r = float(wrong.mean())
        of_best = -np.log1p(-r) * (wrong - r) if r < 1 else np.zeros(len(wrong))
        excess = max(kept.aurc - kept.best_aurc, 0.0)
        return from_influence(excess, kept.influence - of_best, bootstrap, bounds=self.bounds, floor=bound(0.0))
