"""The Index protocol: what one more answer about an item is worth."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from sfumato.planning.indices.known import ItemPosteriors

ENOUGH = -np.inf
"""The worth of another answer where an index wants no more."""


@runtime_checkable
class AcquisitionIndex(Protocol):
    """Gives every item a number; the highest goes next, among equals the one with the fewest answers.

    A number depends on the item's own answers and on the prior alone: only the item just answered has to be looked at
    again, until the prior is fitted anew. `ENOUGH` stands where no more is wanted.
    """

    @property
    def name(self) -> str: ...

    @property
    def per_second(self) -> bool:
        """Whether the worth is weighed against what an answer costs; where not, costs are nothing to it."""

    @property
    def uses_prior(self) -> bool:
        """Whether the worth depends on the prior; where not, nothing is gained by fitting it anew."""

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        """What one more answer about each item is worth."""
