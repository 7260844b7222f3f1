"""Confusion: which classes are taken for which, by the model and by people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.evaluate.compared import Compared
from sfumato.tables.growable_array import freeze
from sfumato.tables.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Confusion(Table):
    """One row a pair of classes, in the order of `names`, over items of class `people` (their first choice; where it is
    tied, the item counts for each by its share).

    - `predicted_mass`: the mean probability the model gives `other` on items that people call `people`.
    - `people_mass`: the share of people who call these items `other`: a model that doubts as people do has the same.
    - `joint`: how often one person says `people` and the model, answering at random by its probabilities, says
      `other`: the mean of q p over all items. It adds up to 1.
    - `n_items`: how many items people call `people`.

    NaN in the rows of a class that no item has.
    """

    names: tuple[str, ...]
    n_items: Float[np.ndarray, "classes"]
    predicted_mass: Float[np.ndarray, "classes classes"]
    people_mass: Float[np.ndarray, "classes classes"]
    joint: Float[np.ndarray, "classes classes"]

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "n_items", "predicted_mass", "people_mass", "joint")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        k = len(self.names)
        columns: dict[str, Any] = {
            "people": pa.array(np.repeat(self.names, k)[start:stop].tolist(), pa.string()),
            "other": pa.array(np.tile(self.names, k)[start:stop].tolist(), pa.string()),
        }
        for name in ("predicted_mass", "people_mass", "joint"):
            columns[name] = pa.array(getattr(self, name).ravel()[start:stop], pa.float64(), from_pandas=True)
        columns["n_items"] = pa.array(np.repeat(self.n_items, k)[start:stop], pa.float64())
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.names) ** 2


def confusion(compared: Compared) -> Confusion:
    """The model's confusion of classes beside people's own."""
    first = compared.people_first / compared.people_first.sum(axis=1, keepdims=True)
    n_items = first.sum(axis=0)
    of_each = np.where(n_items > 0, n_items, np.nan)[:, None]
    return Confusion(
        compared.classes,
        n_items,
        np.asarray(first.T @ compared.predicted / of_each),
        np.asarray(first.T @ compared.people / of_each),
        np.asarray(compared.people.T @ compared.predicted / len(compared)),
    )
