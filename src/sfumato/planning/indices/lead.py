"""Lead: enough is asked once one class is well ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.planning.indices.index import ENOUGH
from sfumato.planning.indices.known import ItemPosteriors
from sfumato.tables.settings import at_least


@dataclass(frozen=True)
class LeadIndex:
    """Fewest answers first, until the most frequent class is `lead` answers ahead of the second.

    For the most frequent label alone: a sequential probability ratio test between the two leading classes (Wald 1945,
    Sequential tests of statistical hypotheses). What is wanted of soft labels is more than who leads: prefer `kl` then.
    Without a most of answers an item that divides people evenly may never be done.
    """

    lead: int = 8

    name: ClassVar[str] = "lead"
    per_second: ClassVar[bool] = False
    uses_prior: ClassVar[bool] = False

    def __post_init__(self) -> None:
        at_least("lead", self.lead, 1)

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        return np.where(known.lead >= self.lead - 1e-9, ENOUGH, 1 / (1 + known.n_answers))
