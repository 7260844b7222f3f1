"""Entropy: how much people are expected to disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import xlogy

from sfumato.planning.indices.known import ItemPosteriors


@dataclass(frozen=True)
class EntropyIndex:
    """The entropy of the expected label, a second: `-sum_k m_k log m_k`, in nats.

    What active learning asks for first (Settles 2009, Active Learning Literature Survey), here for comparison: it does
    not tell doubt that answers would settle from disagreement that they would only confirm, and keeps asking about
    items that are known well to be contested. Prefer `kl` or `l2`; or give items a most of answers.
    """

    name: ClassVar[str] = "entropy"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        return np.asarray(-xlogy(known.mean, known.mean).sum(axis=1))
