"""EstimatorModel trains any scikit-learn style estimator (`fit`, `predict_proba`) on soft labels."""

from __future__ import annotations

import copy
import inspect
import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int

from sfumato.tables.columns import check_probs
from sfumato.tables.errors import BadProbabilities, BadTable, SfumatoError, listing, show, wrong_shape
from sfumato.training.target_labels import SampledLabels, TargetLabels

Rows = Any
"""Inputs of an estimator: an array, items x ..., or a matrix of `scipy.sparse`."""


@runtime_checkable
class Estimator(Protocol):
    """A classifier as in scikit-learn: `classes_` holds the classes of the columns of `predict_proba`."""

    def fit(self, X: Any, y: Any) -> Any: ...  # noqa: N803

    def predict_proba(self, X: Any) -> Any: ...  # noqa: N803


@dataclass(frozen=True, eq=False)
class EstimatorModel:
    """A model made from an estimator, which is copied for every fit.

    If `fit` accepts `sample_weight`, every item is repeated once per class with its probability as weight. Otherwise
    every item gets one class sampled from its label, which is only correct on average: with few items, average over
    several fits.
    """

    estimator: Estimator

    def fit(self, x: Rows, labels: TargetLabels, rng: np.random.Generator) -> FittedEstimator:
        """Train on the rows of `x`, flattened, with the labels of the same items."""
        probs = labels.mean().astype(np.float64)
        if x.shape[0] != len(probs):
            expected = f"{len(probs):,}, one per item with a label"
            raise wrong_shape(f"{x.shape[0]:,} rows of inputs", expected, "give the inputs in the order of the labels")
        flat = _flat(x)
        fitted = copy.deepcopy(self.estimator)
        if "sample_weight" in inspect.signature(fitted.fit).parameters:
            item, number = np.nonzero(probs)
            fitted.fit(flat[item], number, sample_weight=probs[item, number])  # type: ignore[call-arg]
        else:
            number = _votes(probs, rng)
            fitted.fit(flat, number)
        return FittedEstimator(fitted, np.unique(number), probs.shape[1])


@dataclass(frozen=True, eq=False)
class FittedEstimator:
    """A trained estimator; `seen` are the classes in its training data."""

    estimator: Estimator
    seen: Int[np.ndarray, "seen"]
    n_classes: int

    def predict(self, x: Rows) -> Float[np.ndarray, "items classes"]:
        """Predictions in the order of the classes; a class without training data gets probability 0."""
        found = np.asarray(self.estimator.predict_proba(_flat(x)))
        columns = self._columns()
        if found.shape != (x.shape[0], len(columns)) or found.dtype.kind not in "fiub":
            raise self._refused(
                f"an array of shape {found.shape} and type {found.dtype}",
                f"numbers, {x.shape[0]:,} rows and {len(columns)} columns, one for each of its classes",
                "wrong-shape",
            )
        probs = np.zeros((x.shape[0], self.n_classes))
        probs[:, columns] = found
        try:
            check_probs(probs)
        except BadProbabilities as error:
            raise self._refused(f"row {error.where.row}: {error.found}", error.expected, error.code) from None
        return probs

    def _columns(self) -> Int[np.ndarray, "columns"]:
        """The class number of each column: `classes_` of the estimator, else the classes in its training data."""
        named = np.asarray(getattr(self.estimator, "classes_", self.seen))
        distinct = named.ndim == 1 and len(set(named.tolist())) == len(named)
        if not distinct or named.dtype.kind not in "iu" or not set(named.tolist()) <= set(range(self.n_classes)):
            raise self._refused(
                f"classes_ = {show(named.tolist())}",
                f"class numbers among {listing([str(k) for k in range(self.n_classes)])}, each once",
                "bad-classes",
            )
        return named

    def _refused(self, found: str, expected: str, code: str) -> SfumatoError:
        kind = BadTable if code in ("wrong-shape", "bad-classes") else BadProbabilities
        return kind(
            f"{type(self.estimator).__name__}.predict_proba: found {found.removeprefix('found ')}",
            expected=expected,
            fix="correct the estimator, or use another",
            code=code,
        )


def _flat(x: Rows) -> Any:
    """One row per item; a sparse matrix is kept as it is."""
    return x.tocsr() if hasattr(x, "tocsr") else x.reshape(len(x), math.prod(x.shape[1:]))


def _votes(probs: Float[np.ndarray, "items classes"], rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """One class per item, sampled from its label."""
    chance = torch.from_numpy(rng.random(len(probs)))
    drawn = SampledLabels.of(probs).at(torch.arange(len(probs)), chance)
    return drawn.argmax(dim=1).numpy()
