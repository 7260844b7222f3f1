"""Predictions matched with people's labels by item and class: the input of every metric."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int

from sfumato.tables.class_order import check_same_scale
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadTable, listing, select_command, show
from sfumato.tables.estimand import check_roles
from sfumato.tables.row_numbers import check_row_numbers, check_same_rows
from sfumato.tables.soft_labels import SoftLabels

if TYPE_CHECKING:
    from sfumato.evaluation.people_jackknife import JackknifeAnswers

ROWS_AT_ONCE = 2**16
NEARLY_WHOLE = 1e-4
"""A share times the number of votes may differ from a whole number by this much: files hold rounded shares."""


@dataclass(frozen=True, eq=False)
class MatchedLabels:
    """Predictions and people's labels for the same items and classes, in the same order.

    `original` is the original label of each item, if known. Arrays that several metrics use are computed once.
    """

    items: pa.StringArray
    classes: tuple[str, ...]
    predicted: Float[np.ndarray, "items classes"]
    people: Float[np.ndarray, "items classes"]
    original: Int[np.ndarray, "items"] | None = None
    n_annotators: Int[np.ndarray, "items"] | None = None
    """How many people answered about each item, if known."""
    made_by: str | None = None
    """How people's labels were made, if known."""
    class_order: tuple[int, ...] | None = None
    """The columns from the lowest class to the highest, if the classes are ordered."""
    chosen_by_votes: bool = False
    """Whether these items were chosen by the votes behind their labels, which are then no random samples."""
    answers: JackknifeAnswers | None = None
    """The single answers that people's labels are the mean of, if known."""

    def __len__(self) -> int:
        return len(self.predicted)

    def take(self, rows: Int[np.ndarray, "some"]) -> MatchedLabels:
        """Only these rows."""
        arrays = {
            field.name: value[rows]
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        answers = None if self.answers is None else self.answers.take(rows)
        return replace(self, items=self.items.take(pa.array(rows)), answers=answers, **arrays)

    @cached_property
    def confidence(self) -> Float[np.ndarray, "items"]:
        """The probability of the most probable class."""
        return np.asarray(self.predicted.max(axis=1))

    @cached_property
    def by_confidence(self) -> Int[np.ndarray, "items"]:
        """The rows in order of confidence, the least confident first; ties keep their order."""
        return np.argsort(self.confidence, kind="stable")

    @cached_property
    def predicted_first(self) -> Bool[np.ndarray, "items classes"]:
        """The most probable class; several if tied."""
        return _firsts(self.predicted)

    @cached_property
    def people_first(self) -> Bool[np.ndarray, "items classes"]:
        """The class most people chose; several if tied."""
        return _firsts(self.people)

    @cached_property
    def predicted_second(self) -> Bool[np.ndarray, "items classes"]:
        """The classes that could be the second choice if ties were broken at random."""
        return _seconds(self.predicted, self.predicted_first)

    @cached_property
    def people_second(self) -> Bool[np.ndarray, "items classes"]:
        """The classes that could be people's second choice; one if first and second choice are both unique."""
        return _seconds(self.people, self.people_first)

    @cached_property
    def right(self) -> Float[np.ndarray, "items"]:
        """Whether the most probable class is people's: 1 or 0, or its probability if ties are broken at random."""
        one, other = self.predicted_first, self.people_first
        return np.asarray((one & other).sum(axis=1) / (one.sum(axis=1) * other.sum(axis=1)))

    @cached_property
    def right_originally(self) -> Float[np.ndarray, "items"]:
        """Whether the most probable class is the original label: 1 or 0, or its share if tied."""
        assert self.original is not None
        first = self.predicted_first
        return np.asarray(first[np.arange(len(self)), self.original] / first.sum(axis=1))

    @cached_property
    def gaps(self) -> Float[np.ndarray, "items"]:
        """Confidence minus `right`: 0 on average for a calibrated model."""
        return np.asarray(self.confidence - self.right)

    @cached_property
    def predicted_entropy(self) -> Float[np.ndarray, "items"]:
        return entropy(self.predicted)

    @cached_property
    def people_entropy(self) -> Float[np.ndarray, "items"]:
        return entropy(self.people)

    @cached_property
    def cross_entropies(self) -> Float[np.ndarray, "items"]:
        """-sum q ln p; infinite if people chose a class of predicted probability 0."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.predicted, out=np.zeros(self.predicted.shape), where=self.people > 0)
        return np.asarray(0.0 - np.einsum("ik,ik->i", self.people, logs))

    @cached_property
    def squared_distances(self) -> Float[np.ndarray, "items"]:
        """sum (p - q)^2."""
        apart = self.predicted - self.people
        return np.asarray(np.einsum("ik,ik->i", apart, apart))

    @cached_property
    def vote_counts(self) -> Int[np.ndarray, "items classes"] | None:
        """The votes behind people's labels, if these are shares of whole votes of a known number of people."""
        if self.n_annotators is None or self.vote_problem:
            return None
        return np.asarray(np.rint(self.people * self.n_annotators[:, None]), np.int64)

    @cached_property
    def vote_problem(self) -> str:
        """Why people's labels are not known to be whole votes; empty if they are."""
        n = self.n_annotators
        if n is None or not len(n):
            return "the number of annotators per item is not known (column n_annotators)"
        if n.min() < 1:
            return f"item {show(self.items[int(np.argmin(n))].as_py())} has the label of {int(n.min())} annotators"
        off = np.zeros(len(self), bool)
        for share in self.people.T:
            off |= np.abs(share * n - np.rint(share * n)) > NEARLY_WHOLE
        if not off.any():
            return ""
        row = int(np.argmax(off))
        share = self.people[row][np.argmax(np.abs(self.people[row] * n[row] - np.rint(self.people[row] * n[row])))]
        made_by = "" if self.made_by is None else f" (labels made by {self.made_by})"
        which = f"{int(off.sum()):,} of {len(self):,} labels are not shares of whole votes{made_by}: item "
        return which + f"{show(self.items[row].as_py())} has a share of {share:.4g} and {int(n[row])} annotators"

    @cached_property
    def js_divergences(self) -> Float[np.ndarray, "items"]:
        """The Jensen-Shannon divergence in nats, `sum m h((p - q) / (p + q))` with m = (p + q) / 2 and
        `h(d) = ((1 + d) ln(1 + d) + (1 - d) ln(1 - d)) / 2`: no term is negative, and equals give exactly 0."""
        found = np.empty(len(self))
        for start in range(0, len(self), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            both = self.predicted[rows] + self.people[rows]
            apart = np.divide(self.predicted[rows] - self.people[rows], both, out=np.zeros(both.shape), where=both > 0)
            # At -1 and 1 one of the two terms is 0 ln 0.
            terms = (1 + apart) * np.log1p(apart, out=np.zeros(both.shape), where=apart > -1)
            terms += (1 - apart) * np.log1p(-apart, out=np.zeros(both.shape), where=apart < 1)
            found[rows] = np.einsum("ik,ik->i", both, terms) / 4
        return np.maximum(found, 0.0)


def _firsts(probs: Float[np.ndarray, "items classes"]) -> Bool[np.ndarray, "items classes"]:
    return np.asarray(probs == probs.max(axis=1, keepdims=True))


def _seconds(
    probs: Float[np.ndarray, "items classes"], first: Bool[np.ndarray, "items classes"]
) -> Bool[np.ndarray, "items classes"]:
    """The second most probable classes; if several are first, one of them is second."""
    second = _firsts(np.where(first, -1.0, probs))
    return np.where(first.sum(axis=1, keepdims=True) > 1, first, second)


def match_labels(
    *,
    predicted: SoftLabels,
    people: SoftLabels,
    original: SoftLabels | None = None,
    common: bool = False,
    any_estimand: bool = False,
) -> MatchedLabels:
    """Match predictions with people's labels by item and class name.

    People may have judged more items than were predicted. A prediction for an item that nobody judged is an error,
    unless `common` restricts both to the common items. `original` holds the original labels as one-hot rows. Labels
    that are not people's, as far as they record it, are an error unless `any_estimand`.
    """
    check_roles(predicted, people, any_estimand=any_estimand)
    columns = _columns_of(predicted, people)
    found = pc.index_in(predicted.items, value_set=people.items)
    if not len(predicted):
        raise BadTable("no predictions", "at least one", "check how the file was made", "no-items", predicted.path)
    if found.null_count == len(found):
        ours, theirs = (listing(each.items[:3].to_pylist()) for each in (predicted, people))
        text = f"items {ours}, of which people judged none ({theirs})"
        expected, fix = "predictions of items that people judged", "give both tables the same ids"
        raise BadTable(text, expected, fix, "no-common-items", predicted.path)
    check_same_rows(predicted, people, original)
    check_row_numbers(predicted.items, people.items)
    if found.null_count and not common:
        missing = predicted.items.filter(found.is_null())[0].as_py()
        text = f"{found.null_count:,} of {len(found):,} items that nobody judged, the first {show(missing)}"
        keep = select_command(predicted.path, people.path, "predictions.parquet")
        fix = f"score only the common items (--common), or remove the others: {keep}"
        raise BadTable(text, "people's label for every item predicted", fix, "missing-item", predicted.path)
    rows = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
    judged = found.drop_null().to_numpy().astype(np.int64)
    items = predicted.items.take(pa.array(rows))
    everything = len(rows) == len(predicted)
    return MatchedLabels(
        items,
        predicted.classes,
        predicted.probs if everything else predicted.probs[rows],
        people.probs[judged][:, columns],
        None if original is None else _original_of(original, items, predicted.classes),
        None if people.n_annotators is None else people.n_annotators[judged],
        people.made_by,
        _class_order(predicted, people),
    )


def _columns_of(predicted: SoftLabels, other: SoftLabels) -> list[int]:
    """The column in `other` of each class of the predictions."""
    if set(predicted.classes) != set(other.classes):
        expected = f"those of {other.path or 'the other table'}: {listing(other.classes)}"
        fix = "use the same class names in both tables; their order does not matter"
        raise BadTable(f"the classes {listing(predicted.classes)}", expected, fix, "other-classes", predicted.path)
    return [other.classes.index(name) for name in predicted.classes]


def _class_order(predicted: SoftLabels, people: SoftLabels) -> tuple[int, ...] | None:
    """The columns of the predictions in the order of the scale; people's scale counts."""
    check_same_scale(predicted.classes, people.classes, predicted.path)
    scale = next((each.classes for each in (people, predicted) if each.is_ordered), None)
    return None if scale is None else tuple(predicted.classes.index(name) for name in scale)


def _original_of(original: SoftLabels, items: pa.StringArray, classes: tuple[str, ...]) -> Int[np.ndarray, "items"]:
    """The original label of each of `items`, as its index in `classes`."""
    for name in original.classes:
        if name not in classes:
            found, expected = f"class {show(name)}", f"the classes predicted: {listing(classes)}"
            raise BadTable(found, expected, "use the same class names in both tables", "other-classes", original.path)
    place = np.array([classes.index(name) for name in original.classes])
    rows = original.rows_of(items)
    sure = original.probs[rows].max(axis=1)
    if (sure < 1).any():
        row = int(np.argmax(sure < 1))
        found = f"an original label that is not one-hot, of item {show(items[row].as_py())}"
        fix = "give one original class per item, or omit the original labels"
        raise BadTable(found, "one class per item", fix, "soft-original", original.path)
    return np.asarray(place[original.probs[rows].argmax(axis=1)])
