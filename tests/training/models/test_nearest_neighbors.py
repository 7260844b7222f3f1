"""Nearest neighbors on soft labels, against scikit-learn's regressor on the same labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from sfumato.tables.errors import BadSetting, BadTable
from sfumato.training.models import nearest_neighbors
from sfumato.training.models.nearest_neighbors import CHOICES, FittedNeighbors, NearestNeighbors

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 4)) * [1, 10, 0.1, 3]
NEW = RNG.standard_normal((40, 4)) * [1, 10, 0.1, 3]
PROBS = RNG.dirichlet([0.5, 0.5, 0.5], (2, 150))


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("k", [1, 7, 150])
def test_predictions_equal_those_of_scikit_learn(k: int, standardize: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_neighbors, "DISTANCES_PER_BLOCK", 1000)
    scaler = StandardScaler(with_mean=standardize, with_std=standardize).fit(X)
    for mine, target in zip(NearestNeighbors(k, standardize).fit_many(X, PROBS), PROBS, strict=True):
        theirs = KNeighborsRegressor(k).fit(scaler.transform(X), target).predict(scaler.transform(NEW))
        np.testing.assert_allclose(mine.predict(NEW), theirs, atol=1e-12)


def test_the_number_of_neighbors_has_the_lowest_leave_one_out_brier_score() -> None:
    # One target that neighbors share, and one of noise, for which the mean of many is best.
    probs = np.stack([np.eye(3)[(X[:, :1] > np.quantile(X[:, 0], [0.3, 0.7])).sum(1)], PROBS[0]])
    z = StandardScaler().fit_transform(X)
    distances = ((z[:, None] - z) ** 2).sum(2) + np.diag(np.full(len(z), np.inf))
    order = distances.argsort(axis=1)
    fitted = NearestNeighbors().fit_many(X, probs)
    for mine, target in zip(fitted, probs, strict=True):
        scores = {k: ((target[order[:, :k]].mean(1) - target) ** 2).sum() for k in CHOICES}
        assert mine.k == min(scores, key=scores.__getitem__)
    assert fitted[0].k < 10 < fitted[1].k


def test_weights_of_items_weigh_their_labels() -> None:
    weights = np.r_[2.0, 1.0, 0.0, np.zeros(147)]
    fitted = NearestNeighbors(2).fit_many(X, PROBS[:1], weights)[0]
    np.testing.assert_allclose(fitted.predict(NEW), np.tile((2 * PROBS[0, 0] + PROBS[0, 1]) / 3, (40, 1)))
    with pytest.raises(BadSetting, match="k = 3 and 2 training items"):
        NearestNeighbors(3).fit_many(X, PROBS, weights)


def test_sparse_features_and_storage() -> None:
    dense = np.where(np.random.default_rng(1).random((60, 20)) < 0.2, 1.5, 0.0) * np.arange(1, 21)
    expected = NearestNeighbors(5, standardize=False).fit_many(dense, PROBS[:1, :60])[0]
    sparse = NearestNeighbors(5).fit_many(scipy.sparse.csr_array(dense), PROBS[:1, :60])[0]
    for fitted, x in ((expected, dense), (sparse, scipy.sparse.csr_array(dense))):
        again = FittedNeighbors.from_arrays(fitted.arrays())
        np.testing.assert_array_equal(again.predict(x), fitted.predict(x))
        np.testing.assert_allclose(fitted.predict(x), expected.predict(dense))


def test_mistakes() -> None:
    with pytest.raises(BadSetting, match="k = 0"):
        NearestNeighbors(0)
    with pytest.raises(BadTable, match="3 columns; expected 4"):
        NearestNeighbors(3).fit_many(X, PROBS)[0].predict(X[:, :3])
    assert NearestNeighbors().fit_many(X[:1], PROBS[:, :1])[0].k == 1
