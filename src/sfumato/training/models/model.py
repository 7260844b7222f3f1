"""Model: the protocol of models that are fitted to distributions in one step, without epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

Rows = Any
"""Inputs of a model: an array items x dimensions, a matrix of `scipy.sparse`, or a list of texts."""


class FittedModel(Protocol):
    """A trained model."""

    def predict(self, x: Rows) -> Float[np.ndarray, "items classes"]:
        """The predicted distribution of every row."""
        ...


class StoredModel(FittedModel, Protocol):
    """A trained model that can be written to the folder of its run."""

    def arrays(self) -> dict[str, np.ndarray]:
        """All its numbers, by name."""
        ...


@runtime_checkable
class Model(Protocol):
    """Learns from distributions. Fits several sets of labels to the same inputs at once, so that the work is shared."""

    takes: ClassVar[tuple[str, ...]]
    """The kinds of inputs: `features`, `texts`, `images` (as pixels in one row)."""

    @property
    def name(self) -> str: ...

    def fit_many(
        self,
        x: Rows,
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"] | None = None,
        *,
        seed: int = 0,
    ) -> Sequence[FittedModel]:
        """One fitted model for each set of labels; `weights` are those of the items."""
        ...
