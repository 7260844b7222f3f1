"""TrainingSet: inputs and labels of the items that models are trained on, row by row."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.tables.columns import check_classes, check_probs
from sfumato.tables.errors import (
    BadProbabilities,
    BadSetting,
    BadTable,
    ErrorLocation,
    listing,
    select_command,
    show,
    wrong_shape,
)
from sfumato.tables.estimand import Estimand, check_estimand
from sfumato.tables.model_inputs import Images
from sfumato.tables.option_words import is_command, option
from sfumato.tables.row_numbers import items_like

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class AnnotatorBeliefs:
    """Beliefs grouped by item: the rows of item i are `starts[i]` up to `starts[i + 1]`."""

    rows: Float[np.ndarray, "rows classes"]
    starts: Int[np.ndarray, "bounds"]
    annotators: Int[np.ndarray, "rows"]
    """The annotator of each row, by number."""
    n_annotators: int

    def __post_init__(self) -> None:
        bounds = np.asarray(self.starts)
        if len(bounds) == 0 or bounds[0] != 0 or bounds[-1] != len(self.rows) or (np.diff(bounds) < 0).any():
            found = f"bounds {show(bounds[:6].tolist())} for {len(self.rows):,} rows of beliefs"
            expected = "bounds from 0 to the number of rows, in increasing order"
            raise wrong_shape(found, expected, "sort the rows by item and state where each item begins")
        if len(self.annotators) != len(self.rows):
            found = f"{len(self.annotators):,} annotators for {len(self.rows):,} rows of beliefs"
            raise wrong_shape(found, "one annotator per row", "give the annotator of every row")
        wrong = (self.annotators < 0) | (self.annotators >= self.n_annotators)
        if wrong.any():
            found, code = f"the annotator number {int(self.annotators[np.argmax(wrong)])}", "unknown-annotator"
            raise BadTable(found, f"numbers from 0 to {self.n_annotators - 1}", "number the annotators from 0", code)

    def take(self, index: Int[np.ndarray, "kept"]) -> AnnotatorBeliefs:
        """The rows of some items, in the order of `index`."""
        rows, starts = rows_of_items(self.starts, index)
        return AnnotatorBeliefs(self.rows[rows], starts, self.annotators[rows], self.n_annotators)


def rows_of_items(
    starts: Int[np.ndarray, "bounds"], index: Int[np.ndarray, "kept"]
) -> tuple[Int[np.ndarray, "rows"], Int[np.ndarray, "new_bounds"]]:
    """The rows of some items, and where each of these items starts; the rows of item i start at `starts[i]`."""
    counts = np.diff(starts)[index]
    new = np.concatenate(([0], np.cumsum(counts)))
    return np.arange(new[-1]) + np.repeat(starts[:-1][index] - new[:-1], counts), new


PEOPLE, ORIGINAL = "people", "original"
"""The label set of targets that name none, and the original classes."""


@dataclass(frozen=True, eq=False)
class NamedLabels:
    """The labels of one label set, of some or all items; row i of each array is about item i."""

    probs: Float[np.ndarray, "items classes"]
    """Rows of items without a label are 0."""
    known: Bool[np.ndarray, "items"]
    """Which items have a label."""
    estimand: Estimand | None = None
    made_by: str | None = None

    @property
    def is_complete(self) -> bool:
        return bool(self.known.all())

    @property
    def is_one_hot(self) -> bool:
        """Whether every label is one class: hard labels."""
        return bool((self.probs[self.known].max(axis=1) == 1).all())

    def take(self, index: Int[np.ndarray, "kept"]) -> NamedLabels:
        return NamedLabels(self.probs[index], self.known[index], self.estimand, self.made_by)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Items with the label sources that are available; row i of each is about `items[i]`.

    A target that needs a missing source raises an error that names the option for it.
    """

    items: tuple[str, ...]
    classes: tuple[str, ...]
    original: Int[np.ndarray, "items"] | None = None
    """The original class of each item, by number."""
    people: Float[np.ndarray, "items classes"] | None = None
    """People's soft labels."""
    beliefs: AnnotatorBeliefs | None = None
    predicted: Float[np.ndarray, "items classes"] | None = None
    """A teacher's predictions: one model, or the mean of several."""
    images: Images = field(default_factory=lambda: np.zeros((0, 0, 0), np.uint8))
    """What models see; empty in a set that has texts or features, or only labels."""
    notes: tuple[str, ...] = ()
    """Which items were left out, for people to read."""
    estimand: Estimand | None = None
    """The estimand of people's labels; None if it is unknown or does not matter."""
    made_by: str | None = None
    """How people's labels were made."""
    features: np.ndarray | csr_array | None = None
    texts: tuple[str, ...] | None = None
    weights: Float[np.ndarray, "items"] | None = None
    """How much each item counts in training; None if all count the same."""
    label_sets: Mapping[str, NamedLabels] = field(default_factory=dict)
    """Labels by the name of their set: all except people's, unless people's are labels of some items only."""

    def __post_init__(self) -> None:
        check_classes(self.classes)
        if len(self.images):
            self._check_rows("images", len(self.images))
        if self.features is not None:
            self._check_rows("features", self.features.shape[0])
        if self.texts is not None:
            self._check_rows("texts", len(self.texts))
        if self.weights is not None:
            self._check_rows("weights", len(self.weights))
            if not (np.isfinite(self.weights) & (self.weights >= 0)).all() or not self.weights.any():
                fix = "give numbers of at least 0, and not only zeros"
                raise BadTable("weights that are negative or not finite, or all 0", "finite weights", fix, "bad-number")
        for name, each in self.label_sets.items():
            self._check_rows(name, len(each.probs))
            self._check_rows(name, len(each.known))
            self._check_probs(name, each.probs[each.known], np.flatnonzero(each.known))
        for name in ("people", "predicted"):
            probs = getattr(self, name)
            if probs is not None:
                self._check_rows(name, len(probs))
                self._check_probs(name, probs, np.arange(self.n_items))
        if self.original is not None:
            self._check_rows("original", len(self.original))
            if self.original.ndim != 1 or not np.issubdtype(self.original.dtype, np.integer):
                found = f"original labels of type {self.original.dtype} in {self.original.ndim} dimensions"
                expected = "one integer per item"
                raise BadTable(found, expected, "number the classes in the order of their names", "wrong-type")
            wrong = (self.original < 0) | (self.original >= len(self.classes))
            if wrong.any():
                i = int(np.argmax(wrong))
                found = f"the class number {int(self.original[i])} for item {show(self.items[i])}"
                expected = f"numbers from 0 to {len(self.classes) - 1}"
                raise BadTable(found, expected, "number the classes in the order of their names", "unknown-class")
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
        """Some of the items, in the order of `index`."""
        # Converts masks to row numbers: a mask used as row numbers would select the first two items.
        index = np.arange(self.n_items)[index]
        return TrainingSet(
            items_like((self.items[i] for i in index), self.items),
            self.classes,
            None if self.original is None else self.original[index],
            None if self.people is None else self.people[index],
            None if self.beliefs is None else self.beliefs.take(index),
            None if self.predicted is None else self.predicted[index],
            self.images[index] if len(self.images) else self.images,
            self.notes,
            self.estimand,
            self.made_by,
            None if self.features is None else self.features[index],
            None if self.texts is None else tuple(self.texts[i] for i in index),
            None if self.weights is None else self.weights[index],
            {name: each.take(index) for name, each in self.label_sets.items()},
        )

    @property
    def kind(self) -> str:
        """What models see: `images`, `texts`, `features`, or `labels` if there are no inputs."""
        if self.texts is not None:
            return "texts"
        return "features" if self.features is not None else "images" if len(self.images) else "labels"

    def hashes(self) -> dict[str, str]:
        """A SHA-256 of each source, stored with every run."""
        parts: dict[str, list[Any]] = {
            name: [each]
            for name in ("items", "classes", "images", "original", "people", "predicted", "texts", "weights")
            if (each := getattr(self, name)) is not None
        }
        parts |= {f"labels.{name}": [each.probs, each.known] for name, each in self.label_sets.items()}
        if self.beliefs is not None:
            parts["beliefs"] = [self.beliefs.rows, self.beliefs.starts]
        if isinstance(self.features, np.ndarray):
            parts["features"] = [self.features]
        elif self.features is not None:
            parts["features"] = [self.features.data, self.features.indices, self.features.indptr]
        return {name: digest_of(*each) for name, each in parts.items()}

    # --- label sets ---

    @property
    def reference(self) -> Float[np.ndarray, "items classes"] | None:
        """Used as people's labels where no target chooses them: `people`, else the first complete label set."""
        complete = (each.probs for each in self.label_sets.values() if each.is_complete)
        return next(complete, None) if self.people is None else self.people

    @property
    def set_names(self) -> list[str]:
        """The names of all label sets, without the original classes."""
        return [*([PEOPLE] if self.people is not None else []), *self.label_sets]

    def named_set(self, name: str) -> NamedLabels | None:
        """The label set called `name`; None if there is none."""
        everything = np.ones(self.n_items, bool)
        if name == ORIGINAL and self.original is not None:
            return NamedLabels(one_hot(self.original, self.n_classes), everything)
        if name == PEOPLE and self.people is not None:
            return NamedLabels(self.people, everything, self.estimand, self.made_by)
        return self.label_sets.get(name)

    def labeled_by(self, name: str, rest: str | None, target: str, *, hard: bool = False) -> TrainingSet:
        """The same items with the label set `name` as people's labels, and `rest` for items that it has no label for.

        With `hard`, the classes of a set of hard labels are the original classes.
        """
        own = _needed(self.named_set(name), f"{target}@{name}", "labels of this set", given_as(name))
        probs, missing = own.probs, ~own.known
        if hard and not own.is_one_hot:
            found, expected = f"the target {target}@{name} of soft labels", "a set of hard labels, or --original"
            raise BadSetting(found, expected, f"write majority@{name}, or {target} for the original classes")
        if missing.any() and rest is not None:
            filling = _needed(self.named_set(rest), f"{target} of the rest", f"the labels {rest}", given_as(rest))
            probs = np.where(missing[:, None], filling.probs, probs)
            missing = missing & ~filling.known
        if missing.any():
            sets = name if rest is None else f"{name}, nor of {rest},"
            raise self._no_label(f"label of {sets} for", missing, target, rest)
        classes = probs.argmax(axis=1) if hard else self.original
        return replace(self, people=probs, original=classes, estimand=own.estimand, made_by=own.made_by)

    def with_beliefs_for_all(self, rest: str, target: str) -> TrainingSet:
        """The same items, where those without a belief have their label in the set `rest` as their only belief: that
        of one more annotator."""
        pool = _needed(self.beliefs, target, "the belief of every annotator", "--beliefs")
        n_rows = np.diff(pool.starts)
        missing = n_rows == 0
        if not missing.any():
            return self
        filling = _needed(self.named_set(rest), f"{target} of the rest", f"the labels {rest}", given_as(rest))
        if (missing & ~filling.known).any():
            raise self._no_label(f"belief, nor a label of {rest}, for", missing & ~filling.known, target, rest)
        at = pool.starts[:-1][missing]
        rows = np.insert(pool.rows, at, filling.probs[missing], axis=0)
        annotators = np.insert(pool.annotators, at, pool.n_annotators)
        starts = np.concatenate(([0], np.cumsum(np.maximum(n_rows, 1)))).astype(np.int64)
        return replace(self, beliefs=AnnotatorBeliefs(rows, starts, annotators, pool.n_annotators + 1))

    def _no_label(
        self, what: str, missing: Bool[np.ndarray, "items"], target: str, rest: str | None = None
    ) -> BadTable:
        """The error for items without a label that a target needs."""
        n_missing = int(missing.sum())
        more = f" ({n_missing:,} such items)" if n_missing > 1 else ""
        found = f"no {what} item {show(self.items[int(np.argmax(missing))])}{more}"
        can_fill = rest is None and self.original is not None
        instead = f"take their original classes ({option('rest', ORIGINAL)}), " if can_fill else ""
        keep = select_command(None, "labels.parquet", "inputs.npz")
        fix = f"{instead}leave these items out ({keep}), or leave out the target {target}"
        return BadTable(found, "a label for every item", fix, "missing-item")

    # --- sources that targets need ---

    def need_original(self, target: str) -> Int[np.ndarray, "items"]:
        instead = "or use people's first choice: majority, shuffled:by=majority, class-level:by=majority"
        return _needed(self.original, target, "the original label for every item", "--original", instead)

    def need_people(self, target: str, *, hard: bool = False) -> Float[np.ndarray, "items classes"]:
        """People's labels: how people judge, or any estimand if only the most probable class is used (`hard`)."""
        if not hard:
            fix = "give labels made by mean or bayes, or train on majority"
            check_estimand(self, (Estimand.JUDGMENT,), f"labels for the target {target}", fix)
        partial = self.label_sets.get(PEOPLE)
        if self.people is None and partial is not None:
            raise self._no_label("label of people for", ~partial.known, target)
        if self.people is None and self.label_sets:
            found, fix = f"no label set for the target {target}", f"write {target}@{next(iter(self.label_sets))}"
            raise BadSetting(found, f"one of {listing([*self.label_sets])}", fix, "missing-source")
        return _needed(self.people, target, "people's label for every item", "--labels")

    def need_beliefs(self, target: str) -> AnnotatorBeliefs:
        """Beliefs, at least one per item."""
        pool = _needed(self.beliefs, target, "the belief of every annotator", "--beliefs")
        empty = np.flatnonzero(np.diff(pool.starts) == 0)
        if len(empty):
            found = f"no belief about item {show(self.items[empty[0]])} ({len(empty):,} such items)"
            keep = select_command(None, "beliefs.parquet")
            rest = next((name for name in (PEOPLE, ORIGINAL) if self.named_set(name) is not None), None)
            instead = f"take another label for them ({option('rest', rest)}), " if rest else ""
            fix = f"{instead}leave these items out ({keep}), or leave out the target {target}"
            raise BadTable(found, "at least one belief about every item", fix, "missing-belief")
        return pool

    def need_predicted(self, target: str) -> Float[np.ndarray, "items classes"]:
        return _needed(self.predicted, target, "a teacher's predictions", "--teacher")

    def _check_rows(self, name: str, n_rows: int) -> None:
        if n_rows != len(self.items):
            fix = "give one row per item, in the order of the items"
            raise wrong_shape(f"{n_rows:,} rows of {name}", f"{len(self.items):,}, one per item", fix)

    def _check_probs(self, name: str, probs: Float[np.ndarray, "rows classes"], item: Int[np.ndarray, "rows"]) -> None:
        if probs.ndim != 2 or probs.shape[1] != len(self.classes):
            fix = "give one column per class, in the order of the classes"
            raise wrong_shape(f"{name} of shape {probs.shape}", f"{len(self.classes)} columns, one per class", fix)
        if not np.issubdtype(probs.dtype, np.floating):
            fix = "convert them to float64; divide counts by their sum"
            raise BadTable(f"{name} of type {probs.dtype}", "probabilities as floats", fix, "wrong-type")
        try:
            check_probs(probs)
        except BadProbabilities as error:
            about = self.items[item[error.where.row or 0]]
            found, where = f"{error.found}, for item {show(about)}", ErrorLocation(row=error.where.row, column=name)
            raise BadProbabilities(found, error.expected, error.fix, error.code, where) from None


def digest_of(*parts: np.ndarray | Sequence[str]) -> str:
    """A SHA-256 of arrays and texts, by values and shapes; the memory layout does not matter."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update("\0".join([str(len(part)), *part]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def one_hot(numbers: Sequence[int] | np.ndarray, n_classes: int) -> Float[np.ndarray, "items classes"]:
    """Class numbers as distributions."""
    return np.eye(n_classes)[np.asarray(numbers, np.int64)]


def given_as(label_set: str) -> str:
    """How a label set or the original classes are given, in messages."""
    if label_set == ORIGINAL:
        return "--original"
    return f"--labels {label_set}=FILE" if is_command() else f'{{"{label_set}": labels}}'


T = TypeVar("T")


def _needed(source: T | None, target: str, what: str, option: str, instead: str = "or leave the target out") -> T:
    if source is None:
        found = f"no source for the target {target}"
        raise BadSetting(found, what, f"give it with {option}, {instead}", "missing-source")
    return source
