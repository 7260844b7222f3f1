"""The closed-form embedding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from sfumato.planning.informativeness.answered_triplets import RankedLists
from sfumato.planning.informativeness.embedding import SpectralUnfolding, centered, mean_ranks, recovery
from sfumato.planning.informativeness.label_types import (
    HardLabels,
    LabelType,
    SimilarityLabels,
    SoftLabelType,
    TopClassLabels,
    TripletLabels,
)
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import BadTable


def world(n: int = 40, k: int = 10, d: int = 5, seed: int = 0) -> LatentWorld:
    return LatentWorld.sample(n, k, d, rng=np.random.default_rng(seed))


def test_inner_products_of_points_and_classes_are_the_centred_ranks() -> None:
    labels = world().soft_labels()
    labels[3, :4] = labels[3, 4]
    ranks = ((rankdata(labels, axis=1) - 0.5) / 10 + (rankdata(labels, axis=0) - 0.5) / 40) / 2
    expected = ranks - ranks.mean(axis=0) - ranks.mean(axis=1, keepdims=True) + ranks.mean()
    embedding = SpectralUnfolding().embed(RankedLists.of_labels(labels))
    np.testing.assert_allclose(embedding.gram()[:40, 40:], expected, atol=1e-12)
    assert embedding.objects.shape == (50, 10)
    assert embedding.converged


def test_missing_entries_are_ranked_among_those_known() -> None:
    labels = np.array([[0.2, np.nan, 0.5, 0.3], [0.1, 0.6, 0.3, 0.0]])
    orders = RankedLists.of_labels(labels)
    rows = [[1 / 6, 5 / 6, 3 / 6], [3 / 8, 7 / 8, 5 / 8, 1 / 8]]
    columns = [[3 / 4, 3 / 4, 3 / 4], [1 / 4, 1 / 2, 1 / 4, 1 / 4]]
    np.testing.assert_allclose(mean_ranks(orders), (np.concatenate(rows) + np.concatenate(columns)) / 2)


def test_centring_what_is_known() -> None:
    matrix = np.random.default_rng(0).random((6, 5))
    matrix[[0, 2, 3], [1, 1, 4]] = np.nan
    found = centered(matrix)
    assert (found[np.isnan(matrix)] == 0).all()
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-9)


def test_soft_labels_recover_most_and_hard_ones_little() -> None:
    rho = {
        kind.title: np.mean(
            [
                recovery(found=SpectralUnfolding().embed(kind.judge(one)).gram(), true=one.cosines())
                for one in (world(seed=seed) for seed in range(5))
            ]
        )
        for kind in (SoftLabelType(), HardLabels())
    }
    assert rho["soft"] > 0.85
    assert rho["hard"] < 0.45


@pytest.mark.parametrize("kind", [SimilarityLabels(), TripletLabels(3000)], ids=lambda kind: kind.title)
def test_judgments_of_points_alone(kind: LabelType) -> None:
    one = world(d=2)
    embedding = SpectralUnfolding().embed(kind.judge(one, rng=np.random.default_rng(1)))
    assert len(embedding.objects) == 40
    assert (np.diff((embedding.objects**2).sum(axis=0)) <= 1e-12).all()
    centred_points = one.points - one.points.mean(axis=0)
    assert recovery(found=embedding.gram(), true=centred_points @ centred_points.T) > 0.85


def test_a_class_nobody_was_asked_about_lies_in_the_middle() -> None:
    labels = TopClassLabels(6).labels(world().soft_labels())
    objects = SpectralUnfolding().embed(RankedLists.of_labels(labels)).objects
    dropped = 40 + np.flatnonzero(np.isnan(labels).all(axis=0))
    np.testing.assert_allclose(objects[dropped], 0, atol=1e-7)


def test_recovery_is_the_rank_correlation_above_the_diagonal() -> None:
    a, b = np.random.default_rng(0).random((2, 9, 9))
    above = np.triu_indices(9, 1)
    assert recovery(found=a, true=b) == pytest.approx(spearmanr(a[above], b[above]).statistic, abs=1e-12)
    # Rounding is no order.
    tied = np.round(a, 1)
    jittered = tied + 1e-14 * b
    assert recovery(found=jittered, true=b) == recovery(found=tied, true=b)
    assert recovery(found=np.ones((9, 9)), true=b) == 0
    assert recovery(found=a[:5, :5], true=b) == recovery(found=a[:5, :5], true=b[:5, :5])
    with pytest.raises(BadTable, match="9 objects, and true ones of 5"):
        recovery(found=a, true=b[:5, :5])
