"""KL: what an answer takes off the expected log-loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import xlogy

from sfumato.planning.indices.known import ItemPosteriors


@dataclass(frozen=True)
class KLIndex:
    """The expected KL risk that one more answer takes away, a second: `H(m) - sum_k m_k H(m^(k))`, in nats.

    `m` is the posterior mean, `m^(k)` what it becomes if the next answer is class k. It is the mutual information
    between the next answer and the one after it: `sum_kl pair_kl log(pair_kl / (m_k m_l))`. The index of choice for
    soft labels that log-loss will judge; `l2` is less drawn to rare classes.

    MacKay 1992, Information-based objective functions for active data selection.
    """

    name: ClassVar[str] = "kl"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        alone = known.mean[:, :, None] * known.mean[:, None]
        ratio = known.pair / alone
        # Term by term not negative, so that nothing cancels where an answer would teach next to nothing.
        return np.asarray((alone * (xlogy(ratio, ratio) - ratio + 1)).sum(axis=(1, 2)))
