"""Splits: which items are learnt from and which are predicted. One verb: `folds`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from jaxtyping import Int

from sfumato.study.text_file import read_text
from sfumato.tables.errors import BadFile, BadSetting, BadTable, ErrorLocation, listing, show
from sfumato.tables.files import read_arrays, read_rows
from sfumato.tables.inputs import Inputs
from sfumato.tables.text_columns import TextReader
from sfumato.training.training_set import TrainingSet

MAX_LIST_BYTES = 100_000_000


@dataclass(frozen=True, eq=False)
class Fold:
    """Items to learn from and items to predict, by their rows in the lesson, in order."""

    number: int
    train: Int[np.ndarray, "train"]
    test: Int[np.ndarray, "test"]


class Split(Protocol):
    """How items are parted."""

    name: ClassVar[str]

    def folds(self, lesson: TrainingSet) -> list[Fold]: ...


@dataclass(frozen=True)
class KFold:
    """Every item is predicted once, by a network that learnt from the others: k folds, each with its share of every
    class (the original one, else people's first choice). 10 as in Peterson et al. (2019); k times the work."""

    k: int = 10
    seed: int = 0

    name: ClassVar[str] = "k-fold"

    def __post_init__(self) -> None:
        if self.k < 2:
            raise _bad("k", self.k, "at least 2 folds")

    def folds(self, lesson: TrainingSet) -> list[Fold]:
        if self.k > lesson.n_items:
            raise _too_few(lesson.n_items, f"at least {self.k}, one a fold")
        fold = np.empty(lesson.n_items, np.int64)
        # One round over all classes, so that folds are of one size also where no class is a multiple of k.
        fold[_by_class(lesson, self.seed)] = np.arange(lesson.n_items) % self.k
        return [Fold(n, np.flatnonzero(fold != n), np.flatnonzero(fold == n)) for n in range(self.k)]


@dataclass(frozen=True)
class RandomSplit:
    """The share `test` of the items, drawn once, class by class. Quick; prefer `k-fold` where items are few."""

    test: float = 0.3
    seed: int = 0

    name: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        if not 0 < self.test < 1:
            raise _bad("test", self.test, "a share between 0 and 1")

    def folds(self, lesson: TrainingSet) -> list[Fold]:
        n_items = lesson.n_items
        n_test = round(self.test * n_items)
        if not 0 < n_test < n_items:
            raise _too_few(n_items, "at least one to learn from and one to predict")
        # Places spread evenly over the items in order of their class: each class gives its share.
        places = (np.arange(n_test) * n_items) // n_test
        is_test = np.zeros(n_items, bool)
        is_test[_by_class(lesson, self.seed)[places]] = True
        return [Fold(0, np.flatnonzero(~is_test), np.flatnonzero(is_test))]


@dataclass(frozen=True)
class NamedSplit:
    """Items by name. Those to learn from that have no label are left out; one to be predicted must have one."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    name: ClassVar[str] = "given"

    def __post_init__(self) -> None:
        both = sorted(set(self.train) & set(self.test))
        if both:
            raise BadSetting(
                f"found {listing([show(item, 40) for item in both], 5)} in both parts of the split",
                expected="items either to learn from or to predict",
                fix="take them out of one of the files",
                code="overlapping-split",
            )

    @classmethod
    def read(cls, train: Path, test: Path, inputs: Inputs) -> NamedSplit:
        """The split of two files: `.npy` with row numbers of the inputs, a table with `item`, or text, an id a line."""
        return cls(_listed(train, inputs), _listed(test, inputs))

    def folds(self, lesson: TrainingSet) -> list[Fold]:
        row = {name: i for i, name in enumerate(lesson.items)}
        unlabelled = [item for item in self.test if item not in row]
        if unlabelled:
            raise BadTable(
                f"found no label for {listing([show(item, 40) for item in unlabelled], 5)} of the test items",
                expected="a label for every test item",
                fix="label them, or take them out of the test items",
                code="missing-item",
            )
        train = np.array(sorted(row[item] for item in self.train if item in row), np.int64)
        if not len(train) or not self.test:
            raise _too_few(len(train), "at least one with a label to learn from, and one to predict")
        return [Fold(0, train, np.array(sorted(row[item] for item in self.test), np.int64))]


@dataclass(frozen=True)
class NoSplit:
    """All items are learnt from and all predicted: for a model to be used elsewhere. Scores say nothing then."""

    name: ClassVar[str] = "none"

    def folds(self, lesson: TrainingSet) -> list[Fold]:
        everything = np.arange(lesson.n_items)
        return [Fold(0, everything, everything)]


@dataclass(frozen=True)
class GivenFiles:
    """Where the two parts of a given split stand."""

    train: Path
    test: Path

    def given(self, inputs: Inputs) -> NamedSplit:
        return NamedSplit.read(self.train, self.test, inputs)


SPLITS: tuple[Any, ...] = (KFold, RandomSplit, NamedSplit, NoSplit)


def _by_class(lesson: TrainingSet, seed: int) -> Int[np.ndarray, "items"]:
    """The items in order of their class, within a class by chance."""
    if lesson.original is not None:
        label = lesson.original
    elif lesson.people is not None:
        label = lesson.people.argmax(axis=1)
    else:
        label = np.zeros(lesson.n_items, np.int64)
    return np.lexsort((np.random.default_rng(seed).random(lesson.n_items), label))


def _listed(path: Path, inputs: Inputs) -> tuple[str, ...]:
    """The items a file lists, every one of them among the inputs."""
    suffix = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if suffix == "npy":
        items = _numbered(path, inputs)
    elif suffix in ("csv", "parquet"):
        rows = read_rows(path)
        reader = TextReader(rows, "item")
        items = [
            name for chunk in rows.chunks for piece in reader.read(chunk.column("item")) for name in piece.to_pylist()
        ]
    else:
        text = read_text(path, limit=MAX_LIST_BYTES, what="a list of items, one a line")
        items = [line.strip() for line in text.splitlines() if line.strip()]
    strange = [item for item, row in zip(items, inputs.rows_of(items), strict=True) if row < 0]
    if strange:
        raise BadTable(
            f"found {listing([show(item, 40) for item in strange], 5)}, which have no input",
            expected="items that are among the inputs",
            fix="name the items as the inputs do",
            code="missing-input",
            where=ErrorLocation(str(path)),
        )
    return tuple(dict.fromkeys(items))


def _numbered(path: Path, inputs: Inputs) -> list[str]:
    (numbers,) = read_arrays(path).values()
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise BadFile(
            f"found an array of type {numbers.dtype} and shape {numbers.shape}",
            expected="row numbers of the inputs, in one dimension",
            fix="save the numbers of the rows as integers",
            code="wrong-type",
            where=ErrorLocation(str(path)),
        )
    wrong = (numbers < 0) | (numbers >= len(inputs))
    if wrong.any():
        raise BadFile(
            f"found the row number {int(numbers[np.argmax(wrong)])}",
            expected=f"numbers from 0 to {len(inputs) - 1}",
            fix="count the rows of the inputs from 0",
            code="missing-input",
            where=ErrorLocation(str(path)),
        )
    return [inputs.items[i] for i in numbers.tolist()]


def _too_few(n_items: int, expected: str) -> BadSetting:
    return BadSetting(
        f"found {n_items:,} items", expected=expected, fix="give more items, or another split", code="too-few-items"
    )


def _bad(name: str, value: object, expected: str) -> BadSetting:
    return BadSetting(f"found {name} = {value}", expected=expected, fix=f"choose another {name}", code="bad-setting")


def names_of(lesson: TrainingSet, index: Sequence[int] | np.ndarray) -> tuple[str, ...]:
    """The items of some rows."""
    return tuple(lesson.items[i] for i in index)
