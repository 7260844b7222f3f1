"""Splits: which items models are trained on and which they predict. Each split has one method, `folds`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from jaxtyping import Int

from sfumato.tables.errors import BadFile, BadSetting, BadTable, listing, show
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.item_list import read_item_list
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.row_numbers import items_like
from sfumato.tables.setting_checks import bad_setting, between_0_and_1
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test items, by their rows in the training set, in order."""

    number: int
    train: Int[np.ndarray, "train"]
    test: Int[np.ndarray, "test"]


class Split(Protocol):
    """How items are split into training and test items."""

    name: ClassVar[str]

    def folds(self, training_set: TrainingSet) -> list[Fold]: ...


@dataclass(frozen=True)
class KFold:
    """k folds, stratified by class (the original one, else people's first choice): every item is predicted once, by a
    model trained on the other folds. 10 folds as in Peterson et al. (2019). Takes k times as long as one split."""

    k: int = 10
    seed: int = 0

    name: ClassVar[str] = "k-fold"

    def __post_init__(self) -> None:
        if self.k < 2:
            raise bad_setting("k", self.k, "at least 2 folds")

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        if self.k > training_set.n_items:
            raise _too_few(training_set.n_items, f"at least {self.k}, one per fold")
        fold = np.empty(training_set.n_items, np.int64)
        # Assigned in one pass over all classes, so that fold sizes differ by at most one.
        fold[_by_class(training_set, self.seed)] = np.arange(training_set.n_items) % self.k
        return [Fold(n, np.flatnonzero(fold != n), np.flatnonzero(fold == n)) for n in range(self.k)]


@dataclass(frozen=True)
class RandomSplit:
    """A random share `test` of the items, stratified by class. Fast; prefer `k-fold` if there are few items."""

    test: float = 0.3
    seed: int = 0

    name: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        between_0_and_1("test", self.test)

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        n_items = training_set.n_items
        n_test = round(self.test * n_items)
        if not 0 < n_test < n_items:
            raise _too_few(n_items, "at least one training item and one test item")
        # Evenly spaced positions in the items sorted by class: each class contributes its share.
        places = (np.arange(n_test) * n_items) // n_test
        is_test = np.zeros(n_items, bool)
        is_test[_by_class(training_set, self.seed)[places]] = True
        return [Fold(0, np.flatnonzero(~is_test), np.flatnonzero(is_test))]


@dataclass(frozen=True)
class NamedSplit:
    """Items by name. Training items without a label are left out; every test item must have one."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    name: ClassVar[str] = "given"

    def __post_init__(self) -> None:
        both = sorted(set(self.train) & set(self.test))
        if both:
            found = f"{listing([show(item, 40) for item in both], 5)} in both parts of the split"
            expected = "each item in one part only"
            raise BadSetting(found, expected, "remove them from one of the files", "overlapping-split")

    @classmethod
    def read(cls, train: Path, test: Path, inputs: Inputs) -> NamedSplit:
        """Read two files: `.npy` with row numbers of the inputs, a table with `item`, or text with one id per line."""
        return cls(_listed(train, inputs), _listed(test, inputs))

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        row = {name: i for i, name in enumerate(training_set.items)}
        unlabeled = [item for item in self.test if item not in row]
        if unlabeled:
            found = f"no label for {listing([show(item, 40) for item in unlabeled], 5)} of the test items"
            expected = "a label for every test item"
            raise BadTable(found, expected, "label them, or remove them from the test items", "missing-item")
        train = np.array(sorted(row[item] for item in self.train if item in row), np.int64)
        if not len(train) or not self.test:
            raise _too_few(len(train), "at least one training item with a label, and one test item")
        return [Fold(0, train, np.array(sorted(row[item] for item in self.test), np.int64))]


@dataclass(frozen=True)
class NoSplit:
    """All items are training and test items: for a model that is used elsewhere. Its scores are not valid."""

    name: ClassVar[str] = "none"

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        everything = np.arange(training_set.n_items)
        return [Fold(0, everything, everything)]


SPLITS: tuple[Any, ...] = (KFold, RandomSplit, NamedSplit, NoSplit)


def _by_class(training_set: TrainingSet, seed: int) -> Int[np.ndarray, "items"]:
    """The items sorted by class, in random order within a class."""
    if training_set.original is not None:
        label = training_set.original
    elif training_set.people is not None:
        label = training_set.people.argmax(axis=1)
    else:
        label = np.zeros(training_set.n_items, np.int64)
    return np.lexsort((np.random.default_rng(seed).random(training_set.n_items), label))


def _listed(path: Path, inputs: Inputs) -> tuple[str, ...]:
    """The items that a file lists; all of them must be among the inputs."""
    suffix = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    items = _numbered(path, inputs) if suffix == "npy" else list(read_item_list(path))
    unknown_items = [item for item, row in zip(items, inputs.rows_of(items), strict=True) if row < 0]
    if unknown_items:
        found, code = f"{listing([show(item, 40) for item in unknown_items], 5)}, which have no input", "missing-input"
        raise BadTable(found, "items that are among the inputs", "use the item names of the inputs", code, path)
    return tuple(dict.fromkeys(items))


def _numbered(path: Path, inputs: Inputs) -> list[str]:
    (numbers,) = read_arrays(path).values()
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        found, fix = f"an array of type {numbers.dtype} and shape {numbers.shape}", "save the row numbers as integers"
        raise BadFile(found, "row numbers of the inputs, in one dimension", fix, "wrong-type", path)
    wrong = (numbers < 0) | (numbers >= len(inputs))
    if wrong.any():
        found, expected = f"the row number {int(numbers[np.argmax(wrong)])}", f"numbers from 0 to {len(inputs) - 1}"
        raise BadFile(found, expected, "count the rows of the inputs from 0", "missing-input", path)
    return [inputs.items[i] for i in numbers.tolist()]


def _too_few(n_items: int, expected: str) -> BadSetting:
    return BadSetting(f"{n_items:,} items", expected, "give more items, or another split", "too-few-items")


def names_of(training_set: TrainingSet, index: Sequence[int] | np.ndarray) -> tuple[str, ...]:
    """The names of some rows."""
    return items_like((training_set.items[i] for i in index), training_set.items)
