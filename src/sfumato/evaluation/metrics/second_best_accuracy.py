"""Accuracy of the second choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import one_of

TIES = ("unique", "credit", "published")


@dataclass(frozen=True)
class SecondBestAccuracy:
    """The share of items whose second choice is people's second choice (Peterson et al. 2019).

    Often people have no clear second: more than half of CIFAR-10H's images have none. `ties` says what then:

    - `unique`: only items where people's first and second choice are both clear; `n_items` counts them. The default.
    - `credit`: all items; any class that could be people's second counts, even those nobody chose.
    - `published`: all items; of tied classes the one with the highest index comes first, as a stable sort has it. This
      figure changes when the classes are put in another order.

    Ties in the prediction count by their share, but for `published`.
    """

    name: ClassVar[str] = "second_best_accuracy"
    better: ClassVar[Better] = Better.HIGH
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    ties: str = "unique"

    def __post_init__(self) -> None:
        one_of("ties", self.ties, TIES)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        if self.ties == "published":
            ours, theirs = (np.argsort(p, axis=1, kind="stable")[:, -2] for p in (compared.predicted, compared.people))
            return mean_over_items(np.asarray(ours == theirs, np.float64), resampling)
        second = compared.people_second
        n_ours = compared.predicted_second.sum(axis=1)
        agree = np.asarray((compared.predicted_second & second).sum(axis=1) / n_ours)
        clear = np.asarray(second.sum(axis=1) == 1, np.float64) if self.ties == "unique" else None
        return mean_over_items(agree, resampling, weights=clear)
