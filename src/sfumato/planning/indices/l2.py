"""L2: what an answer takes off the expected squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.planning.indices.known import ItemPosteriors


@dataclass(frozen=True)
class L2Index:
    """The expected squared error that one more answer takes away, a second: `sum_k m_k |m^(k) - m|^2`.

    `m` is the posterior mean, `m^(k)` what it becomes if the next answer is class k. The risk after the answer is
    smaller by exactly this in expectation (law of total variance). Goes for items whose large probabilities are in
    doubt; prefer `kl` for labels that will be judged or trained on by log-loss, where small probabilities count.

    Frazier, Powell and Dayanik 2008, A knowledge-gradient policy for sequential information collection.
    """

    name: ClassVar[str] = "l2"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        after = known.pair / known.mean[:, :, None]
        moved = ((after - known.mean[:, None]) ** 2).sum(axis=2)
        return np.asarray((known.mean * moved).sum(axis=1))
