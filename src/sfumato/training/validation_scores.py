"""Scores of a run on its validation items, stored in `run.json`: what a selection of settings compares."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from sfumato.training.stratification import classes_of
from sfumato.training.training_set import ORIGINAL, PEOPLE, TrainingSet

REFERENCES = (PEOPLE, ORIGINAL)
"""What the cross-entropy of validation predictions is measured against."""
SMALLEST = 1e-12
"""Predicted probabilities are at least this, so that one impossible class does not make a score infinite."""


def validation_scores(predicted: Float[np.ndarray, "items classes"], held_out: TrainingSet) -> dict[str, Any]:
    """The cross-entropy against people's and the original labels, and the accuracy; scores that are not finite, or
    without a label, are None."""
    logs = -np.log(np.maximum(np.asarray(predicted, np.float64), SMALLEST))
    scores: dict[str, float | None] = {PEOPLE: None, ORIGINAL: None, "accuracy": None}
    if np.isfinite(logs).all():
        if held_out.reference is not None:
            scores[PEOPLE] = float((held_out.reference * logs).sum(axis=1).mean())
        if held_out.original is not None:
            scores[ORIGINAL] = float(logs[np.arange(len(logs)), held_out.original].mean())
        scores["accuracy"] = float((np.asarray(predicted).argmax(axis=1) == classes_of(held_out)).mean())
    return {"validation": {"items": held_out.n_items, **scores}}
