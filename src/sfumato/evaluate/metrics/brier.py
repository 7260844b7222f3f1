"""The Brier score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluate.compared import Compared
from sfumato.evaluate.metric import Better, Estimate, mean_over_items
from sfumato.resampling import Resampling


@dataclass(frozen=True)
class Brier:
    """The mean over items of `sum_k (p_k - q_k)^2`, from 0 to 2: Brier's own form (1950), not divided by the number of
    classes.

    A proper score that stays finite whatever is predicted. Prefer `cross_entropy` where confident mistakes should
    cost more.
    """

    name: ClassVar[str] = "brier"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)

    def missing(self, compared: Compared) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: Compared, resampling: Resampling) -> Estimate:
        return mean_over_items(((compared.predicted - compared.people) ** 2).sum(axis=1), resampling)
