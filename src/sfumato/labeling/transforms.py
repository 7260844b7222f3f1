"""Transforms of existing labels: smoothing, class means, sparsifying, temperature, in-filling. `TRANSFORMS` lists them.

Each takes Beliefs or SoftLabels and returns the same kind of table; the numbers of annotators do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.tables.beliefs import Beliefs, HardVotes
from sfumato.tables.errors import BadTable, bad_classes, listing
from sfumato.tables.estimand import check_same_estimand
from sfumato.tables.row_numbers import check_same_rows
from sfumato.tables.setting_checks import above_0, at_least, share
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import strategy_from_name

Distributions = TypeVar("Distributions", Beliefs, SoftLabels)


@runtime_checkable
class Transform(Protocol):
    """Changes the distributions of a table."""

    @property
    def name(self) -> str: ...

    def apply(self, table: Any) -> Any:
        """A table of the same kind with changed distributions."""


def with_probs(table: Distributions, probs: Float[np.ndarray, "rows classes"], name: str) -> Distributions:
    """`table` with its distributions replaced by the transform `name`."""
    if isinstance(table, SoftLabels):
        return replace(table, probs=probs, path=None, made_by=_then(table.made_by, name))
    votes = HardVotes(len(table.classes))
    votes.append(probs)
    return replace(votes.beliefs(table.item, table.annotator, table.classes), row_sources=table.row_sources)


def _with_classes(labels: SoftLabels, table: Distributions, what: str) -> SoftLabels:
    """The labels with their classes in the order of those of `table`; other classes are an error."""
    if set(labels.classes) != set(table.classes):
        fix = "use the same class names in both tables"
        raise bad_classes(f"{what} over {listing(labels.classes)}", table.classes, fix, labels.path)
    columns = [labels.classes.index(name) for name in table.classes]
    return replace(labels, classes=table.classes, probs=labels.probs[:, columns])


def _then(made_by: str | None, name: str) -> str:
    """How transformed labels were made."""
    return name if made_by is None else f"{made_by}, {name}"


@dataclass(frozen=True)
class ClassMeans:
    """Each row replaced by the mean label of its class.

    "Category soft" in Peterson et al. (2019). Keeps the confusions between classes and removes the differences between
    items: the control for item-level uncertainty. The class of an item is its class in `original` if given, else the
    largest entry of its row.
    """

    original: SoftLabels | None = None

    name: ClassVar[str] = "class-means"

    def apply(self, table: Distributions) -> Distributions:
        probs = table.probs
        group = self._classes_of(table)
        n_rows = np.bincount(group, minlength=len(table.classes))
        sums = np.zeros((len(table.classes), len(table.classes)))
        np.add.at(sums, group, probs)
        means = sums / np.maximum(n_rows, 1)[:, None]
        return with_probs(table, means[group], self.name)

    def _classes_of(self, table: Distributions) -> np.ndarray:
        if self.original is None:
            return np.asarray(table.probs.argmax(axis=1))
        original = _with_classes(self.original, table, "original labels")
        check_same_rows(table, original)
        items = table.items if isinstance(table, SoftLabels) else table.item.text()
        return np.asarray(original.probs.argmax(axis=1)[original.rows_of(items)])


@dataclass(frozen=True)
class Infill:
    """Labels for the items that have none, from another table.

    Existing labels do not change. With original labels as filling this is CIFAR-10S + hard, with `Sparsify(2)` of dense
    ones CIFAR-10S + dense (Sucholutsky et al. 2023, appendix D.2). Both tables must have the same estimand, unless
    `any_estimand`.
    """

    filling: SoftLabels = field(kw_only=True)
    any_estimand: bool = False

    name: ClassVar[str] = "infill"

    def apply(self, table: Beliefs | SoftLabels) -> SoftLabels:
        if not isinstance(table, SoftLabels):
            found, fix = f"{type(table).__name__}, one row per annotator", "aggregate them first (sfumato aggregate)"
            raise BadTable(found, "SoftLabels, one row per item", fix, "wrong-table")
        filling = _with_classes(self.filling, table, "a filling")
        sources = check_same_rows(table, filling)
        missing = pc.invert(pc.is_in(filling.items, value_set=table.items)).to_numpy(zero_copy_only=False)
        counts = None
        if table.n_annotators is not None:
            filled = (
                np.zeros(int(missing.sum()), np.int32)
                if filling.n_annotators is None
                else filling.n_annotators[missing]
            )
            counts = np.concatenate([table.n_annotators, filled]).astype(np.int32)
        check_same_estimand(table, filling, "in-filling", any_estimand=self.any_estimand)
        items = pa.concat_arrays([table.items, filling.items.filter(pa.array(missing))])
        return SoftLabels(
            items,
            table.classes,
            np.concatenate([table.probs, filling.probs[missing]]),
            counts,
            estimand=table.estimand,
            made_by=_then(table.made_by, self.name),
            row_sources=sources,
        )


@dataclass(frozen=True)
class Smooth:
    """Label smoothing: some mass for every class.

    `(1 - rate) p + rate / K` (Szegedy et al. 2016): the same uncertainty for every item. The control for any claim
    about the benefit of people's uncertainty.
    """

    rate: float = 0.1

    name: ClassVar[str] = "smooth"

    def __post_init__(self) -> None:
        share("rate", self.rate)

    def apply(self, table: Distributions) -> Distributions:
        return with_probs(table, (1 - self.rate) * table.probs + self.rate / len(table.classes), self.name)


@dataclass(frozen=True)
class Sparsify:
    """Only the k most probable classes, renormalized.

    Of tied classes the first counts. Makes dense labels comparable with top-k labels (CIFAR-10S + dense; Sucholutsky et
    al. 2023, with k = 2).
    """

    k: int = 2

    name: ClassVar[str] = "sparsify"

    def __post_init__(self) -> None:
        at_least("k", self.k, 1)

    def apply(self, table: Distributions) -> Distributions:
        probs = table.probs
        rank = np.argsort(np.argsort(-probs, axis=1, kind="stable"), axis=1, kind="stable")
        kept = np.where(rank < self.k, probs, 0.0)
        return with_probs(table, kept / kept.sum(axis=1, keepdims=True), self.name)


@dataclass(frozen=True)
class Temper:
    """Temperature: above 1 flatter, below 1 sharper.

    `p ** (1 / temperature)`, normalized; zeros stay 0.
    """

    temperature: float = 1.0

    name: ClassVar[str] = "temper"

    def __post_init__(self) -> None:
        above_0("temperature", self.temperature)

    def apply(self, table: Distributions) -> Distributions:
        probs = table.probs
        # Dividing by the largest first prevents underflow at very low temperatures.
        powered = (probs / probs.max(axis=1, keepdims=True)) ** (1 / self.temperature)
        return with_probs(table, powered / powered.sum(axis=1, keepdims=True), self.name)


TRANSFORMS: tuple[Any, ...] = (Smooth, ClassMeans, Sparsify, Temper, Infill)

__all__ = [
    "TRANSFORMS",
    "ClassMeans",
    "Infill",
    "Smooth",
    "Sparsify",
    "Temper",
    "Transform",
    "transform_from_name",
]


def transform_from_name(name: str, settings: Mapping[str, Any]) -> Transform:
    """The transform called `name` with `settings`."""
    return strategy_from_name("transform", TRANSFORMS, name, settings)  # type: ignore[no-any-return]
