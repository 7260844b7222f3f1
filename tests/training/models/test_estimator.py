"""Estimators of scikit-learn as models: weights, votes, columns, and what they may not predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from sfumato.tables.errors import BadProbabilities, BadTable, SfumatoError
from sfumato.training.models.estimator import EstimatorModel


@dataclass
class Counting:
    """Predicts how often each class was said of the same x; as scikit-learn's do, knows only the classes it met."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Counting:  # noqa: N803
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_ = np.unique(y)
        self.table = {
            key: np.array([weight[(X[:, 0] == key) & (y == k)].sum() for k in self.classes_]) for key in np.unique(X)
        }
        self.n_rows = len(y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:  # noqa: N803
        rows = np.stack([self.table[key] for key in X[:, 0]])
        return rows / rows.sum(axis=1, keepdims=True)


@dataclass
class CountingVotes:
    """The same without weights and without names for its columns."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:  # noqa: N803
        self.inner = Counting().fit(X, y)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:  # noqa: N803
        return self.inner.predict_proba(X)


SOFT = np.array([[0.5, 0.5, 0.0, 0.0], [0.2, 0.0, 0.0, 0.8]])


def test_weights_carry_soft_labels_whole() -> None:
    """A class that nobody gives mass to is unknown to the estimator, and gets nothing."""
    estimator = Counting()
    fitted = EstimatorModel(estimator).fit_many(np.array([[5.0], [6.0]]), SOFT[None])[0]
    predicted = fitted.predict(np.array([[6.0], [5.0], [6.0]]))
    np.testing.assert_allclose(predicted, SOFT[[1, 0, 1]], atol=1e-7)
    assert fitted.estimator.classes_.tolist() == [0, 1, 3]  # type: ignore[attr-defined]
    assert fitted.estimator.n_rows == 4, "no row without weight"  # type: ignore[attr-defined]
    assert not hasattr(estimator, "classes_"), "the estimator given stays as it is"


def test_without_weights_one_vote_is_drawn_an_item() -> None:
    labels = np.repeat(SOFT, 2000, axis=0)[None]
    x = np.repeat(np.array([[5.0], [6.0]]), 2000, axis=0)
    fitted = EstimatorModel(CountingVotes()).fit_many(x, labels)[0]
    predicted = fitted.predict(np.array([[5.0], [6.0]]))
    # Three standard deviations of a half in 2,000 votes are .034.
    np.testing.assert_allclose(predicted, SOFT, atol=0.034)
    assert not np.allclose(predicted, SOFT, atol=1e-4)
    assert (predicted[SOFT == 0] == 0).all()
    again = EstimatorModel(CountingVotes()).fit_many(x, labels)[0]
    np.testing.assert_array_equal(again.predict(x), fitted.predict(x))


def test_images_are_flattened() -> None:
    fitted = EstimatorModel(Counting()).fit_many(np.array([[[[5]]], [[[6]]]], np.uint8), SOFT[None])[0]
    np.testing.assert_allclose(fitted.predict(np.array([[[[6]]]], np.uint8)), SOFT[1:], atol=1e-7)


@dataclass
class Says:
    """Predicts what it is told to."""

    answer: Any
    classes_: Any = (0, 1, 2, 3)

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:  # noqa: N803
        pass

    def predict_proba(self, X: np.ndarray) -> Any:  # noqa: N803
        return self.answer


NAN = [[float("nan"), 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("estimator", "error", "code"),
    [
        (Says(np.ones((2, 3)) / 3), BadTable, "wrong-shape"),
        (Says(np.ones((1, 4)) / 4), BadTable, "wrong-shape"),
        (Says([["a"] * 4] * 2), BadTable, "wrong-shape"),
        (Says(NAN), BadProbabilities, "not-finite"),
        (Says(np.ones((2, 4))), BadProbabilities, "bad-sum"),
        (Says(np.array([[1.5, -0.5, 0, 0]] * 2)), BadProbabilities, "negative"),
        (Says(np.ones((2, 2)) / 2, classes_=("cat", "dog")), BadTable, "bad-classes"),
        (Says(np.ones((2, 2)) / 2, classes_=(0, 4)), BadTable, "bad-classes"),
        (Says(np.ones((2, 2)) / 2, classes_=(1, 1)), BadTable, "bad-classes"),
    ],
    ids=["columns", "rows", "text", "nan", "sum", "negative", "names", "unknown class", "class twice"],
)
def test_an_estimator_that_predicts_nonsense(estimator: Says, error: type[SfumatoError], code: str) -> None:
    fitted = EstimatorModel(estimator).fit_many(np.array([[5.0], [6.0]]), SOFT[None])[0]
    with pytest.raises(error, match=r"Says\.predict_proba: found") as caught:
        fitted.predict(np.array([[5.0], [6.0]]))
    assert caught.value.code == code


def test_columns_in_another_order_are_put_right() -> None:
    estimator = Says(np.array([[0.7, 0.3]]), classes_=(2, 0))
    fitted = EstimatorModel(estimator).fit_many(np.array([[5.0], [6.0]]), SOFT[None])[0]
    np.testing.assert_allclose(fitted.predict(np.array([[5.0]])), [[0.3, 0.0, 0.7, 0.0]])


def test_inputs_without_labels() -> None:
    with pytest.raises(BadTable, match="found 3 rows of inputs"):
        EstimatorModel(Counting()).fit_many(np.zeros((3, 1)), SOFT[None])


def test_sparse_features_are_used_as_dense_ones() -> None:
    x = np.array([[5.0, 0], [0, 6.0]])
    model = EstimatorModel(LogisticRegression())
    dense, thin = (model.fit_many(each, SOFT[None])[0].predict(each) for each in (x, csr_array(x)))
    np.testing.assert_allclose(thin, dense, atol=1e-4)
