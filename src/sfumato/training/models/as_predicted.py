"""AsPredicted: the predictions that an experiment starts from, unchanged, to compare heads with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class AsPredicted:
    """Predicts what the model predicts that the experiment starts from. Nothing is trained, so all targets agree."""

    name: ClassVar[str] = "as-predicted"
    takes: ClassVar[tuple[str, ...]] = ("features",)

    def fit_many(
        self,
        x: Any,  # noqa: ARG002
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"] | None = None,  # noqa: ARG002
        *,
        seed: int = 0,  # noqa: ARG002
    ) -> list[AsPredicted]:
        return [self] * len(probs)

    def predict(self, x: Any) -> Float[np.ndarray, "items classes"]:
        return np.asarray(x, np.float64)
