"""Class means: every item gets the mean label of its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.labeling.transform.rows import Distributions, with_probs
from sfumato.tables.errors import BadSetting, listing
from sfumato.tables.soft_labels import SoftLabels


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
                f"found original labels over {listing(self.original.classes)}",
                expected=f"the classes {listing(table.classes)}",
                fix="name the classes alike, in the same order",
                code="bad-classes",
            )
        items = table.items if isinstance(table, SoftLabels) else table.item.text()
        return np.asarray(self.original.probs.argmax(axis=1)[self.original.rows_of(items)])
