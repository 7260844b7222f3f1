"""Effective dimensionality, sparsity curves, and what noise leaves."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from sfumato.planning.informativeness.embedding import (
    component_rho,
    effective_dimensionality,
    label_rho,
    principal_components,
    recovery,
    sparsity_curve,
)
from sfumato.planning.informativeness.label_types import SoftLabelType
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.rank_orders import RankedLists
from sfumato.planning.informativeness.triplets import ChannelCapacity, TrueTriplets, flip_rate, noisy_triplets
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
        found = effective_dimensionality(world, rho)
        assert found.reached
        assert found.n_components == next(q for q, reached in enumerate(curve, 1) if reached >= rho)
        assert found.rho == pytest.approx(curve[found.n_components - 1])
    beyond = effective_dimensionality(world, 1.01)
    assert (beyond.n_components, beyond.reached) == (6, False)


def test_a_curve_ends_where_soft_labels_are(world: LatentWorld) -> None:
    curve = sparsity_curve(world, rng=np.random.default_rng(0))
    soft = label_rho(world, SoftLabelType(), rng=np.random.default_rng(0))
    assert curve.kept == tuple(range(1, 9))
    assert curve.sparse[-1] == pytest.approx(soft) == curve.top_class[-1]
    assert curve.sparse[0] < soft
    assert curve.top_class[0] < soft
    assert curve.components[5] == pytest.approx(component_rho(world, 6))


def test_noise_lowers_the_curve_and_is_the_same_along_it(world: LatentWorld) -> None:
    noisy = sparsity_curve(
        world, kept=(4, 8), noise=3.0, noise_rng=lambda: np.random.default_rng(5), rng=np.random.default_rng(0)
    )
    clean = sparsity_curve(world, kept=(4, 8), rng=np.random.default_rng(0))
    assert (noisy.sparse < clean.sparse).all()
    assert noisy.sparse[-1] == noisy.top_class[-1]


def test_what_noise_leaves() -> None:
    capacity, published = ChannelCapacity(), TrueTriplets()
    assert [capacity.kept(e) for e in (0.0, 0.5, 1.0)] == [1.0, 0.0, 1.0]
    assert capacity.kept(0.1) == pytest.approx(1 + 0.1 * log2(0.1) + 0.9 * log2(0.9))
    assert [published.kept(e) for e in (0.0, 0.5, 1.0)] == [1.0, 0.5, 0.0]
    assert noisy_triplets(1000, 0.25) == pytest.approx(1000 * capacity.kept(0.25))
    assert noisy_triplets(1000, 0.25, published) == 750
    for model in (capacity, published):
        with pytest.raises(BadSetting, match="flip_rate"):
            model.kept(1.5)


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
