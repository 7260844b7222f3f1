"""Keeping only what the model is sure of: how often what is kept is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from sfumato.evaluation.compared import MatchedLabels


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
