"""The Brier score."""

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
class Brier:
    """The mean over items of `sum_k (p_k - q_k)^2`, from 0 to 2: Brier's own form (1950), not divided by the number of
    classes.

    A proper score that stays finite whatever is predicted. Prefer `cross_entropy` where confident mistakes should cost
    more. It is the sum of `brier_calibration` and `brier_refinement`. The floor is what the crowd's own distribution
    would get against as many votes, where `people` are votes (see `votes`).
    """

    name: ClassVar[str] = "brier"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(compared.squared_distances, resampling, floor=floor_of_votes(compared, _terms))


def _terms(q: Float[np.ndarray, "n"], p: float) -> Float[np.ndarray, "n"]:
    return np.asarray((q - p) ** 2)
