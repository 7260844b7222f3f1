"""Splits: which items models are trained on and which they predict. Each split has one method, `folds`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, Protocol

import numpy as np
from jaxtyping import Int

from sfumato.tables.errors import BadFile, BadSetting, BadTable, ErrorLocation, listing, show, unknown
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.item_list import read_item_list
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.row_numbers import items_like
from sfumato.tables.setting_checks import at_least, bad_setting, between_0_and_1, one_of
from sfumato.tables.strategies import StrategyText, strategy_from_name
from sfumato.training.item_groups import ItemGroups, item_groups
from sfumato.training.seeds import rng_of
from sfumato.training.stratification import (
    BY_CLASS,
    STRATIFY,
    classes_of,
    folds_of_items,
    labels_of,
    parts_of_groups,
    parts_of_items,
)
from sfumato.training.training_set import TrainingSet

Groups = str | Path | Mapping[str, str] | ItemGroups
"""Items that stay together: a file with `item` and `group`, or the group of each item."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test items, by their rows in the training set, in order."""

    number: int
    train: Int[np.ndarray, "train"]
    test: Int[np.ndarray, "test"]
    validation: Int[np.ndarray, "validation"] | None = None
    """Items to choose settings on and to stop early, which are no training items; None if the split names none."""
    groups: Int[np.ndarray, "items"] | None = None
    """The group of every item of the training set, for a split that keeps groups together."""

    def held_out(self, training_set: TrainingSet, share: float, seed: int) -> Fold:
        """The same fold, with this share of its training items as validation items: stratified by class, and groups
        stay whole. Without a share, or with the validation items of the split, the fold as it is."""
        if self.validation is not None or not share:
            return self
        n_items = len(self.train)
        n_held = max(1, round(share * n_items))
        if n_held >= n_items:
            found, expected = f"{n_items} items with {n_held} held out for validation", "at least one training item"
            raise BadSetting(found, expected, "give more items, or a smaller validation part", "too-few-items")
        part = _parts(
            labels_of(training_set, self.train),
            None if self.groups is None else self.groups[self.train],
            (n_held / n_items, 1 - n_held / n_items),
            BY_CLASS,
            rng_of(seed, "validation"),
        )
        return replace(self, train=self.train[part == 1], validation=self.train[part == 0])


class Split(Protocol):
    """How items are split into training and test items."""

    name: ClassVar[str]

    def folds(self, training_set: TrainingSet) -> list[Fold]: ...


@dataclass(frozen=True)
class KFold:
    """k folds: every item is predicted once, by a model trained on the other folds. 10 folds as in Peterson et al.
    (2019). Takes k times as long as one split. `stratify` and `groups` as for `share`."""

    k: int = 10
    seed: int = 0
    stratify: str = BY_CLASS
    groups: Groups | None = None

    name: ClassVar[str] = "k-fold"

    def __post_init__(self) -> None:
        if self.k < 2:
            raise bad_setting("k", self.k, "at least 2 folds")
        one_of("stratify", self.stratify, STRATIFY)

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        if self.k > training_set.n_items:
            raise _too_few(training_set.n_items, f"at least {self.k}, one per fold")
        groups, rng = _numbers(self.groups, training_set), np.random.default_rng(self.seed)
        if groups is None:
            fold = folds_of_items(training_set, self.k, self.stratify, rng)
        else:
            fold = parts_of_groups(training_set, groups, [1 / self.k] * self.k, self.stratify, rng)
        return [Fold(n, np.flatnonzero(fold != n), np.flatnonzero(fold == n), groups=groups) for n in range(self.k)]


@dataclass(frozen=True)
class RandomSplit:
    """A random share `test` of the items. Fast; prefer `k-fold` if there are few items.

    Stratified by `class` (the original one, else people's first choice), or by class and people's `agreement` (the
    probability of their first choice). `groups` is a file of items that stay together: a table with `item` and `group`,
    or what `sfumato duplicates` writes.
    """

    test: float = 0.3
    seed: int = 0
    stratify: str = BY_CLASS
    groups: Groups | None = None

    name: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        between_0_and_1("test", self.test)
        one_of("stratify", self.stratify, STRATIFY)

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        n_items = training_set.n_items
        if not 0 < round(self.test * n_items) < n_items:
            raise _too_few(n_items, "at least one training item and one test item")
        groups = _numbers(self.groups, training_set)
        shares, rng = (self.test, 1 - self.test), np.random.default_rng(self.seed)
        part = _parts(training_set, groups, shares, self.stratify, rng)
        return [Fold(0, np.flatnonzero(part == 1), np.flatnonzero(part == 0), groups=groups)]


@dataclass(frozen=True)
class ItemCountSplit:
    """`train` random training items, `validation` other ones, and `test` test items: by default all others.
    `stratify` as for `share`."""

    train: int
    validation: int = 0
    test: int = 0
    seed: int = 0
    stratify: str = BY_CLASS

    name: ClassVar[str] = "items"

    def __post_init__(self) -> None:
        _check_counts(self.train, self.validation)
        at_least("test", self.test, 0)
        one_of("stratify", self.stratify, STRATIFY)

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        n, n_used = training_set.n_items, self.train + self.validation
        n_test = self.test or n - n_used
        if n_test < 1 or n_used + n_test > n:
            raise _too_few(n, f"at least {n_used + max(self.test, 1):,} for this split")
        shares = [count / n for count in (self.train, self.validation, n_test)]
        rng = np.random.default_rng(self.seed)
        part = parts_of_items(training_set, [*shares, 1 - sum(shares)], self.stratify, rng)
        return [_fold_of_parts(part, self.validation)]


@dataclass(frozen=True)
class PerClassSplit:
    """`train` random training items of each class (the original one, else people's first choice), `validation` other
    ones, and all others as test items."""

    train: int
    validation: int = 0
    seed: int = 0

    name: ClassVar[str] = "per-class"

    def __post_init__(self) -> None:
        _check_counts(self.train, self.validation)

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        label, n_used = classes_of(training_set), self.train + self.validation
        part = np.full(training_set.n_items, 2, np.int64)
        rng = np.random.default_rng(self.seed)
        for number, name in enumerate(training_set.classes):
            own = rng.permutation(np.flatnonzero(label == number))
            if len(own) < n_used:
                found, expected = f"{len(own):,} items of class {show(name)}", f"at least {n_used:,} per class"
                raise BadSetting(found, expected, "choose fewer per class, or give more items", "too-few-items")
            part[own[: self.train]] = 0
            part[own[self.train : n_used]] = 1
        if not (part == 2).any():
            raise _too_few(training_set.n_items, f"more than {n_used:,} of some class, to test")
        return [_fold_of_parts(part, self.validation)]


@dataclass(frozen=True)
class NamedSplit:
    """Items by name. Training and validation items without a label are left out; every test item must have one."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    validation: tuple[str, ...] | None = None

    name: ClassVar[str] = "given"

    def __post_init__(self) -> None:
        parts = {"train": self.train, "validation": self.validation or (), "test": self.test}
        seen: dict[str, str] = {}
        for part, items in parts.items():
            both = sorted(item for item in set(items) if seen.setdefault(item, part) != part)
            if both:
                other = seen[both[0]]
                found = (
                    f"{listing([show(item, 40) for item in both], 5)} in both parts of the split, {other} and {part}"
                )
                expected = "each item in one part only"
                raise BadSetting(found, expected, "remove them from one of the files", "overlapping-split")

    @classmethod
    def read(cls, train: Path, test: Path, inputs: Inputs, validation: Path | None = None) -> NamedSplit:
        """Read files: `.npy` with row numbers of the inputs, a table with `item`, or text with one id per line."""
        own = None if validation is None else _listed(validation, inputs)
        return cls(_listed(train, inputs), _listed(test, inputs), own)

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        row = {name: i for i, name in enumerate(training_set.items)}
        unlabeled = [item for item in self.test if item not in row]
        if unlabeled:
            found = f"no label for {listing([show(item, 40) for item in unlabeled], 5)} of the test items"
            expected = "a label for every test item"
            raise BadTable(found, expected, "label them, or remove them from the test items", "missing-item")
        train, test = _rows(self.train, row), _rows(self.test, row)
        if not len(train) or not self.test:
            raise _too_few(len(train), "at least one training item with a label, and one test item")
        validation = None if self.validation is None else _rows(self.validation, row)
        if validation is not None and not len(validation):
            found, fix = "no validation item with a label", "label them, or leave validation out of the split"
            raise BadSetting(found, "at least one validation item", fix, "too-few-items")
        return [Fold(0, train, test, validation)]


@dataclass(frozen=True)
class NoSplit:
    """All items are training and test items: for a model that is used elsewhere. Its scores are not valid."""

    name: ClassVar[str] = "none"

    def folds(self, training_set: TrainingSet) -> list[Fold]:
        everything = np.arange(training_set.n_items)
        return [Fold(0, everything, everything)]


SPLITS: tuple[Any, ...] = (KFold, RandomSplit, ItemCountSplit, PerClassSplit, NamedSplit, NoSplit)
PARTS = ("train", "validation", "test")
"""The files of a given split; it needs the first and the last."""


def split_named(
    value: Any, inputs: Callable[[], Inputs], base: Path = Path(), where: Callable[..., ErrorLocation] | None = None
) -> Split:
    """The split that a name with settings, or a table of them, describes; paths are relative to `base`. `inputs` reads
    the inputs, which only a given split needs."""
    place = where or (lambda *_: ErrorLocation())
    choice = StrategyText.of(value, place("split"))
    if choice.name != NamedSplit.name:
        settings = dict(choice.typed(SPLITS, place("split")))
        if isinstance(settings.get("groups"), (str, int, float, Path)):  # a file may be called 17
            settings["groups"] = str(base / str(settings["groups"]))
        return strategy_from_name("split", SPLITS, choice.name, settings)  # type: ignore[no-any-return]
    for part in choice.settings:
        if part not in PARTS:
            raise unknown("key", part, list(PARTS), where=place("split", part))
    for part in PARTS:
        file = choice.settings.get(part)
        if (file is None and part != "validation") or not isinstance(file, (str, Path, NoneType)) or file == "":
            found, fix = f"{part} = {show(file)}", f"write given:train=FILE:test=FILE, with a file for {part}"
            raise BadSetting(found, f"a file with the items of {part}", fix, where=place("split", part))
    files = {part: base / file for part, file in choice.settings.items()}
    return NamedSplit.read(**files, inputs=inputs())


def _parts(
    training_set: TrainingSet,
    groups: Int[np.ndarray, "items"] | None,
    shares: Sequence[float],
    by: str,
    rng: np.random.Generator,
) -> Int[np.ndarray, "items"]:
    if groups is None:
        return parts_of_items(training_set, shares, by, rng)
    return parts_of_groups(training_set, groups, shares, by, rng)


def _fold_of_parts(part: Int[np.ndarray, "items"], n_validation: int) -> Fold:
    """The fold with the training items 0, the validation items 1 and the test items 2."""
    train, validation, test = (np.flatnonzero(part == number) for number in range(3))
    return Fold(0, train, test, validation if n_validation else None)


def _numbers(groups: Groups | None, training_set: TrainingSet) -> Int[np.ndarray, "items"] | None:
    return None if groups is None else item_groups(groups).numbers(training_set.items)


def _rows(items: Sequence[str], row: Mapping[str, int]) -> Int[np.ndarray, "some"]:
    return np.array(sorted(row[item] for item in items if item in row), np.int64)


def _check_counts(train: int, validation: int) -> None:
    at_least("train", train, 1)
    at_least("validation", validation, 0)


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
