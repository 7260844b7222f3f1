"""Lesson: what is known of the items a network learns from, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.errors import BadProbabilities, BadSetting, BadTable, ErrorLocation, show
from sfumato.tables.probabilities import check_classes, check_probs


@dataclass(frozen=True, eq=False)
class AnnotatorBeliefs:
    """Every annotator's belief about every item: the rows of item i are `starts[i]` up to `starts[i + 1]`."""

    rows: Float[np.ndarray, "rows classes"]
    starts: Int[np.ndarray, "bounds"]
    annotators: Int[np.ndarray, "rows"]
    """Who each row belongs to, by number."""
    n_annotators: int

    def __post_init__(self) -> None:
        bounds = np.asarray(self.starts)
        if len(bounds) == 0 or bounds[0] != 0 or bounds[-1] != len(self.rows) or (np.diff(bounds) < 0).any():
            raise BadTable(
                f"found bounds {show(bounds[:6].tolist())} for {len(self.rows):,} rows of beliefs",
                expected="bounds from 0 to the number of rows, none smaller than the one before",
                fix="sort the rows by item, and say where each item begins",
                code="wrong-shape",
            )
        if len(self.annotators) != len(self.rows):
            raise BadTable(
                f"found {len(self.annotators):,} annotators for {len(self.rows):,} rows of beliefs",
                expected="one annotator a row",
                fix="say whose every row is",
                code="wrong-shape",
            )
        wrong = (self.annotators < 0) | (self.annotators >= self.n_annotators)
        if wrong.any():
            raise BadTable(
                f"found the annotator number {int(self.annotators[np.argmax(wrong)])}",
                expected=f"numbers from 0 to {self.n_annotators - 1}",
                fix="number the annotators from 0",
                code="unknown-annotator",
            )

    def take(self, index: Int[np.ndarray, "kept"]) -> AnnotatorBeliefs:
        """The rows of some items, in the order asked for."""
        counts = np.diff(self.starts)[index]
        starts = np.concatenate(([0], np.cumsum(counts)))
        rows = np.arange(starts[-1]) + np.repeat(self.starts[:-1][index] - starts[:-1], counts)
        return AnnotatorBeliefs(self.rows[rows], starts, self.annotators[rows], self.n_annotators)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What is known of the items: whichever of the four sources there are, row i of each about `items[i]`.

    A target that needs a source which is not there says so, and how to give it.
    """

    items: tuple[str, ...]
    classes: tuple[str, ...]
    original: Int[np.ndarray, "items"] | None = None
    """The class the data set came with, by number."""
    people: Float[np.ndarray, "items classes"] | None = None
    """How people judge."""
    beliefs: AnnotatorBeliefs | None = None
    predicted: Float[np.ndarray, "items classes"] | None = None
    """What a teacher predicts: one model, or the mean of several."""

    def __post_init__(self) -> None:
        check_classes(self.classes)
        for name in ("people", "predicted"):
            probs = getattr(self, name)
            if probs is not None:
                self._check_rows(name, len(probs))
                self._check_probs(name, probs, np.arange(self.n_items))
        if self.original is not None:
            self._check_rows("original", len(self.original))
            if self.original.ndim != 1 or not np.issubdtype(self.original.dtype, np.integer):
                raise BadTable(
                    f"found original labels of type {self.original.dtype} in {self.original.ndim} dimensions",
                    expected="one whole number an item",
                    fix="number the classes in the order they are named in",
                    code="wrong-type",
                )
            wrong = (self.original < 0) | (self.original >= len(self.classes))
            if wrong.any():
                i = int(np.argmax(wrong))
                raise BadTable(
                    f"found the class number {int(self.original[i])} for item {show(self.items[i])}",
                    expected=f"numbers from 0 to {len(self.classes) - 1}",
                    fix="number the classes in the order they are named in",
                    code="unknown-class",
                )
        if self.beliefs is not None:
            self._check_rows("beliefs", len(self.beliefs.starts) - 1)
            item = np.repeat(np.arange(self.n_items), np.diff(self.beliefs.starts))
            self._check_probs("beliefs", self.beliefs.rows, item)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def take(self, index: Int[np.ndarray, "kept"]) -> TrainingSet:
        """The lesson about some of the items, in the order asked for."""
        # Numbers within bounds, whatever is handed in: a mask, read as numbers, would pick the first two items.
        index = np.arange(self.n_items)[index]
        return TrainingSet(
            tuple(self.items[i] for i in index),
            self.classes,
            None if self.original is None else self.original[index],
            None if self.people is None else self.people[index],
            None if self.beliefs is None else self.beliefs.take(index),
            None if self.predicted is None else self.predicted[index],
        )

    # --- what a target asks for ---

    def need_original(self, target: str) -> Int[np.ndarray, "items"]:
        return _needed(self.original, target, "the original label of every item", "--original")

    def need_people(self, target: str) -> Float[np.ndarray, "items classes"]:
        return _needed(self.people, target, "people's label of every item", "--labels")

    def need_beliefs(self, target: str) -> AnnotatorBeliefs:
        """Every annotator's belief, at least one about each item."""
        pool = _needed(self.beliefs, target, "every annotator's belief", "--beliefs")
        empty = np.flatnonzero(np.diff(pool.starts) == 0)
        if len(empty):
            raise BadTable(
                f"found no belief about item {show(self.items[empty[0]])} ({len(empty):,} such items)",
                expected="at least one belief about every item",
                fix=f"leave these items out, or leave out the target {target}",
                code="missing-belief",
            )
        return pool

    def need_predicted(self, target: str) -> Float[np.ndarray, "items classes"]:
        return _needed(self.predicted, target, "a teacher's predictions", "--teacher")

    def _check_rows(self, name: str, n_rows: int) -> None:
        if n_rows != len(self.items):
            raise BadTable(
                f"found {n_rows:,} rows of {name}",
                expected=f"{len(self.items):,}, one an item",
                fix="give one row an item, in the order of the items",
                code="wrong-shape",
            )

    def _check_probs(self, name: str, probs: Float[np.ndarray, "rows classes"], item: Int[np.ndarray, "rows"]) -> None:
        if probs.ndim != 2 or probs.shape[1] != len(self.classes):
            raise BadTable(
                f"found {name} of shape {probs.shape}",
                expected=f"{len(self.classes)} columns, one a class",
                fix="give one column a class, in the order of the classes",
                code="wrong-shape",
            )
        if not np.issubdtype(probs.dtype, np.floating):
            raise BadTable(
                f"found {name} of type {probs.dtype}",
                expected="probabilities as floats",
                fix="make them float64; counts have to be divided by their sum",
                code="wrong-type",
            )
        try:
            check_probs(probs)
        except BadProbabilities as error:
            about = self.items[item[error.where.row or 0]]
            raise BadProbabilities(
                f"{error.found}, for item {show(about)}",
                expected=error.expected,
                fix=error.fix,
                code=error.code,
                where=ErrorLocation(row=error.where.row, column=name),
            ) from None


def one_hot(numbers: Sequence[int] | np.ndarray, n_classes: int) -> Float[np.ndarray, "items classes"]:
    """Class numbers as distributions."""
    return np.eye(n_classes)[np.asarray(numbers, np.int64)]


T = TypeVar("T")


def _needed(source: T | None, target: str, what: str, option: str) -> T:
    if source is None:
        raise BadSetting(
            f"found no source for the target {target}",
            expected=what,
            fix=f"give it with {option}, or leave the target out",
            code="missing-source",
        )
    return source
