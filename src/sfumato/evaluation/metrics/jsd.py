"""Jensen-Shannon divergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.evaluation.votes import floor_of_votes
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import one_of

UNITS = {"nats": 1.0, "bits": np.log(2)}
"""Nats in a unit."""


@dataclass(frozen=True)
class JSD:
    """The mean over items of `H(m) - (H(p) + H(q)) / 2` with m = (p + q) / 2, in nats or, with `base="bits"`, in bits
    (Lin 1991).

    Symmetric and finite: at most ln 2, or 1 bit. Prefer `kl_divergence` where holding the possible for impossible
    should cost most. The floor is what the crowd's own distribution would get against as many votes, where `people` are
    votes (see `votes`).
    """

    name: ClassVar[str] = "jsd"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    base: str = "nats"

    def __post_init__(self) -> None:
        one_of("base", self.base, tuple(UNITS))

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        unit = UNITS[self.base]
        floor = floor_of_votes(compared, _jsd_terms) / unit
        return mean_over_items(compared.js_divergences / unit, resampling, floor=floor)


def _jsd_terms(q: Float[np.ndarray, "n"], p: float) -> Float[np.ndarray, "n"]:
    middle = (p + q) / 2
    logs = np.log(q / middle, out=np.zeros(len(q)), where=q > 0)
    return np.asarray((q * logs + p * np.log(p / middle)) / 2)
