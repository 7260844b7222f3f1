"""ImportedEstimator: an estimator of scikit-learn, or a pipeline of your own, by the name of its module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import BadSetting, show
from sfumato.tables.imported_object import imported_object
from sfumato.tables.strategies import StrategyText
from sfumato.training.models.estimator import EstimatorModel
from sfumato.training.models.model import FittedModel, Rows


@dataclass(frozen=True)
class ImportedEstimator:
    """`sklearn:package.module.Class:setting=value`, or a function or object in place of the class.

    Every import runs code: give only modules that you trust.
    """

    path: str
    settings: tuple[tuple[str, Any], ...] = ()

    name: ClassVar[str] = "sklearn"
    takes: ClassVar[tuple[str, ...]] = ("features", "texts", "images")

    @classmethod
    def from_text(cls, text: str) -> ImportedEstimator:
        """From `sklearn:sklearn.ensemble.RandomForestClassifier:n_estimators=50`."""
        path, _, rest = text.removeprefix(f"{cls.name}:").partition(":")
        settings = StrategyText.of(f"settings:{rest}").settings if rest else {}
        return cls(path, tuple(settings.items()))

    def __post_init__(self) -> None:
        _ = self._model

    @cached_property
    def _model(self) -> EstimatorModel:
        found = imported_object(self.path, "an estimator of scikit-learn")
        if not callable(found):
            if self.settings:
                raise BadSetting(f"settings for {self.path}", "a class or function for settings", "omit them")
            return EstimatorModel(found)
        try:
            return EstimatorModel(found(**dict(self.settings)))
        except TypeError as error:
            raise BadSetting(
                f"{self.path} with {show(dict(self.settings))}: {str(error)[:160]}",
                "settings that it takes",
                "correct the settings, or write a function without settings that creates the estimator",
            ) from error

    def fit_many(
        self,
        x: Rows,
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"] | None = None,
        *,
        seed: int = 0,
    ) -> Sequence[FittedModel]:
        return self._model.fit_many(x, probs, weights, seed=seed)
