"""The input of the aggregators: answers sorted by item, each stored as one integer; with weights and gold labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse
from jaxtyping import Bool, Float, Int

from sfumato.aggregation.aggregation_options import AggregationInputs, gold_classes, without_weightless
from sfumato.aggregation.pass_engine import Engine, Progress
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts, without_annotators
from sfumato.tables.errors import BadTable, listing, no_rows, warn
from sfumato.tables.growable_array import freeze, is_sorted, occurrences
from sfumato.tables.row_numbers import check_same_rows

WORTH_COMPILED = 20_000
"""From this many answers, compiled code is faster than SciPy, including the time to load it."""
BLOCK_NUMBERS = 2**22
WORTH_COMPILING = 1_000_000
"""From this many answers, it is faster, including the time to compile it."""


@dataclass(frozen=True, eq=False)
class AnswerMatrix:
    """All answers, those to item i in rows `starts[i]` to `starts[i + 1]`.

    A hard answer is one integer: `key = annotator * n_classes + class`. Soft answers have the annotator in `key` (with
    class 0) and a distribution in `soft`. `weight` is the weight of each row, None if all are 1.
    """

    items: pa.StringArray
    annotators: pa.StringArray
    classes: tuple[str, ...]
    starts: Int[np.ndarray, "ends"]
    key: Int[np.ndarray, "rows"]
    soft: Float[np.ndarray, "rows classes"] | None
    weight: Float[np.ndarray, "rows"] | None
    gold: Int[np.ndarray, "items"] | None
    n_annotators_of: Int[np.ndarray, "items"]
    n_repeats: int
    engine: Engine
    progress: Progress
    anonymous: bool = False
    """Whether the annotators are not known: the answers come from Counts."""
    row_sources: tuple[str, ...] = ()
    """The files whose row numbers the ids of items are: see `tables/row_numbers.py`."""

    def __post_init__(self) -> None:
        freeze(self, "starts", "key", "soft", "weight", "gold", "n_annotators_of")

    @classmethod
    def of(cls, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> AnswerMatrix:
        """The answers in `beliefs`, sorted and checked; votes of Counts count as answers of unknown annotators."""
        inputs = inputs or AggregationInputs()
        if isinstance(beliefs, Counts):
            if inputs.weights is not None:
                raise without_annotators("weights of annotators")
            return replace(cls.of(beliefs.votes(), inputs), anonymous=True)
        if not len(beliefs):
            raise no_rows("at least one belief", "check how the beliefs were made", found="no answers")
        if inputs.weights is not None:
            beliefs = without_weightless(beliefs, inputs.weights)
        n_classes = len(beliefs.classes)
        _check_countable(len(beliefs.annotator.names), n_classes)
        coded = beliefs.coded()
        starts = np.zeros(coded.n_items + 1, np.int64)
        np.cumsum(occurrences(coded.item, coded.n_items), out=starts[1:])
        key = coded.annotator * np.int32(n_classes)
        if coded.hard is not None:
            key += coded.hard
        soft = coded.soft
        if not is_sorted(coded.item):
            ordered = np.empty_like(key)
            if soft is not None:
                order = np.argsort(coded.item, kind="stable")
                ordered, soft = key[order], soft[order]
            elif compiled_for(len(key)):
                from sfumato.aggregation import kernels

                kernels.order_by_item(coded.item, key, starts, ordered)
            else:
                ordered = key[np.argsort(coded.item, kind="stable")]
            key = ordered
        gold = None
        if inputs.gold is not None:
            check_same_rows(beliefs, inputs.gold)
            gold = gold_classes(inputs.gold, beliefs.item.names, beliefs.classes)
            if (gold < 0).all():
                expected, fix = "gold labels of items in the beliefs", "use the same item ids in both tables"
                raise BadTable("no gold label for any item that was answered", expected, fix, "missing-gold")
        counted = _annotator_counts(starts, key, n_classes, coded.n_annotators)
        weight = None
        if inputs.weights is not None:
            of_annotator = np.array([inputs.weights.get(name, 1.0) for name in beliefs.annotator.names.to_pylist()])
            weight = of_annotator[key // n_classes] if (of_annotator != 1).any() else None
        if counted.n_repeats and inputs.average_repeats:
            weight = (1.0 if weight is None else weight) / _times_answered(starts, key // n_classes)
        elif counted.n_repeats:
            warn_of_repeats(counted.n_repeats)
        return cls(
            beliefs.item.names,
            beliefs.annotator.names,
            beliefs.classes,
            starts,
            key,
            soft,
            weight,
            gold,
            counted.of_item,
            counted.n_repeats,
            inputs.engine,
            inputs.progress,
            row_sources=beliefs.row_sources,
        )

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_annotators(self) -> int:
        return len(self.annotators)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_keys(self) -> int:
        """The number of pairs of annotator and class."""
        return self.n_annotators * self.n_classes

    @cached_property
    def compiled(self) -> bool:
        """Whether passes over these answers use compiled code."""
        return compiled_for(len(self.key))

    @cached_property
    def n_answers(self) -> float:
        """The sum of the weights of all answers."""
        return float(len(self.key)) if self.weight is None else float(self.weight.sum())

    @property
    def annotator(self) -> Int[np.ndarray, "rows"]:
        return np.asarray(self.key // np.int32(self.n_classes))

    @property
    def item(self) -> Int[np.ndarray, "rows"]:
        return np.repeat(np.arange(self.n_items, dtype=np.int32), np.diff(self.starts))

    def probs(self) -> Float[np.ndarray, "rows classes"]:
        """The answers as distributions; hard votes are one-hot."""
        if self.soft is not None:
            return self.soft
        probs = np.zeros((len(self.key), self.n_classes))
        probs[np.arange(len(probs)), self.key % self.n_classes] = 1
        return probs

    def weights(self) -> Float[np.ndarray, "rows"]:
        """The weight of each answer."""
        return np.ones(len(self.key)) if self.weight is None else self.weight

    def vote_counts(self) -> Float[np.ndarray, "items classes"]:
        """The votes per item and class, beliefs as fractions of a vote."""
        counts = np.zeros((self.n_items, self.n_classes))
        for first, last in self.blocks():
            block = self.part(first, last)
            if block.soft is None:
                np.add.at(counts[first:last], (block.item, block.key % block.n_classes), block.weights())
            else:
                np.add.at(counts[first:last], block.item, block.weights()[:, None] * block.soft)
        return counts

    def blocks(self, n_rows: int = 0, *, numbers_per_row: int = 0) -> list[tuple[int, int]]:
        """Ranges of items with about `n_rows` answers each, to limit memory.

        The default is a few million numbers per block, with `numbers_per_row` (default: one per class) each.
        """
        n_rows = n_rows or max(BLOCK_NUMBERS // (numbers_per_row or self.n_classes), 1)
        ends = np.searchsorted(self.starts, np.arange(n_rows, self.starts[-1] + n_rows, n_rows), side="left")
        cuts = np.unique(np.concatenate([[0], np.minimum(ends, self.n_items)]))
        return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))

    def part(self, first: int, last: int) -> AnswerMatrix:
        """Only items `first` to `last`, with the same annotator numbers."""
        rows = slice(int(self.starts[first]), int(self.starts[last]))
        starts = self.starts[first : last + 1] - self.starts[first]
        return self._selected(self.items.slice(first, last - first), slice(first, last), starts, rows)

    def only(self, items: Bool[np.ndarray, "items"]) -> AnswerMatrix:
        """Only the chosen items, with the same annotator numbers."""
        n_answers = np.diff(self.starts)
        rows = np.flatnonzero(np.repeat(items, n_answers))
        starts = np.concatenate([[0], np.cumsum(n_answers[items])])
        return self._selected(self.items.filter(pa.array(items)), items, starts, rows)

    def _selected(self, names: pa.StringArray, items: Any, starts: np.ndarray, rows: Any) -> AnswerMatrix:
        """Only `items` (called `names`) and `rows`, each a slice, a mask or indices."""
        return replace(
            self,
            items=names,
            starts=starts,
            key=self.key[rows],
            soft=None if self.soft is None else self.soft[rows],
            weight=None if self.weight is None else self.weight[rows],
            gold=None if self.gold is None else self.gold[items],
            n_annotators_of=self.n_annotators_of[items],
        )

    def weighted(self, of_annotator: Float[np.ndarray, "annotators"]) -> AnswerMatrix:
        """The same with the answers of each annotator multiplied by a weight of at least 1e-9."""
        weight = np.maximum(of_annotator, 1e-9)[self.annotator]
        return replace(self, weight=weight if self.weight is None else weight * self.weight)

    def authors(self, group: Int[np.ndarray, "rows"] | None = None) -> Int[np.ndarray, "rows"] | None:
        """A number per pair of annotator and item (or `group`); None if every pair has one row.

        A pair has several rows if the annotator answered again, or if a belief is stored as fractional votes.
        """
        if len(self.key) == self.n_annotators_of.sum():
            return None
        pair = (self.item if group is None else group).astype(np.int64) * self.n_annotators + self.annotator
        return np.asarray(np.unique(pair, return_inverse=True)[1])

    def of_author(self, values: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
        """For every row, the sum of `values` over all rows of the same annotator and item."""
        author = self.authors()
        if author is None:
            return values
        total = np.zeros((int(author.max()) + 1, values.shape[1]))
        np.add.at(total, author, values)
        return np.asarray(total[author])

    def as_votes(self) -> AnswerMatrix:
        """Soft answers as fractional votes: a belief of 0.7 cat and 0.3 dog becomes two votes with these weights."""
        if self.soft is None:
            return self
        row, said = np.nonzero(self.soft)
        ends = np.concatenate([[0], np.cumsum(np.count_nonzero(self.soft, axis=1))])
        weight = self.soft[row, said] * (1.0 if self.weight is None else self.weight[row])
        key = (self.key[row] + said).astype(np.int32)
        return replace(self, starts=ends[self.starts], key=key, soft=None, weight=weight)

    @cached_property
    def matrix(self) -> scipy.sparse.csr_array:
        """The weights of votes as a matrix, items x (annotator, class); used by SciPy for few answers."""
        return scipy.sparse.csr_array((self.weights(), self.key, self.starts), shape=(self.n_items, self.n_keys))

    @cached_property
    def answers_of(self) -> Int[np.ndarray, "annotators"]:
        """The number of answers of each annotator."""
        per_key = occurrences(self.key, self.n_keys)
        return np.asarray(per_key.reshape(self.n_annotators, self.n_classes).sum(axis=1))

    @cached_property
    def votes_per_key(self) -> Float[np.ndarray, "keys"]:
        """The weighted count of each pair of annotator and class."""
        return occurrences(self.key, self.n_keys, self.weight).astype(np.float64)

    def joined(self, more: AnswerMatrix) -> AnswerMatrix:
        """These answers and `more`; items and annotators are matched by name, new ones appended."""
        if self.classes != more.classes:
            found, fix = f"beliefs over {listing(more.classes)}", "use the same class names in the same order"
            raise BadTable(found, f"the classes of the previous beliefs: {listing(self.classes)}", fix, "bad-classes")
        sources = check_same_rows(self, more)
        items, item_of = _joined_names(self.items, more.items)
        annotators, annotator_of = _joined_names(self.annotators, more.annotators)
        n_classes = np.int32(self.n_classes)
        _check_countable(len(annotators), self.n_classes)
        item = np.concatenate([self.item, item_of[more.item]])
        key = np.concatenate([self.key, annotator_of[more.annotator] * n_classes + more.key % n_classes])
        order = np.argsort(item, kind="stable")
        starts = np.zeros(len(items) + 1, np.int64)
        np.cumsum(np.bincount(item, minlength=len(items)), out=starts[1:])
        key = key[order]
        soft = None
        if self.soft is not None or more.soft is not None:
            soft = np.concatenate([self.probs(), more.probs()])[order]
            key -= key % n_classes
        weight = None
        if self.weight is not None or more.weight is not None:
            weight = np.concatenate([self.weights(), more.weights()])[order]
        counted = _annotator_counts(starts, key, self.n_classes, len(annotators))
        return replace(
            self,
            items=items,
            annotators=annotators,
            starts=starts,
            key=key,
            soft=soft,
            weight=weight,
            gold=_joined_gold(self, more, item_of, len(items)),
            n_annotators_of=counted.of_item,
            n_repeats=counted.n_repeats,
            row_sources=sources,
        )


def warn_of_repeats(n_repeats: int) -> None:
    """Warn that annotators answered an item again."""
    remedy = "each counts as a separate answer (use --average-repeats to count each annotator once)"
    warn(f"found {n_repeats:,} repeated answers of an annotator to an item; {remedy}")


def compiled_for(n_rows: int) -> bool:
    """Whether to use compiled code for `n_rows` answers: always if many, else if it is already compiled."""
    if n_rows < WORTH_COMPILED:
        return False
    if n_rows >= WORTH_COMPILING:
        return True
    from sfumato.aggregation import kernels

    return kernels.is_built()


@dataclass(frozen=True)
class _AnnotatorCounts:
    """The number of annotators of each item, and the number of repeated answers."""

    of_item: Int[np.ndarray, "items"]
    n_repeats: int


def _annotator_counts(starts: np.ndarray, key: np.ndarray, n_classes: int, n_annotators: int) -> _AnnotatorCounts:
    n_items = len(starts) - 1
    of_item = np.empty(n_items, np.int32)
    if compiled_for(len(key)):
        from sfumato.aggregation import kernels

        room = np.full(n_annotators, -1, np.int32)
        return _AnnotatorCounts(of_item, int(kernels.distinct_annotators(starts, key, n_classes, room, of_item)))
    item = np.repeat(np.arange(n_items), np.diff(starts))
    pairs = np.unique(item * n_annotators + key // n_classes)
    of_item[:] = np.bincount(pairs // n_annotators, minlength=n_items)
    return _AnnotatorCounts(of_item, len(key) - len(pairs))


def _times_answered(starts: np.ndarray, annotator: np.ndarray) -> Float[np.ndarray, "rows"]:
    """For every row, the number of answers of its annotator to its item."""
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    _, inverse, times = np.unique(
        item * (int(annotator.max()) + 1) + annotator, return_inverse=True, return_counts=True
    )
    return times[inverse].astype(np.float64)


def _joined_gold(old: AnswerMatrix, more: AnswerMatrix, item_of: np.ndarray, n_items: int) -> np.ndarray | None:
    if old.gold is None and more.gold is None:
        return None
    gold = np.full(n_items, -1, np.int32)
    if old.gold is not None:
        gold[: old.n_items] = old.gold
    if more.gold is not None:
        gold[item_of[more.gold >= 0]] = more.gold[more.gold >= 0]
    return gold


def _joined_names(names: pa.StringArray, more: pa.StringArray) -> tuple[pa.StringArray, np.ndarray]:
    """The union of both lists, and the index in it of each of `more`."""
    place = pc.index_in(more, value_set=names)
    is_new = place.is_null().to_numpy(zero_copy_only=False)
    at = place.fill_null(0).to_numpy().astype(np.int32)
    at[is_new] = len(names) + np.arange(is_new.sum())
    return pa.concat_arrays([names, more.filter(pa.array(is_new))]), at


def _check_countable(n_annotators: int, n_classes: int) -> None:
    if n_annotators * n_classes >= 2**31:
        found = f"{n_annotators:,} annotators and {n_classes:,} classes"
        fix = "split the annotators into groups, or merge classes"
        raise BadTable(found, "fewer than 2,147,483,648 pairs of them", fix, "too-many-pairs")
