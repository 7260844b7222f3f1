"""The part every transform shares: the rows of either table, and a table with other rows.

Class means: every item gets the mean label of its class.

In-filling: labels for the items that have none yet.

Label smoothing: some mass for every class.

Sparsify: only the k most probable classes.

Temperature: sharper or flatter, the order of classes kept.

Distributions -> distributions: what can be done to labels that exist. One transform a file; `TRANSFORMS` lists them.

Each takes Beliefs or SoftLabels and gives back the same, item by item; people's counts stay as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.tables.beliefs import Beliefs, HardVotes
from sfumato.tables.errors import BadSetting, listing
from sfumato.tables.settings import share
from sfumato.tables.soft_labels import SoftLabels, check_same_estimand
from sfumato.tables.strategies import strategy_from_name

Distributions = TypeVar("Distributions", Beliefs, SoftLabels)


@runtime_checkable
class Transform(Protocol):
    """Labels that exist, changed."""

    @property
    def name(self) -> str: ...

    def apply(self, table: Any) -> Any:
        """A table of the same kind with other distributions."""


def with_probs(table: Distributions, probs: Float[np.ndarray, "rows classes"]) -> Distributions:
    """`table` with its distributions replaced."""
    if isinstance(table, SoftLabels):
        return SoftLabels(table.items, table.classes, probs, table.n_annotators, estimand=table.estimand)
    votes = HardVotes(len(table.classes))
    votes.append(probs)
    return votes.beliefs(table.item, table.annotator, table.classes)


@dataclass(frozen=True)
class ClassMeans:
    """Each row replaced by the mean of the rows of its class ("category soft" in Peterson et al. 2019).

    Keeps how classes are confused and drops what is particular to an item: the control for item-level doubt. The
    class of an item is its class in `original` where given, else the largest entry of the row itself.
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
        return with_probs(table, means[group])

    def _classes_of(self, table: Distributions) -> np.ndarray:
        if self.original is None:
            return np.asarray(table.probs.argmax(axis=1))
        if self.original.classes != table.classes:
            raise BadSetting(
                f"original labels over {listing(self.original.classes)}",
                f"the classes {listing(table.classes)}",
                "name the classes alike, in the same order",
                "bad-classes",
            )
        items = table.items if isinstance(table, SoftLabels) else table.item.text()
        return np.asarray(self.original.probs.argmax(axis=1)[self.original.rows_of(items)])


@dataclass(frozen=True)
class Infill:
    """The labels as they are, and for every further item of `filling` its row from there.

    With original labels as filling this is CIFAR-10S + hard, with `Sparsify(2)` of dense ones CIFAR-10S + dense
    (Sucholutsky et al. 2023, appendix D.2).
    """

    filling: SoftLabels = field(kw_only=True)

    name: ClassVar[str] = "infill"

    def apply(self, table: SoftLabels) -> SoftLabels:
        if not isinstance(table, SoftLabels) or self.filling.classes != table.classes:
            raise BadSetting(
                f"{type(table).__name__} of {listing(table.classes)}, fill of {listing(self.filling.classes)}",
                "SoftLabels over the same classes in the same order",
                "fill SoftLabels, which have one row an item; name the classes alike",
                "bad-classes",
            )
        missing = pc.invert(pc.is_in(self.filling.items, value_set=table.items)).to_numpy(zero_copy_only=False)
        counts = None
        if table.n_annotators is not None:
            filled = (
                np.zeros(int(missing.sum()), np.int32)
                if self.filling.n_annotators is None
                else self.filling.n_annotators[missing]
            )
            counts = np.concatenate([table.n_annotators, filled]).astype(np.int32)
        check_same_estimand(table, self.filling, "filling in")
        items = pa.concat_arrays([table.items, self.filling.items.filter(pa.array(missing))])
        return SoftLabels(
            items,
            table.classes,
            np.concatenate([table.probs, self.filling.probs[missing]]),
            counts,
            estimand=table.estimand,
        )


@dataclass(frozen=True)
class Smooth:
    """`(1 - rate) p + rate / K` (Szegedy et al. 2016): the same doubt for every item, whatever it shows.

    The control that any claim about people's doubt has to beat.
    """

    rate: float = 0.1

    name: ClassVar[str] = "smooth"

    def __post_init__(self) -> None:
        share("rate", self.rate)

    def apply(self, table: Distributions) -> Distributions:
        return with_probs(table, (1 - self.rate) * table.probs + self.rate / len(table.classes))


@dataclass(frozen=True)
class Sparsify:
    """The `k` largest entries of each row, renormalised; ties go to the class that stands first.

    How dense labels are made to look like top-k ones (CIFAR-10S + dense; Sucholutsky et al. 2023, with k = 2).
    """

    k: int = 2

    name: ClassVar[str] = "sparsify"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise BadSetting(f"k = {self.k}", "at least 1", "choose another k")

    def apply(self, table: Distributions) -> Distributions:
        probs = table.probs
        rank = np.argsort(np.argsort(-probs, axis=1, kind="stable"), axis=1, kind="stable")
        kept = np.where(rank < self.k, probs, 0.0)
        return with_probs(table, kept / kept.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Temper:
    """`p ** (1 / temperature)`, normalised: above 1 flatter, below 1 sharper. A class with no mass gets none."""

    temperature: float = 1.0

    name: ClassVar[str] = "temper"

    def __post_init__(self) -> None:
        if not (self.temperature > 0 and np.isfinite(self.temperature)):
            raise BadSetting(f"temperature = {self.temperature}", "a finite number above 0", "choose another")

    def apply(self, table: Distributions) -> Distributions:
        probs = table.probs
        # Dividing by the largest first keeps very low temperatures from underflowing to a row of zeros.
        powered = (probs / probs.max(axis=1, keepdims=True)) ** (1 / self.temperature)
        return with_probs(table, powered / powered.sum(axis=1, keepdims=True))


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
