"""Kullback-Leibler divergence."""

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
class KLDivergence:
    """The mean over items of `sum_k q_k ln(q_k / p_k)`, in nats: people are the reference (Kullback & Leibler 1951).

    What `cross_entropy` is above its floor, so it may be compared between groups of items. Infinite where something
    people saw was held to be impossible; prefer `jsd` where that must not decide alone. The floor is what the crowd's
    own distribution would get against as many votes, where `people` are votes (see `votes`).
    """

    name: ClassVar[str] = "kl_divergence"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        divergences = np.maximum(compared.cross_entropies - compared.people_entropy, 0.0)
        return mean_over_items(divergences, resampling, floor=floor_of_votes(compared, _kl_terms))


def _kl_terms(q: Float[np.ndarray, "n"], p: float) -> Float[np.ndarray, "n"]:
    return q * np.log(q / p, out=np.zeros(len(q)), where=q > 0)
