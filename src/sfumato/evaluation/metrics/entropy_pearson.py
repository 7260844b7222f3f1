"""Pearson correlation of entropies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, from_sums, undefined
from sfumato.tables.bootstrap import Bootstrap

NO_SPREAD = 1e-9
"""Standard deviations under this are rounding."""


@dataclass(frozen=True)
class EntropyPearson:
    """Pearson's correlation between H(p) and H(q) over items: does the model doubt what people doubt? (Pearson 1896)

    NaN where one of them is the same for all items. A few very doubtful items can decide it: prefer
    `entropy_spearman` then. It does not ask whether doubt goes to the same classes; the divergences do.
    """

    name: ClassVar[str] = "entropy_pearson"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        x = compared.predicted_entropy - compared.predicted_entropy.mean()
        y = compared.people_entropy - compared.people_entropy.mean()
        if min(x.std(), y.std()) < NO_SPREAD:
            return undefined("the entropies of one side are all the same", len(compared))
        sums = resampling.sums(np.ones(len(x)), x, y, x * x, y * y, x * y)
        return from_sums(sums, _correlation, resampling, n_items=len(x))


def _correlation(totals: Float[np.ndarray, "draws 6"]) -> Float[np.ndarray, "draws"]:
    n, x, y, xx, yy, xy = totals.T
    below = np.sqrt(np.maximum(xx - x * x / n, 0.0) * np.maximum(yy - y * y / n, 0.0))
    found = np.divide(xy - x * y / n, below, out=np.full(len(n), np.nan), where=below > n * NO_SPREAD**2)
    return np.asarray(np.clip(found, -1.0, 1.0))
