"""Confidence, where the model is right and where it is wrong."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import SHARE, Better, ItemMetric


class ConfidenceWhenRight(ItemMetric):
    """The mean confidence over items whose most probable class is people's; `n_items` counts these.

    Compare it with `confidence_when_wrong`: the difference shows whether confidence separates right from wrong. Tied
    items count by the share of times both agree.
    """

    name, better, bounds = "confidence_when_right", Better.HIGH, SHARE

    def values(self, matched: MatchedLabels) -> Float[np.ndarray, "items"]:
        return matched.confidence

    def weights(self, matched: MatchedLabels) -> Float[np.ndarray, "items"]:
        return matched.right


class ConfidenceWhenWrong(ItemMetric):
    """The mean confidence over items whose most probable class is not people's; `n_items` counts these. NaN if there
    are none.

    Compare it with `confidence_when_right`. Tied items count by the share of times both differ.
    """

    name, better, bounds = "confidence_when_wrong", Better.LOW, SHARE

    def values(self, matched: MatchedLabels) -> Float[np.ndarray, "items"]:
        return matched.confidence

    def weights(self, matched: MatchedLabels) -> Float[np.ndarray, "items"]:
        return 1 - matched.right


class Overconfidence(ItemMetric):
    """The mean confidence minus the accuracy, `mean of (max p - right)`: above 0 the model is overconfident, below 0
    underconfident.

    Errors in both directions cancel out, unlike in `ece`, `rms_calibration` and `smooth_ece`.
    """

    name, better, bounds = "overconfidence", Better.NEITHER, (-1.0, 1.0)

    def values(self, matched: MatchedLabels) -> Float[np.ndarray, "items"]:
        return matched.gaps
