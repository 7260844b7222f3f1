"""The linear model against scikit-learn's logistic regression, and what it accepts and refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sfumato.tables.errors import BadProbabilities, BadSetting, BadTable, SfumatoError, SfumatoWarning
from sfumato.training.models import linear
from sfumato.training.models.linear import FittedLinear, LinearModel
from sfumato.training.models.softmax_loss import SoftmaxLoss


def features(n_items: int = 300, n_features: int = 12, seed: int = 0) -> np.ndarray:
    """Correlated features on different scales."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((n_items, n_features)) @ rng.standard_normal((n_features, n_features))
    return mixed * np.geomspace(0.1, 10, n_features) + np.arange(n_features)


def labels(x: np.ndarray, n_classes: int, sharpness: float = 1.0, seed: int = 1) -> np.ndarray:
    """Distributions that depend on the features, some of them one-hot."""
    rng = np.random.default_rng(seed)
    z = (x - x.mean(0)) / x.std(0)
    logits = sharpness * (z @ rng.standard_normal((x.shape[1], n_classes)) + rng.standard_normal((len(x), n_classes)))
    probs = np.exp(logits - logits.max(1, keepdims=True))
    probs[::3] = np.eye(n_classes)[logits[::3].argmax(1)]
    return probs / probs.sum(1, keepdims=True)


def expanded(x: object, probs: np.ndarray, weights: np.ndarray, penalty: float) -> LogisticRegression:
    """scikit-learn, with every item once per class and its probability as weight."""
    item, k = np.nonzero(probs)
    model = LogisticRegression(C=1 / penalty, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    return model.fit(x[item], k, sample_weight=(probs * weights[:, None])[item, k])


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("penalty", [0.1, 30.0])
@pytest.mark.parametrize("standardize", [True, False])
def test_predictions_equal_those_of_scikit_learn(n_classes: int, penalty: float, standardize: bool) -> None:
    x = features()
    probs = np.stack([labels(x, n_classes, sharpness, seed) for seed, sharpness in enumerate((0.5, 1.0, 3.0))])
    weights = np.random.default_rng(2).gamma(1.0, size=len(x))
    fitted = LinearModel(penalty, standardize).fit_many(x, probs, weights)
    scaler = StandardScaler(with_mean=standardize, with_std=standardize).fit(x, sample_weight=weights)
    for mine, target in zip(fitted, probs, strict=True):
        theirs = expanded(scaler.transform(x), target, weights, penalty)
        assert mine.converged
        np.testing.assert_allclose(mine.predict(x), theirs.predict_proba(scaler.transform(x)), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_sparse_features_are_used_as_they_are(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    x = scipy.sparse.random_array((200, 40), density=0.1, rng=rng, format="csr")
    probs = rng.dirichlet(np.full(n_classes, 0.3), (2, 200))
    weights = rng.gamma(1.0, size=200)
    for mine, target in zip(LinearModel().fit_many(x, probs, weights), probs, strict=True):
        expected = expanded(x, target, weights, 1.0).predict_proba(x)
        np.testing.assert_allclose(mine.predict(x), expected, atol=1e-5)
        dense = LinearModel(standardize=False).fit_many(x.toarray(), target[None], weights)[0]
        np.testing.assert_allclose(mine.predict(x), dense.predict(x.toarray()), atol=1e-5)


def test_more_features_than_items() -> None:
    x = features(40, 90)
    probs = labels(x, 3)
    z = StandardScaler().fit_transform(x)
    mine = LinearModel(2.0).fit_many(x, probs[None])[0]
    theirs = expanded(z, probs, np.ones(40), 2.0)
    np.testing.assert_allclose(mine.predict(x), theirs.predict_proba(z), atol=1e-5)
    new = features(20, 90, seed=5)
    expected = theirs.predict_proba((new - x.mean(0)) / x.std(0))
    np.testing.assert_allclose(mine.predict(new), expected, atol=1e-5)


def test_one_hot_labels_are_hard_labels() -> None:
    x = features()
    hard = labels(x, 4).argmax(1)
    z = StandardScaler().fit_transform(x)
    theirs = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(z, hard)
    mine = LinearModel().fit_many(x, np.eye(4)[hard][None])[0]
    np.testing.assert_allclose(mine.predict(x), theirs.predict_proba(z), atol=1e-5)


def test_targets_fitted_together_equal_targets_fitted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    x = features(400, 30)
    probs = np.stack([labels(x, 5, seed=seed) for seed in range(4)])
    together = LinearModel().fit_many(x, probs)
    for mine, target in zip(together, probs, strict=True):
        alone = LinearModel().fit_many(x, target[None])[0]
        np.testing.assert_allclose(mine.predict(x), alone.predict(x), atol=1e-5)
    monkeypatch.setattr(linear, "BYTES_OF_STEPS", 1)
    for mine, other in zip(together, LinearModel().fit_many(x, probs), strict=True):
        np.testing.assert_allclose(mine.predict(x), other.predict(x), atol=1e-5)


def test_without_principal_axes_the_minimum_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = features(100, 20)
    probs = labels(x, 3)[None]
    expected = LinearModel().fit_many(x, probs)[0].predict(x)
    monkeypatch.setattr(linear, "MOST_ROTATED", 5)
    np.testing.assert_allclose(LinearModel().fit_many(x, probs)[0].predict(x), expected, atol=1e-5)


def test_an_item_of_weight_0_is_as_one_left_out() -> None:
    x = features()
    probs = labels(x, 3)
    weights = (np.arange(len(x)) % 4 > 0).astype(float)
    kept = weights > 0
    mine = LinearModel().fit_many(x, probs[None], weights)[0]
    other = LinearModel().fit_many(x[kept], probs[None, kept])[0]
    np.testing.assert_allclose(mine.predict(x), other.predict(x), atol=1e-5)


def test_gradient_and_curvature() -> None:
    rng = np.random.default_rng(0)
    x = np.hstack([rng.standard_normal((30, 4)), np.ones((30, 1))])
    probs = rng.dirichlet(np.ones(3), (2, 30))
    loss = SoftmaxLoss.of(
        x, probs, rng.random(30), np.array([[1, 1, 1, 1, 0.0], [2, 2, 2, 2, 0.0]]), rng.random((30, 3))
    )
    points, which = rng.standard_normal((2, 15)), np.arange(2)
    at = loss.evaluate(points, which)
    for j in range(15):
        step = np.zeros(15)
        step[j] = 1e-5
        slope = (loss.evaluate(points + step, which).loss - loss.evaluate(points - step, which).loss) / 2e-5
        np.testing.assert_allclose(at.gradient[:, j], slope, atol=1e-6)
    swapped = loss.evaluate(points[::-1], which[::-1])
    np.testing.assert_allclose(swapped.gradient[::-1], at.gradient, atol=1e-12)


def test_separable_classes_have_finite_weights() -> None:
    x = np.repeat([[0.0], [1.0]], 20, axis=0)
    hard = np.repeat([0, 1], 20)
    mine = LinearModel(penalty=1e-3, standardize=False).fit_many(x, np.eye(2)[hard][None])[0]
    theirs = LogisticRegression(C=1e3, solver="newton-cholesky", tol=1e-12).fit(x, hard)
    assert mine.converged
    np.testing.assert_allclose(mine.predict(x), theirs.predict_proba(x), atol=1e-6)


def test_fits_that_do_not_converge_give_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "TOLERANCE", 0.0)
    monkeypatch.setattr(linear, "MOST_STEPS", 5)
    with pytest.warns(SfumatoWarning, match="1 of 1 fits did not converge in 5 steps; raise the penalty"):
        fitted = LinearModel(penalty=0).fit_many(features(), labels(features(), 3)[None])
    assert not fitted[0].converged


def test_a_class_without_labels_has_probability_0() -> None:
    x = features()
    full = labels(x, 3)
    wide = np.zeros((2, len(x), 5))
    wide[0][:, [0, 2, 4]] = full
    wide[1] = labels(x, 5)
    first, second = (each.predict(x) for each in LinearModel().fit_many(x, wide))
    assert (first[:, [1, 3]] == 0).all()
    np.testing.assert_allclose(first[:, [0, 2, 4]], LinearModel().fit_many(x, full[None])[0].predict(x), atol=1e-5)
    assert (second > 0).all()


def test_labels_of_a_single_class_give_that_class() -> None:
    x = features(20)
    fitted = LinearModel().fit_many(x, np.eye(3)[np.full(20, 1)][None])[0]
    np.testing.assert_array_equal(fitted.predict(x), np.eye(3)[np.full(20, 1)])


def test_constant_features_have_no_effect() -> None:
    x = features()
    constant = np.hstack([x, np.full((len(x), 1), 0.1), np.zeros((len(x), 1))])
    probs = labels(x, 3)[None]
    expected = LinearModel().fit_many(x, probs)[0].predict(x)
    np.testing.assert_allclose(LinearModel().fit_many(constant, probs)[0].predict(constant), expected, atol=1e-5)


def test_stored_arrays_give_the_same_predictions() -> None:
    x = features()
    fitted = LinearModel().fit_many(x, labels(x, 3)[None])[0]
    again = FittedLinear.from_arrays(fitted.arrays())
    np.testing.assert_array_equal(again.predict(x), fitted.predict(x))


X = features(20, 3)
PROBS = labels(X, 3)[None]


@pytest.mark.parametrize(
    ("x", "probs", "weights", "error", "words"),
    [
        (np.where(X[4, 1] == X, np.nan, X), PROBS, None, BadTable, r"row 4 .*not finite"),
        (scipy.sparse.csr_array(np.where(X[4, 1] == X, np.inf, X)), PROBS, None, BadTable, r"row 4 .*not finite"),
        (X[:, 0], PROBS, None, BadTable, r"shape \(20,\)"),
        (X.astype(str), PROBS, None, BadTable, "type <U"),
        (X[:5], PROBS, None, BadTable, "5 rows of inputs and labels of 20 items"),
        (X, PROBS[0], None, BadTable, r"labels of shape \(20, 3\)"),
        (X, PROBS[:, :, :1], None, BadTable, "at least 2 classes"),
        (X, PROBS * 2, None, BadProbabilities, "sum to 2"),
        (X, np.where(PROBS > 0.5, np.nan, PROBS), None, BadProbabilities, "not finite"),
        (X, PROBS, np.ones(3), BadTable, r"weights of shape \(3,\)"),
        (X, PROBS, -np.ones(20), BadTable, "the weight -1"),
        (X, PROBS, np.zeros(20), BadTable, "only weights of 0"),
    ],
)
def test_inputs_that_cannot_be_fitted(x: object, probs: object, weights: object, error: type, words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        LinearModel().fit_many(x, probs, weights)
    assert isinstance(raised.value, SfumatoError)


def test_other_mistakes() -> None:
    with pytest.raises(BadSetting, match="penalty = -1"):
        LinearModel(penalty=-1)
    fitted = LinearModel().fit_many(X, PROBS)[0]
    with pytest.raises(BadTable, match="2 columns; expected 3"):
        fitted.predict(X[:, :2])
