"""The input of the agreement measures: answers sorted by item, first answers separate from repeated ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.tables.beliefs import Beliefs, CodedBeliefs
from sfumato.tables.two_way import AnswerDesign

TIE = 1e-9
"""Probabilities that differ by less are equal: the difference is rounding."""


@dataclass(frozen=True)
class VoteCases:
    """The different votes about each item: one case per item and class that somebody chose, sorted by item."""

    item: Int[np.ndarray, "cases"]
    chosen: Int[np.ndarray, "cases"]
    times: Int[np.ndarray, "cases"]
    """The number of votes for the class."""
    which: Int[np.ndarray, "rows"]
    """The case of every row."""


@dataclass(frozen=True)
class FirstAnswers:
    """The first answer of every annotator about every item with at least two annotators, sorted by item.

    Items are numbered without gaps. Exactly one of `hard` and `soft` is set.
    """

    design: AnswerDesign
    """The item and the annotator of each row."""
    hard: Int[np.ndarray, "rows"] | None
    soft: Float[np.ndarray, "rows classes"] | None
    per_item: Int[np.ndarray, "items"]
    n_classes: int

    @property
    def item(self) -> Int[np.ndarray, "rows"]:
        return self.design.item

    @property
    def n_items(self) -> int:
        return len(self.per_item)

    @cached_property
    def starts(self) -> Int[np.ndarray, "items"]:
        """The first row of every item."""
        return np.asarray(np.cumsum(self.per_item) - self.per_item)

    def chosen(self) -> Int[np.ndarray, "rows"]:
        """The most probable class of every row; of tied classes the first."""
        if self.hard is not None:
            return self.hard
        assert self.soft is not None
        return np.asarray(leading(self.soft).argmax(axis=1))

    @cached_property
    def votes(self) -> VoteCases:
        """The rows by item and chosen class."""
        cells, which, times = np.unique(
            self.item.astype(np.int64) * self.n_classes + self.chosen(), return_inverse=True, return_counts=True
        )
        return VoteCases(cells // self.n_classes, cells % self.n_classes, times, which)

    def disagreeing_pairs(self) -> Float[np.ndarray, "items"]:
        """The number of ordered pairs of answers about each item with different chosen classes: `m² - sum_c n_c²`."""
        alike = np.bincount(self.votes.item, weights=self.votes.times.astype(np.float64) ** 2, minlength=self.n_items)
        return np.asarray(self.per_item.astype(np.float64) ** 2 - alike)

    def item_sums(self) -> Float[np.ndarray, "items classes"]:
        """The sum of the soft beliefs about every item."""
        assert self.soft is not None
        return np.asarray(np.add.reduceat(self.soft, self.starts, axis=0))


@dataclass(frozen=True)
class Repeats:
    """Pairs of answers of one annotator about one item: the first, and a later one."""

    design: AnswerDesign
    """The item and the annotator of each pair."""
    before: CodedBeliefs
    after: CodedBeliefs

    @property
    def item(self) -> Int[np.ndarray, "pairs"]:
        return self.design.item

    @property
    def n_items(self) -> int:
        return self.design.n_items


@dataclass(frozen=True)
class ItemAnswers:
    """Beliefs, split into first answers (compared between annotators) and repeats (within annotators)."""

    first: FirstAnswers
    repeats: Repeats
    is_ordered: bool = False
    """Whether the classes are on a scale."""

    @classmethod
    def of(cls, beliefs: Beliefs, *, annotators_known: bool = True) -> ItemAnswers:
        """Sort the rows by item and annotator; the first row in the table is the first answer.

        If annotators are not known (Counts), each row is one of another annotator.
        """
        view = beliefs.coded()
        pair = view.item.astype(np.int64) * view.n_annotators + view.annotator
        order = np.argsort(pair, kind="stable")
        pair = pair[order]
        is_first = np.ones(len(pair), dtype=bool)
        is_first[1:] = pair[1:] != pair[:-1]
        first, repeats = _first_answers(view, order[is_first], annotators_known), _repeats(view, order, is_first)
        return cls(first, repeats, beliefs.is_ordered)

    @property
    def is_soft(self) -> bool:
        return self.first.soft is not None


def leading(probs: Float[np.ndarray, "rows classes"]) -> Bool[np.ndarray, "rows classes"]:
    """The most probable classes of each row; several if tied."""
    return np.asarray(probs >= probs.max(axis=1, keepdims=True) - TIE)


def _first_answers(view: CodedBeliefs, rows: Int[np.ndarray, "first"], annotators_known: bool) -> FirstAnswers:
    item = view.item[rows]
    n_people = np.bincount(item, minlength=view.n_items)
    pairable = n_people > 1
    kept = pairable[item]
    used = view.take(rows if kept.all() else rows[kept])
    design = AnswerDesign.of(used.item, used.annotator if annotators_known else None)
    return FirstAnswers(design, used.hard, used.soft, n_people[pairable], view.n_classes)


def _repeats(view: CodedBeliefs, order: Int[np.ndarray, "rows"], is_first: Bool[np.ndarray, "rows"]) -> Repeats:
    later = np.flatnonzero(~is_first)
    start = np.flatnonzero(is_first)[np.cumsum(is_first)[later] - 1]
    before, after = view.take(order[start]), view.take(order[later])
    return Repeats(AnswerDesign.of(after.item, after.annotator), before, after)
