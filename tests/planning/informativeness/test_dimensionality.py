"""Effective dimensionality, sparsity curves, and what noise leaves."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from sfumato.planning.informativeness.answered_triplets import RankedLists, channel_capacity, flip_rate, true_triplets
from sfumato.planning.informativeness.embedding import (
    component_rho,
    effective_dimensionality,
    label_rho,
    principal_components,
    recovery,
)
from sfumato.planning.informativeness.label_types import SoftLabelType, SparseLabels, TopClassLabels
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import BadSetting


@pytest.fixture
def world() -> LatentWorld:
    return LatentWorld.sample(30, 8, 6, rng=np.random.default_rng(0))


def test_components_against_the_covariance(world: LatentWorld) -> None:
    found = principal_components(world)
    values = np.linalg.eigvalsh(np.cov(world.objects.T))[::-1]
    np.testing.assert_allclose(found.var(axis=0, ddof=1), values, rtol=1e-10)


def test_the_fewest_components_that_reach_it(world: LatentWorld) -> None:
    curve = []
    for q in range(1, 7):
        kept = principal_components(world)[:, :q]
        curve.append(recovery(found=kept @ kept.T, true=world.cosines()))
        assert component_rho(world, q) == pytest.approx(curve[-1])
    for rho in (0.0, 0.3, 0.6, 0.8, 0.9):
        assert effective_dimensionality(world, rho) == next(q for q, reached in enumerate(curve, 1) if reached >= rho)
    assert effective_dimensionality(world, 1.01) == 6  # all of them, although they do not reach it


def test_labels_of_all_classes_recover_what_soft_labels_do(world: LatentWorld) -> None:
    rng = np.random.default_rng(0)
    soft = label_rho(world, SoftLabelType(), rng=rng)
    for kind in (SparseLabels, TopClassLabels):
        assert label_rho(world, kind(8), rng=rng) == pytest.approx(soft)
        assert label_rho(world, kind(1), rng=rng) < soft


def test_noise_lowers_what_is_recovered(world: LatentWorld) -> None:
    def noisy(kind: SparseLabels | TopClassLabels) -> float:
        return label_rho(world, kind, noise=3.0, noise_rng=np.random.default_rng(5), rng=np.random.default_rng(0))

    for kept in (4, 8):
        assert noisy(SparseLabels(kept)) < label_rho(world, SparseLabels(kept), rng=np.random.default_rng(0))
    assert noisy(SparseLabels(8)) == noisy(TopClassLabels(8))


def test_what_noise_leaves() -> None:
    assert [channel_capacity(e) for e in (0.0, 0.5, 1.0)] == [1.0, 0.0, 1.0]
    assert channel_capacity(0.1) == pytest.approx(1 + 0.1 * log2(0.1) + 0.9 * log2(0.9))
    assert [true_triplets(e) for e in (0.0, 0.5, 1.0)] == [1.0, 0.5, 0.0]
    assert true_triplets(0.25) == 0.75
    for model in (channel_capacity, true_triplets):
        with pytest.raises(BadSetting, match="flip_rate"):
            model(1.5)


def test_flip_rate_by_hand() -> None:
    true = RankedLists.of_labels(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 2.0]]))
    judged = RankedLists.of_labels(np.array([[2.0, 3.0, 1.0], [1.0, 3.0, 2.0]]))
    # Of six in rows one is false and one tied in truth; of columns a, b, c: right; tied in both, not judged; right.
    assert flip_rate(judged=true, true=true) == 0
    triplets = {tuple(each) for each in judged.triplets().tolist()}
    assert triplets == {
        *((0, 3, 2), (0, 3, 4), (0, 2, 4)),
        *((1, 3, 4), (1, 3, 2), (1, 4, 2)),
        *((2, 0, 1), (4, 1, 0)),
    }
    assert flip_rate(judged=judged, true=true) == pytest.approx((1 + 0.5) / 8)
