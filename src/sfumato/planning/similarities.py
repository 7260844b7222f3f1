"""Similarities: how alike people found pairs of items, as a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable
from sfumato.tables.growable_array import freeze
from sfumato.tables.payloads import payload_kind


@dataclass(frozen=True, eq=False)
class Similarities:
    """The mean rating of every pair of items; NaN where nobody rated it, and on the diagonal."""

    items: pa.StringArray
    values: Float[np.ndarray, "items items"]

    def __post_init__(self) -> None:
        n = len(self.items)
        if self.values.shape != (n, n) or not np.array_equal(self.values, self.values.T, equal_nan=True):
            raise BadTable(
                f"found an array of shape {self.values.shape} for {n} items",
                expected="a symmetric array, items x items",
                fix="give one number a pair, the same both ways",
                code="bad-similarities",
            )
        freeze(self, "values")

    @classmethod
    def of(cls, annotations: Annotations) -> Similarities:
        """Of answers of kind `similarity`, whichever of the two items was shown as the first."""
        table = annotations.of_kind("similarity").for_purposes("label")
        first = table.item.text()
        other: list[str] = []
        ratings: list[float] = []
        for answers, inverse, _ in table.decoded(payload_kind("similarity/1")):
            other += [answers[i].other for i in inverse]
            ratings += [answers[i].rating for i in inverse]
        items = pc.unique(pa.concat_arrays([first, pa.array(other, pa.string())]))
        a, b = (pc.index_in(each, value_set=items).to_numpy() for each in (first, pa.array(other, pa.string())))
        total, n_each = np.zeros((len(items), len(items))), np.zeros((len(items), len(items)))
        for one, two in ((a, b), (b, a)):
            np.add.at(total, (one, two), ratings)
            np.add.at(n_each, (one, two), 1)
        np.fill_diagonal(n_each, 0)
        return cls(items, np.where(n_each > 0, total / np.maximum(n_each, 1), np.nan))

    def of_items(self, items: pa.StringArray) -> Float[np.ndarray, "items items"]:
        """The similarities of these items; NaN for items that nobody rated."""
        at = pc.index_in(items, value_set=self.items).fill_null(-1).to_numpy(zero_copy_only=False)
        found = self.values[np.ix_(at, at)]
        return np.where((at >= 0)[:, None] & (at >= 0), found, np.nan)
