"""EstimatorModel trains any scikit-learn style estimator (`fit`, `predict_proba`) on soft labels."""

from __future__ import annotations

import copy
import inspect
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.columns import check_probs
from sfumato.tables.errors import BadProbabilities, BadSetting, BadTable, SfumatoError, listing, show, wrong_shape
from sfumato.training.models.model import Rows
from sfumato.training.seeds import rng_of, seed_of
from sfumato.training.target_labels import SampledLabels


@runtime_checkable
class Estimator(Protocol):
    """A classifier as in scikit-learn: `classes_` holds the classes of the columns of `predict_proba`."""

    def fit(self, X: Any, y: Any) -> Any: ...  # noqa: N803

    def predict_proba(self, X: Any) -> Any: ...  # noqa: N803


@dataclass(frozen=True, eq=False)
class EstimatorModel:
    """A model made from an estimator or a pipeline, which is copied for every fit.

    If `fit` accepts `sample_weight`, every item is repeated once per class with its probability as weight. Otherwise
    every item gets one class sampled from its label, which is only correct on average: with few items, average over
    several seeds. An estimator whose `random_state` is not set gets the seed of the run.
    """

    estimator: Estimator

    takes: ClassVar[tuple[str, ...]] = ("features", "texts", "images")

    def __post_init__(self) -> None:
        check_estimator(self.estimator)

    @property
    def name(self) -> str:
        last = self.estimator.steps[-1][1] if hasattr(self.estimator, "steps") else self.estimator
        return type(last).__name__

    def fit_many(
        self,
        x: Rows,
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"] | None = None,
        *,
        seed: int = 0,
    ) -> list[FittedEstimator]:
        """One copy of the estimator for each set of labels."""
        rows = _rows(x)
        if _n_rows(rows) != probs.shape[1]:
            found, expected = f"{_n_rows(rows):,} rows of inputs", f"{probs.shape[1]:,}, one per item with a label"
            raise wrong_shape(found, expected, "give the inputs in the order of the labels")
        return [self._fitted(rows, each, weights, seed) for each in probs]

    def _fitted(
        self, rows: Any, probs: Float[np.ndarray, "items classes"], weights: np.ndarray | None, seed: int
    ) -> FittedEstimator:
        fitted = _seeded(copy.deepcopy(self.estimator), seed)
        weight_name = _weight_name(fitted)
        if weight_name:
            item, number = np.nonzero(probs)
            given = probs[item, number] * (1.0 if weights is None else weights[item])
            self._fit(fitted, _taken(rows, item), number, **{weight_name: given})
        elif weights is not None:
            found = f"weights of items for {self.name}, which takes none"
            raise BadSetting(found, "an estimator with sample_weight", "omit the weights, or use another estimator")
        else:
            chance = rng_of(seed, "votes").random(len(probs))
            number = SampledLabels.of(probs).once(chance).argmax(axis=1)
            self._fit(fitted, rows, number)
        return FittedEstimator(fitted, np.unique(number), probs.shape[1])

    def _fit(self, estimator: Any, rows: Any, number: np.ndarray, **weights: np.ndarray) -> None:
        """Fit the estimator; an error that explains if it takes numbers and the inputs are texts."""
        if not isinstance(rows, list) or hasattr(estimator, "steps"):
            estimator.fit(rows, number, **weights)
            return
        try:
            estimator.fit(rows, number, **weights)
        except (TypeError, ValueError) as error:
            found = f"texts for {self.name}, which fails: {str(error).splitlines()[0][:100]}"
            pipeline = f"make_pipeline(TfidfVectorizer(), {self.name}())"
            fix = f"put a vectorizer before it: --model sklearn:FILE.FUNCTION, a function that returns {pipeline}"
            raise BadSetting(found, "an estimator or pipeline that takes texts", fix, "wrong-inputs") from error


@dataclass(frozen=True, eq=False)
class FittedEstimator:
    """A trained estimator; `seen` are the classes in its training data."""

    estimator: Estimator
    seen: Int[np.ndarray, "seen"]
    n_classes: int

    def predict(self, x: Rows) -> Float[np.ndarray, "items classes"]:
        """Predictions in the order of the classes; a class without training data gets probability 0."""
        rows = _rows(x)
        n_rows = _n_rows(rows)
        found = np.asarray(self.estimator.predict_proba(rows))
        columns = self._columns()
        if found.shape != (n_rows, len(columns)) or found.dtype.kind not in "fiub":
            raise self._refused(
                f"an array of shape {found.shape} and type {found.dtype}",
                f"numbers, {n_rows:,} rows and {len(columns)} columns, one for each of its classes",
                "wrong-shape",
            )
        probs = np.zeros((n_rows, self.n_classes))
        probs[:, columns] = found
        sums = probs.sum(axis=1, keepdims=True)
        # Estimators often compute in single precision.
        probs = np.where(np.abs(sums - 1) < 1e-4, probs / np.where(sums > 0, sums, 1), probs)
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


def check_estimator(estimator: Any) -> None:
    """Raise an error unless it can be fitted and predicts probabilities."""
    missing = [name for name in ("fit", "predict_proba") if not callable(getattr(estimator, name, None))]
    if missing or isinstance(estimator, type):
        found = "a class" if isinstance(estimator, type) else f"no {listing(missing)}"
        fix = (
            "create it: LogisticRegression()" if isinstance(estimator, type) else "use an estimator with probabilities"
        )
        if type(estimator).__name__ in ("SVC", "NuSVC"):
            fix = "create it with probability=True"
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise BadSetting(f"{name}: {found}", "an estimator with fit and predict_proba", fix, "no-probabilities")


def _seeded(estimator: Any, seed: int) -> Any:
    """The estimator with the seed of the run wherever `random_state` is not set."""
    if hasattr(estimator, "get_params"):
        unset = [key for key, value in estimator.get_params().items() if key.endswith("random_state") and value is None]
        if unset:
            estimator.set_params(**dict.fromkeys(unset, seed_of(seed, "estimator") % 2**32))
    return estimator


def _weight_name(estimator: Any) -> str | None:
    """The argument of `fit` for weights of items; a pipeline passes it to its last step."""
    prefix, last = "", estimator
    if hasattr(estimator, "steps"):
        step, last = estimator.steps[-1]
        prefix = f"{step}__"
    return f"{prefix}sample_weight" if "sample_weight" in inspect.signature(last.fit).parameters else None


def _rows(x: Rows) -> Any:
    """One row per item; texts are a list, a sparse matrix is kept as it is."""
    if isinstance(x, (list, tuple)):
        return list(x)
    return x.tocsr() if hasattr(x, "tocsr") else x.reshape(len(x), math.prod(x.shape[1:]))


def _n_rows(rows: Any) -> int:
    return len(rows) if isinstance(rows, list) else int(rows.shape[0])


def _taken(rows: Any, index: Int[np.ndarray, "kept"]) -> Any:
    return [rows[i] for i in index.tolist()] if isinstance(rows, list) else rows[index]
