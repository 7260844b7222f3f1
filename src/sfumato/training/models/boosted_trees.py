"""Boosting: gradient-boosted trees of scikit-learn on features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import missing_extra
from sfumato.tables.setting_checks import above_0, at_least
from sfumato.training.models.estimator import EstimatorModel
from sfumato.training.models.model import FittedModel, Rows


@dataclass(frozen=True)
class Boosting:
    """Gradient-boosted trees (`HistGradientBoostingClassifier`). Each item is given once per class, weighted by its
    probability. For features without a linear relation to the classes; slow with many classes."""

    trees: int = 100
    rate: float = 0.1

    name: ClassVar[str] = "boosting"
    takes: ClassVar[tuple[str, ...]] = ("features", "images")

    def __post_init__(self) -> None:
        at_least("trees", self.trees, 1)
        above_0("rate", self.rate)

    def fit_many(
        self,
        x: Rows,
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"] | None = None,
        *,
        seed: int = 0,
    ) -> Sequence[FittedModel]:
        try:
            from sklearn.ensemble import HistGradientBoostingClassifier
        except ModuleNotFoundError:
            raise missing_extra("scikit-learn", "for gradient boosting", "text") from None
        dense = x.toarray() if hasattr(x, "toarray") else x
        estimator = HistGradientBoostingClassifier(max_iter=self.trees, learning_rate=self.rate)
        return EstimatorModel(estimator).fit_many(dense, probs, weights, seed=seed)
