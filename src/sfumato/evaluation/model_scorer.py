"""Scorers for `cross_val_score` and `GridSearchCV`: any metric against people's distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.evaluation.matched_labels import match_labels
from sfumato.evaluation.metric import NEEDS, Better, Metric, missing_input
from sfumato.tables.bootstrap import FEWEST_DRAWS, Bootstrap
from sfumato.tables.errors import BadSetting, unknown, wrong_shape
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True)
class ModelScorer:
    """Called with a fitted model, its inputs and people's labels; higher is better, so that losses are negative.

    The labels are an array of items x classes in the order of the model's `classes_`, or one class per item.
    """

    metric: Metric

    def __post_init__(self) -> None:
        expected = "a metric of predictions and labels alone, of which higher or lower is better"
        fix = 'use one such as "brier" or "kl_divergence"; sf.evaluate computes all metrics'
        needs = [NEEDS[need] for need in getattr(self.metric, "needs", ()) if need == "original"]
        if needs or self.metric.better is Better.NEITHER:
            why = f"which {needs[0]}" if needs else f"of which {self.metric.better}"
            found = f"{self.metric.name} as a scorer, {why}"
            raise BadSetting(found, expected, fix)

    def __call__(self, model: Any, X: Any, y: Any = None) -> float:  # noqa: N803
        if y is None or not hasattr(model, "predict_proba"):
            found = "no labels y" if hasattr(model, "predict_proba") else f"a {type(model).__name__} as the model"
            fix = "write scorer(model, X, y), or score predictions with sf.evaluate(predicted=..., people=...)"
            raise BadSetting(found, "a fitted classifier that predicts probabilities", fix, "wrong-argument")
        probs = np.asarray(model.predict_proba(X), np.float64)
        names = [str(name) for name in model.classes_]
        people = _people(y, names)
        ids = [str(row) for row in range(len(probs))]
        matched = match_labels(
            predicted=SoftLabels.from_numpy(ids, probs, names, n_annotators=0),
            people=SoftLabels.from_numpy(ids, people, names),
        )
        if why := missing_input(self.metric, matched):
            raise BadSetting(f"{self.metric.name} as a scorer", "a metric of predictions and labels alone", why)
        bootstrap = Bootstrap.of(len(matched), level=0.95, draws=FEWEST_DRAWS, rng=np.random.default_rng(0))
        value = self.metric.estimate(matched, bootstrap).value
        return -value if self.metric.better is Better.LOW else value


def _people(y: Any, names: list[str]) -> np.ndarray:
    if isinstance(y, SoftLabels):
        order = [y.classes.index(name) for name in names if name in y.classes]
        values: np.ndarray = y.probs[:, order] if len(order) == len(y.classes) == len(names) else y.probs
    else:
        values = np.asarray(y)
    if values.ndim == 1:
        index = {name: k for k, name in enumerate(names)}
        labels = [str(each) for each in values.tolist()]
        unseen = next((each for each in labels if each not in index), None)
        if unseen is not None:
            raise unknown("class", unseen, names, fix="train on every class that is scored")
        values = np.eye(len(names))[[index[each] for each in labels]]
    if values.ndim != 2 or values.shape[1] != len(names):
        fix = "give one column per class, in the order of the model's classes_"
        raise wrong_shape(f"labels of shape {values.shape}", f"items x {len(names)} classes", fix)
    return values
