"""The metrics, one a file; `METRICS` lists them all."""

from __future__ import annotations

from typing import Any

from sfumato.evaluate.metrics.brier import Brier
from sfumato.evaluate.metrics.cross_entropy import CrossEntropy

METRICS: tuple[Any, ...] = (CrossEntropy, Brier)

__all__ = ["METRICS", "Brier", "CrossEntropy"]
