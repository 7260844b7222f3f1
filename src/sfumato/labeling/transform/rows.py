"""The part every transform shares: the rows of either table, and a table with other rows."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

from sfumato.tables.beliefs import Beliefs, HardVotes
from sfumato.tables.soft_labels import SoftLabels

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
        return SoftLabels(table.items, table.classes, probs, table.n_annotators, target=table.target)
    votes = HardVotes(len(table.classes))
    votes.append(probs)
    return votes.beliefs(table.item, table.annotator, table.classes)
