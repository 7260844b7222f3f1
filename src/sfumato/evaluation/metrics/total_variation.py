"""Total variation distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.evaluation.votes import floor_of_votes
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class TotalVariation:
    """The mean over items of `sum_k |p_k - q_k| / 2`: the mass that lies elsewhere, from 0 to 1.

    Bounded, symmetric, easy to say; LeWiDi's Manhattan distance is twice it, and DistCE (Baan et al. 2022) is it.
    Prefer a proper score (`cross_entropy`, `brier`) to choose between models. The floor is what the crowd's own
    distribution would get against as many votes, where `people` are votes (see `votes`).
    """

    name: ClassVar[str] = "total_variation"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        distances = np.abs(compared.predicted - compared.people).sum(axis=1) / 2
        return mean_over_items(
            np.asarray(distances), resampling, floor=floor_of_votes(compared, _total_variation_terms)
        )


def _total_variation_terms(q: Float[np.ndarray, "n"], p: float) -> Float[np.ndarray, "n"]:
    return np.asarray(np.abs(q - p) / 2)
