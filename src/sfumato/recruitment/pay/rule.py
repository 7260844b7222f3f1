"""BonusRule: how well somebody's answers earn, as a number from 0 to 1; and the answers it looks at.

A rule is one file here, listed once in `BONUS_RULES`. It sees everybody's answers as distributions over the classes,
and compares each person with the others alone: what somebody says never helps them against themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class PeerAnswers:
    """Everybody's answer about every item, and who counts as somebody to be compared with.

    One row a person and item. `is_peer` says of each annotator whether others are compared with them: those whose
    answers are set aside are scored like everybody else, but nobody is measured by them.
    """

    item: Int[np.ndarray, "rows"]
    annotator: Int[np.ndarray, "rows"]
    probs: Float[np.ndarray, "rows classes"]
    is_peer: Bool[np.ndarray, "annotators"]

    @property
    def n_annotators(self) -> int:
        return len(self.is_peer)

    @cached_property
    def n_items(self) -> int:
        return int(self.item.max()) + 1 if len(self.item) else 0

    @cached_property
    def counts(self) -> Bool[np.ndarray, "rows"]:
        """Which rows others are compared with."""
        return np.asarray(self.is_peer[self.annotator])

    @cached_property
    def n_others(self) -> Int[np.ndarray, "rows"]:
        """With how many others each answer is compared."""
        per_item = np.bincount(self.item[self.counts], minlength=self.n_items)
        return np.asarray(per_item[self.item] - self.counts)

    @cached_property
    def has_others(self) -> Bool[np.ndarray, "rows"]:
        """Which answers there is anything to compare with."""
        return np.asarray(self.n_others > 0)

    def pooled(self, probs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
        """For each answer the mean of the others' about the same item: the label without them. NaN without others."""
        sums = np.zeros((self.n_items, probs.shape[1]))
        np.add.at(sums, self.item[self.counts], probs[self.counts])
        others = sums[self.item] - np.where(self.counts[:, None], probs, 0.0)
        n_others = self.n_others[:, None]
        return np.where(n_others > 0, others / np.maximum(n_others, 1), np.nan)

    def mean_of(self, values: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "annotators"]:
        """Each person's mean over the answers that can be compared; NaN where none can."""
        rows = self.has_others
        n_rows = np.bincount(self.annotator[rows], minlength=self.n_annotators)
        total = np.bincount(self.annotator[rows], weights=values[rows], minlength=self.n_annotators)
        return np.where(n_rows > 0, total / np.maximum(n_rows, 1), np.nan)

    def n_compared(self) -> Int[np.ndarray, "annotators"]:
        """How many of each person's answers can be compared."""
        return np.asarray(np.bincount(self.annotator[self.has_others], minlength=self.n_annotators))


@runtime_checkable
class BonusRule(Protocol):
    """A rule by which answers earn. Its settings are the further keys of `[pay.bonus]` in the study file."""

    name: ClassVar[str]
    said: ClassVar[str]
    """The rule in one sentence, which people are told before they begin: in English here, and in the catalogue of every
    language (`web/texts`)."""

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        """From 0 to 1 for each annotator; NaN for whom there is nothing to go by."""
        ...
