"""Log-odds of people's second choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.compared import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, mean_over_items
from sfumato.tables.bootstrap import Bootstrap


@dataclass(frozen=True)
class SecondChoiceLogOdds:
    """The mean over items with a clear human second choice s of `ln p_s - ln(1 - p_s)`: how probable the model holds
    what people choose second, against everything else.

    A second choice is clear where q has one largest and one second largest class; `n_items` counts these items. Not a
    score to be made large: the floor is people's own, `mean of ln q_s - ln(1 - q_s)`, and near it is good. Infinite
    where the model holds the second choice for impossible; then prefer `second_best_accuracy`.
    """

    name: ClassVar[str] = "second_choice_log_odds"
    better: ClassVar[Better] = Better.NEITHER
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        rows = np.flatnonzero(compared.people_second.sum(axis=1) == 1)
        second = compared.people_second[rows].argmax(axis=1)
        clear = np.zeros(len(compared))
        clear[rows] = 1.0
        odds = np.zeros(len(compared))
        odds[rows] = _log_odds(compared.predicted[rows, second])
        theirs = _log_odds(compared.people[rows, second])
        floor = float(theirs.mean()) if len(rows) else np.nan
        return mean_over_items(odds, resampling, weights=clear, floor=floor)


def _log_odds(p: Float[np.ndarray, "some"]) -> Float[np.ndarray, "some"]:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-np.minimum(p, 1.0)))
