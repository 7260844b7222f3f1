"""The classifier for scikit-learn users against a direct minimization, and scikit-learn's own checks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import estimator_checks_generator

import sfumato as sf
from sfumato import SfumatoError, SoftLabelClassifier, SoftLabels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LOGITS = X @ RNG.normal(size=(3, 3))
Y = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
FRAME = pd.DataFrame(Y, columns=["cat", "dog", "owl"])


@pytest.mark.parametrize(
    "check",
    [pytest.param(each, id=each[1].func.__name__) for each in estimator_checks_generator(SoftLabelClassifier())],
)
@pytest.mark.filterwarnings("ignore")
def test_it_keeps_the_rules_of_scikit_learn(check: tuple[SoftLabelClassifier, object]) -> None:
    estimator, run = check
    run(estimator)  # type: ignore[operator]


def test_it_minimizes_the_cross_entropy_to_the_distributions() -> None:
    strength = 10.0

    def loss(flat: np.ndarray) -> float:
        weights, offset = flat[:9].reshape(3, 3), flat[9:]
        scores = X @ weights + offset
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return float(-(Y * logs).sum() + (weights**2).sum() / (2 * strength))

    best = minimize(loss, np.zeros(12), tol=1e-12)
    scores = X @ best.x[:9].reshape(3, 3) + best.x[9:]
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    model = SoftLabelClassifier(LogisticRegression(C=strength, tol=1e-10, max_iter=10_000)).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-4)


def test_labels_as_a_table_an_array_or_names_are_the_same_when_they_are_hard() -> None:
    names = np.array(["cat", "dog", "owl"])[Y.argmax(axis=1)]
    hard = np.eye(3)[Y.argmax(axis=1)]
    table = SoftLabels.from_numpy(range(60), hard, ["cat", "dog", "owl"])
    expected = LogisticRegression().fit(X, names).predict_proba(X)
    for y in (names, hard, table):
        model = SoftLabelClassifier(classes=["cat", "dog", "owl"]).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), expected)
        assert model.score(X, y) == pytest.approx(np.mean(model.predict(X) == names))
    predicted = model.predict_labels(X, items=[f"photo-{i}" for i in range(60)])
    assert predicted["photo-3"] == pytest.approx(dict(zip(("cat", "dog", "owl"), expected[3].tolist(), strict=True)))


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME)], ids=["pandas", "polars"])
def test_the_columns_of_a_frame_are_the_classes(frame: object) -> None:
    model = SoftLabelClassifier().fit(X, frame)
    assert model.classes_.tolist() == ["cat", "dog", "owl"]
    np.testing.assert_allclose(model.predict_proba(X), SoftLabelClassifier().fit(X, Y).predict_proba(X))
    other = SoftLabelClassifier(classes=["owl", "cat", "dog"]).fit(X, frame)
    np.testing.assert_allclose(other.predict_proba(X)[:, [1, 2, 0]], model.predict_proba(X), atol=1e-3)
    assert other.score(X, frame) == pytest.approx(model.score(X, frame))


def test_counts_are_shares_of_votes() -> None:
    counts = RNG.integers(0, 5, (60, 2)) + 1
    table = sf.Counts.from_numpy(range(60), counts, ["cat", "dog"])
    shares = counts / counts.sum(axis=1, keepdims=True)
    model, expected = SoftLabelClassifier().fit(X, table), SoftLabelClassifier().fit(X, shares)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X))
    assert model.classes_.tolist() == ["cat", "dog"]
    assert model.score(X, table) == pytest.approx(expected.score(X, shares))


def test_an_estimator_without_probabilities_has_no_predict_proba() -> None:
    model = SoftLabelClassifier(LinearSVC()).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    assert model.predict(X).shape == (60,)


def test_texts_in_a_pipeline_and_sparse_features() -> None:
    texts = ["good film", "bad film", "good and bad", "film"]
    y = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.3, 0.7]])
    pipeline = SoftLabelClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression(C=1e3))).fit(texts, y)
    assert pipeline.predict_proba(["good"])[0, 0] > 0.5 > pipeline.predict_proba(["bad"])[0, 0]
    sparse = SoftLabelClassifier().fit(scipy.sparse.csr_matrix(X), Y).predict_proba(X)
    np.testing.assert_allclose(sparse, SoftLabelClassifier().fit(X, Y).predict_proba(X))


def test_a_class_without_weight_is_predicted_with_probability_0() -> None:
    y = np.c_[Y[:, :2] / Y[:, :2].sum(axis=1, keepdims=True), np.zeros(60)]
    assert SoftLabelClassifier().fit(X, y).predict_proba(X)[:, 2].max() == 0


@pytest.mark.parametrize("metric", ["brier", "kl_divergence", "cross_entropy", "accuracy"])
def test_scorers_are_the_metrics_with_higher_as_better(metric: str) -> None:
    model = SoftLabelClassifier(classes=["0", "1", "2"]).fit(X, Y)
    people = SoftLabels.from_numpy(range(60), Y, ["0", "1", "2"])
    expected = sf.evaluate(predicted=model.predict_labels(X), people=people, metrics=[metric]).to_polars()["value"][0]
    sign = 1 if metric == "accuracy" else -1
    assert sf.scorer(metric)(model, X, Y) == pytest.approx(sign * expected)


def test_scorers_work_in_cross_validation_and_grid_search() -> None:
    scores = cross_val_score(SoftLabelClassifier(), X, Y, scoring=sf.scorer("brier"), cv=3)
    assert scores.shape == (3,)
    assert (scores < 0).all()
    grid = {"estimator__C": [1e-6, 10.0]}
    search = GridSearchCV(SoftLabelClassifier(LogisticRegression()), grid, scoring=sf.scorer("kl_divergence"), cv=3)
    assert search.fit(X, Y).best_params_ == {"estimator__C": 10.0}


def test_forests_take_weights() -> None:
    model = SoftLabelClassifier(RandomForestClassifier(20, random_state=0)).fit(X, Y)
    assert np.abs(model.predict_proba(X) - Y).mean() < 0.1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: SoftLabelClassifier().fit(X, 100 * Y), "probabilities >= 0 that sum to 1"),
        (lambda: SoftLabelClassifier().fit(X, Y[:7]), "60 rows of X and 7 labels"),
        (lambda: SoftLabelClassifier(classes=["a", "b"]).fit(X, Y), "rows x 2 classes"),
        (lambda: SoftLabelClassifier(KNeighborsClassifier()).fit(X, Y), "takes no weights"),
        (lambda: SoftLabelClassifier(classes=["a"]).fit(X, ["b"] * 60), "the label 'b'"),
        (lambda: SoftLabelClassifier().fit(X, Y, sample_weight=[1.0]), "one weight for each of 60 rows"),
        (lambda: SoftLabelClassifier(LinearRegression()).fit(X, Y), "the regressor LinearRegression"),
        (lambda: SoftLabelClassifier(make_pipeline(StandardScaler(), Ridge())).fit(X, Y), "the regressor Ridge"),
        (lambda: SoftLabelClassifier(LogisticRegression).fit(X, Y), "SoftLabelClassifier(LogisticRegression())"),
        (lambda: SoftLabelClassifier("logistic").fit(X, Y), "'logistic' as the estimator"),
        (lambda: SoftLabelClassifier().fit(X, ["cat"] * 60), "only one class, 'cat'"),
        (lambda: SoftLabelClassifier().fit(X, np.eye(3)[[1] * 60]), "only one class, 1"),
        (lambda: SoftLabelClassifier(LinearSVC()).fit(X, Y).predict_labels(X), "the estimator LinearSVC"),
        (lambda: SoftLabelClassifier(LinearSVC()).fit(X, Y).predict_proba(X), "CalibratedClassifierCV"),
        (lambda: SoftLabelClassifier(classes=["a", "b", "c"]).fit(X, FRAME), "the columns cat, dog, owl"),
        (lambda: sf.scorer("brierr"), "brier"),
        (lambda: sf.scorer("brier")(SoftLabelClassifier().fit(X, Y), X, Y[:, :2]), "items x 3 classes"),
        (lambda: sf.scorer("accuracy_original"), "needs the original labels"),
    ],
)
def test_mistakes_are_explained(wrong: object, said: str) -> None:
    with pytest.raises(SfumatoError) as refused:
        wrong()  # type: ignore[operator]
    assert said in str(refused.value)
