"""Simulated worlds, and labels of every kind in them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from sfumato.planning.informativeness.answered_triplets import RankedLists, flip_rate
from sfumato.planning.informativeness.label_types import (
    HardLabels,
    LabelType,
    SimilarityLabels,
    SoftLabelType,
    SparseLabels,
    TopClassLabels,
    TripletLabels,
    questions,
)
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import BadSetting

KINDS = (HardLabels(), SoftLabelType(), SparseLabels(2), TopClassLabels(3), SimilarityLabels(), TripletLabels(60))


def world(n: int = 12, k: int = 4, d: int = 3, seed: int = 0, spread: float = 1.0) -> LatentWorld:
    return LatentWorld.sample(n, k, d, rng=np.random.default_rng(seed), spread=spread)


def test_soft_labels_fall_with_the_distance_and_not_its_square() -> None:
    one = LatentWorld(np.array([[0.0], [3.0]]), np.array([[1.0], [5.0]]), np.array([0, 1]))
    # Distances 1 and 5, then 2 and 2.
    expected = np.exp([[-1.0, -5.0], [-2.0, -2.0]])
    np.testing.assert_allclose(one.soft_labels(), expected / expected.sum(axis=1, keepdims=True), rtol=1e-14)


def test_labels_hold_where_everything_is_far() -> None:
    far = LatentWorld(np.array([[0.0], [1.0]]), np.array([[1e4], [2e4]]), np.array([0, 1]))
    np.testing.assert_array_equal(far.soft_labels(), [[1.0, 0.0], [1.0, 0.0]])


def test_points_lie_around_their_centroids() -> None:
    big = world(n=6000, k=3, d=2, spread=0.5)
    assert np.bincount(big.class_of).tolist() == [2000, 2000, 2000]
    around = big.points - big.centroids[big.class_of]
    np.testing.assert_allclose(around.std(axis=0), 0.5, rtol=0.03)
    np.testing.assert_array_equal(world(spread=0.0).points, world(spread=0.0).centroids[world(spread=0.0).class_of])


def test_cosines() -> None:
    one = world()
    a, b = one.points[2], one.centroids[1]
    assert one.cosines()[2, 12 + 1] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_every_kind_says_as_much_as_its_formula(kind: LabelType) -> None:
    orders = kind.judge(world(), rng=np.random.default_rng(1))
    exact = {"hard", "sparse:2"}
    if kind.title in exact:
        assert 0 < orders.n_triplets <= kind.n_triplets(12, 4)
    else:
        assert orders.n_triplets == kind.n_triplets(12, 4)


@pytest.mark.parametrize("kind", [SimilarityLabels(), TripletLabels(60)], ids=lambda kind: kind.title)
def test_judgments_of_points_are_true_without_noise(kind: LabelType) -> None:
    one = world()
    distance = np.linalg.norm(one.points[:, None] - one.points[None], axis=2)
    for anchor, near, far in kind.judge(one, rng=np.random.default_rng(1)).triplets():
        assert distance[anchor, near] < distance[anchor, far]


def test_item_anchored_triplets_of_soft_labels_are_true_and_some_class_anchored_ones_are_not() -> None:
    one = world(n=40, k=8)
    true = RankedLists.of_labels(-one.noisy_distances())
    triplets = SoftLabelType().judge(one).triplets()
    wrong = {tuple(each) for each in triplets.tolist()} - {tuple(each) for each in true.triplets().tolist()}
    assert all(anchor >= 40 for anchor, _, _ in wrong)
    assert 0.05 < len(wrong) / (triplets[:, 0] >= 40).sum() < 0.3


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_noise_is_in_the_label(kind: LabelType) -> None:
    one = world()
    still = kind.judge(one, rng=np.random.default_rng(1)).triplets().tolist()
    again = kind.judge(one, noise=0.0, rng=np.random.default_rng(1)).triplets().tolist()
    noisy = kind.judge(one, noise=1.0, rng=np.random.default_rng(1)).triplets().tolist()
    assert still == again != noisy


def test_noise_flips_more_the_larger_it_is_and_triplets_of_a_label_agree() -> None:
    one = world(n=30, k=6)
    true = RankedLists.of_labels(-one.noisy_distances())
    rates = []
    for noise in (0.0, 0.3, 1.0, 10.0):
        seen = RankedLists.of_labels(-one.noisy_distances(noise=noise, rng=np.random.default_rng(3)))
        rates.append(flip_rate(judged=seen, true=true))
        nearer = {tuple(each) for each in seen.triplets().tolist() if each[0] == 0}
        # An error in the label keeps an order: nothing runs in circles.
        assert all((0, a, c) in nearer for (_, a, b), (_, b2, c) in permutations(nearer, 2) if b == b2)
    assert rates[0] == 0
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(0.5, abs=0.06)


def test_questions_are_all_different_and_at_last_all() -> None:
    asked = questions(6, 10_000, np.random.default_rng(0))
    expected = {(i, a, b) for i, a, b in permutations(range(6), 3) if a < b}
    assert {tuple(each) for each in asked.tolist()} == expected
    assert len(asked) == len(expected) == 60


def test_equal_seeds_equal_worlds() -> None:
    np.testing.assert_array_equal(world(seed=4).points, world(seed=4).points)
    assert not np.array_equal(world(seed=4).points, world(seed=5).points)


@pytest.mark.parametrize(("size", "found"), [((5, 1, 2), "k = 1"), ((5, 2, 0), "d = 0"), ((1, 2, 2), "n = 1")])
def test_bad_worlds(size: tuple[int, int, int], found: str) -> None:
    with pytest.raises(BadSetting, match=found) as error:
        LatentWorld.sample(*size, rng=np.random.default_rng(0))
    assert error.value.code == "bad-setting"
    assert error.value.expected


def test_there_may_be_more_classes_than_points() -> None:
    few = LatentWorld.sample(3, 5, 2, rng=np.random.default_rng(0))
    assert few.soft_labels().shape == (3, 5)


def test_bad_noise_and_spread() -> None:
    with pytest.raises(BadSetting, match="noise"):
        world().soft_labels(noise=-0.1, rng=np.random.default_rng(0))
    with pytest.raises(BadSetting, match="no rng"):
        world().soft_labels(noise=0.1)
    with pytest.raises(BadSetting, match="spread"):
        world(spread=-1.0)
    with pytest.raises(BadSetting, match="rng"):
        TripletLabels(5).judge(world())
