"""Jensen-Shannon distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.evaluation.metrics.jsd import UNITS
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import one_of


@dataclass(frozen=True)
class JSDistance:
    """The mean over items of the square root of the Jensen-Shannon divergence, in nats or bits: a metric in the
    mathematical sense (Endres & Schindelin 2003), at most sqrt(ln 2) or 1.

    Small differences weigh more than in `jsd`, which is the one to average when items are to be weighed by information.
    """

    name: ClassVar[str] = "js_distance"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    base: str = "nats"

    def __post_init__(self) -> None:
        one_of("base", self.base, tuple(UNITS))

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(np.sqrt(compared.js_divergences / UNITS[self.base]), resampling)
