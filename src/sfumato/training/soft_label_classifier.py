"""A scikit-learn classifier that learns from distributions, with any estimator that takes sample weights.

An item with the label 70% cat, 30% dog is given to the estimator twice: as a cat with weight 0.7 and as a dog with
weight 0.3. For every loss that is a sum over items this is the same as training on the distribution. Needs no torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, has_fit_parameter

from sfumato.tables.call_arguments import UnknownAttribute
from sfumato.tables.columns import SUM_TOLERANCE
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, listing, show
from sfumato.tables.soft_labels import SoftLabels


class BadTarget(BadTable, ValueError):
    """Labels that a classifier cannot learn from; a ValueError too, as scikit-learn's tools expect."""

    default_code = "bad-target"


def _if_estimator_can(self: SoftLabelClassifier) -> bool:
    return hasattr(getattr(self, "estimator_", None) or self.base_estimator(), "predict_proba")


class SoftLabelClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Trains `estimator` on distributions, through sample weights.

    `fit(X, y)` takes SoftLabels or Counts (one row per row of X, in the same order), an array or data frame of items x
    classes whose rows sum to 1, or hard labels as other classifiers do. `classes` names the columns of an array. The
    estimator, by default logistic regression, must take `sample_weight`; a Pipeline passes it to its last step.
    """

    def __init__(self, estimator: Any = None, *, classes: Any = None) -> None:
        self.estimator = estimator
        self.classes = classes

    def base_estimator(self) -> Any:
        """The estimator that is copied and fitted."""
        return LogisticRegression() if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SoftLabelClassifier:  # noqa: N803
        """Fit a copy of the estimator to the distributions `y`."""
        self.classes_, probs = class_distributions(y, self.classes)
        _check_lengths(X, probs)
        row, column = np.nonzero(probs)
        weights = probs[row, column]
        if sample_weight is not None:
            weights = weights * _checked_weights(sample_weight, len(probs))[row]
        _check_classes_present(self.classes_[column[weights > 0]])
        estimator = clone(_checked_estimator(self.base_estimator()))
        weighted = sample_weight is not None or (weights != 1).any()
        given = {_weight_name(estimator): weights} if weighted else {}
        estimator.fit(X if len(row) == len(probs) else _safe_indexing(X, row), self.classes_[column], **given)
        self.estimator_ = estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The most probable class of each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @available_if(_if_estimator_can)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float[np.ndarray, "rows classes"]:  # noqa: N803
        """The distribution of each row over `classes_`; a class that had no weight in training has probability 0."""
        check_is_fitted(self)
        found = np.asarray(self.estimator_.predict_proba(X), np.float64)
        probs = np.zeros((len(found), len(self.classes_)))
        probs[:, self._columns(self.estimator_.classes_)] = found
        return probs

    def __getattr__(self, name: str) -> Any:
        # Python asks here after `available_if` has refused, so that the error can name the estimator.
        if name != "predict_proba":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        found = f"the estimator {type(self.base_estimator()).__name__}, which has no predict_proba"
        fix = "use one that has it, such as LogisticRegression, or CalibratedClassifierCV around this one"
        raise UnknownAttribute(found, "an estimator that predicts probabilities", fix)

    def predict_labels(self, X: Any, items: Any = None) -> SoftLabels:  # noqa: N803
        """The predictions as a table of SoftLabels; without `items`, the ids are row numbers."""
        probs = self.predict_proba(X)
        ids = range(len(probs)) if items is None else items
        return SoftLabels.from_numpy([str(each) for each in ids], probs, [str(each) for each in self.classes_], 0)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The mean probability that people choose the predicted class: plain accuracy if the labels are hard."""
        predicted = self._columns(self.predict(X))
        if not isinstance(y, SoftLabels) and np.ndim(y) < 2:
            right = column_or_1d(y) == self.classes_[predicted]
        else:
            classes, probs = class_distributions(y, self.classes_)
            _check_lengths(X, probs)
            right = probs[np.arange(len(probs)), _place(classes, self.classes_)[predicted]]
        return float(np.average(right, weights=sample_weight))

    def _columns(self, names: np.ndarray) -> np.ndarray:
        return _place(self.classes_, names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.base_estimator(), "__sklearn_tags__", None)
        if inner is not None:
            tags.input_tags = inner().input_tags
        return tags


def class_distributions(y: Any, classes: Any = None) -> tuple[np.ndarray, Float[np.ndarray, "rows classes"]]:
    """The classes and one distribution per row: of labels, counts, an array or frame of them, or of hard labels."""
    if isinstance(y, Counts):
        y = y.labels()
    if isinstance(y, SoftLabels):
        return np.asarray(y.classes), y.probs
    if y is None:
        # The words that scikit-learn's own checks look for.
        found = "y=None: SoftLabelClassifier requires y to be passed, but the target y is None"
        raise BadTarget(found, "one label per row of X", "give the labels as y")
    if classes is None or not isinstance(y, np.ndarray):
        y, classes = _named_columns(y, classes)
    values = np.asarray(y)
    if values.ndim < 2 or values.shape[1] == 1:
        hard = column_or_1d(y, warn=True)
        check_classification_targets(hard)
        chosen, code = np.unique(hard, return_inverse=True)
        names = chosen if classes is None else np.asarray(classes)
        missing = [each for each in chosen.tolist() if each not in names.tolist()]
        if missing:
            fix = "name every class in classes"
            raise BadTarget(f"the label {show(missing[0])}", f"one of {show(names.tolist())}", fix)
        return names, np.eye(len(names))[_place(names, chosen)[code]]
    return _checked_names(classes, values), values.astype(np.float64)


def _named_columns(y: Any, classes: Any) -> tuple[Any, Any]:
    """A data frame with its column names as classes, in the order of `classes` if they are given; else unchanged."""
    names = list(getattr(y, "columns", ()))
    if len(names) < 2 or not all(isinstance(name, str) for name in names):
        return y, classes
    if classes is None:
        return y, names
    wanted = [str(each) for each in classes]
    if sorted(wanted) != sorted(names):
        found, expected = f"the columns {listing(names)}", f"one column for each of {listing(wanted)}"
        raise BadTarget(found, expected, "name the columns by the classes, and leave out other columns")
    return y[wanted], classes


def _check_classes_present(names: np.ndarray) -> None:
    present = np.unique(names).tolist()
    if len(present) == 1:
        # "one class": the words that scikit-learn's own checks look for.
        raise BadTarget(
            f"labels of only one class, {show(present[0])}",
            "at least two classes to learn to tell apart",
            "add items of another class",
        )


def _checked_estimator(estimator: Any) -> Any:
    """`estimator`, or an error unless it is a classifier."""
    expected = "a classifier that takes sample_weight"
    if isinstance(estimator, type):
        name = estimator.__name__
        raise BadTarget(f"the class {name}", expected, f"make an object of it: SoftLabelClassifier({name}())")
    if not hasattr(estimator, "fit"):
        fix = "write SoftLabelClassifier(LogisticRegression())"
        raise BadTarget(f"{show(estimator)} as the estimator", expected, fix)
    if is_regressor(estimator):
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        fix = "use a classifier, such as LogisticRegression or RandomForestClassifier"
        raise BadTarget(f"the regressor {type(last).__name__}", expected, fix)
    return estimator


def _checked_names(classes: Any, values: np.ndarray) -> np.ndarray:
    """The names of the columns of `values`, or an error if they do not fit or a row is not a distribution."""
    n_classes = values.shape[-1]
    names = np.arange(n_classes) if classes is None else np.asarray(classes)
    if values.ndim != 2 or len(names) != n_classes:
        found, expected = f"labels of shape {values.shape}", f"rows x {len(names)} classes"
        raise BadTarget(found, expected, "give one column per class, in the order of classes")
    if values.dtype.kind not in "fiub":
        raise BadTarget(f"labels of type {values.dtype}", "probabilities", "give numbers from 0 to 1")
    bad = ~((values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= SUM_TOLERANCE))
    if bad.any():
        row = int(np.argmax(bad))
        found = f"{show([float(f'{p:.6g}') for p in values[row][:12]])} in row {row:,}"
        fix = "divide each row by its sum, or give class labels in one dimension"
        raise BadTarget(found, "probabilities >= 0 that sum to 1", fix)
    return names


def _place(names: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The index in `names` of each of `wanted`."""
    index = {name: k for k, name in enumerate(names.tolist())}
    return np.array([index[each] for each in np.asarray(wanted).tolist()], np.int64)


def _check_lengths(X: Any, probs: np.ndarray) -> None:  # noqa: N803
    n_rows = _num_samples(X)
    if n_rows != len(probs):
        fix = "give one label per row of X, in the same order"
        raise BadTarget(f"{n_rows:,} rows of X and {len(probs):,} labels", "the same number of both", fix)


def _checked_weights(sample_weight: Any, n_rows: int) -> Float[np.ndarray, "rows"]:
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n_rows,):
        found, expected = f"sample_weight of shape {weights.shape}", f"one weight for each of {n_rows:,} rows"
        raise BadTarget(found, expected, "give one number per row of X")
    return weights


def _weight_name(estimator: Any) -> str:
    """The name of the argument of `fit` for weights; an error if the estimator takes none."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not has_fit_parameter(last, "sample_weight"):
        fix = "use an estimator with sample_weight, such as LogisticRegression or a tree ensemble"
        raise BadTarget(f"{type(last).__name__}, which takes no weights", "fit(X, y, sample_weight)", fix)
    return f"{estimator.steps[-1][0]}__sample_weight" if isinstance(estimator, Pipeline) else "sample_weight"
