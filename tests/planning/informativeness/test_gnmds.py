"""Loss and gradient by sorting, against every triplet written out."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from sfumato.planning.informativeness.answered_triplets import RankedLists
from sfumato.planning.informativeness.embedding import Gnmds, loss_and_gradient, recovery
from sfumato.planning.informativeness.gnmds_kernels import SHORT
from sfumato.planning.informativeness.label_types import (
    HardLabels,
    LabelType,
    SimilarityLabels,
    SoftLabelType,
    SparseLabels,
    TopClassLabels,
    TripletLabels,
)
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import BadSetting, BadTable


def by_triplets(orders: RankedLists, x: np.ndarray) -> tuple[float, np.ndarray]:
    """The loss and its gradient, triplet by triplet."""
    a, b, c = orders.triplets().T
    slack = 1 + ((x[a] - x[b]) ** 2).sum(axis=1) - ((x[a] - x[c]) ** 2).sum(axis=1)
    a, b, c = (each[slack > 0] for each in (a, b, c))
    gradient = np.zeros_like(x)
    np.add.at(gradient, a, 2 * (x[c] - x[b]))
    np.add.at(gradient, b, 2 * (x[b] - x[a]))
    np.add.at(gradient, c, 2 * (x[a] - x[c]))
    return slack[slack > 0].sum(), gradient


def assert_equal_to_triplets(orders: RankedLists, x: np.ndarray) -> None:
    found = loss_and_gradient(orders, x)
    loss, gradient = by_triplets(orders, x)
    assert found.loss == pytest.approx(loss, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-10, atol=1e-10 * (1 + np.abs(gradient).max()))


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(
    "kind",
    [HardLabels(), SoftLabelType(), SparseLabels(3), TopClassLabels(4), SimilarityLabels(), TripletLabels(200)],
    ids=lambda kind: kind.title,
)
def test_equal_to_triplets(kind: LabelType, scale: float) -> None:
    world = LatentWorld.sample(20, 10, 3, rng=np.random.default_rng(0))
    orders = kind.judge(world, noise=0.3, rng=np.random.default_rng(1))
    x = scale * np.random.default_rng(2).standard_normal((orders.n_objects, 4))
    assert_equal_to_triplets(orders, x)


@pytest.mark.parametrize("levels", [2, 5, 40, 10_000])
@pytest.mark.parametrize("n", [15, 16, 17, 261, SHORT, SHORT + 1, 700])
def test_lists_of_all_lengths_with_ties_are_equal_too(n: int, levels: int) -> None:
    # Up to SHORT they are summed by counting, sixteen at a time, longer ones by merging.
    rng = np.random.default_rng(levels)
    labels = rng.integers(0, levels, (n, 3)) / levels
    labels[rng.random(labels.shape) < 0.05] = np.nan
    labels[:, 0] = np.nan_to_num(labels[:, 0])
    assert_equal_to_triplets(RankedLists.of_labels(labels), rng.standard_normal((n + 3, 2)))


@pytest.mark.parametrize(("n", "k", "d"), [(3, 2, 1), (5, 17, 2), (30, 16, 4), (33, 20, 7), (18, 33, 9)])
def test_whole_blocks_of_any_size(n: int, k: int, d: int) -> None:
    rng = np.random.default_rng(n)
    assert_equal_to_triplets(RankedLists.of_labels(rng.random((n, k))), rng.standard_normal((n + k, d)))
    # The same pairs in another order are no block, and cost as much.
    orders = RankedLists.of_labels(rng.random((n, k)))
    mixed = rng.permutation(n * k)
    other = RankedLists(
        n, k, orders.first[mixed], orders.second[mixed], orders.starts, np.argsort(mixed)[orders.pair], orders.tie
    )
    x = rng.standard_normal((n + k, d))
    assert_equal_to_triplets(other, x)
    assert loss_and_gradient(other, x).loss == pytest.approx(loss_and_gradient(orders, x).loss, rel=1e-12)


def test_margins_met_within_rounding_of_whole_numbers() -> None:
    # On a line, squared distances that differ by 1 and a hair: as whole numbers of 16 bits they would be equal.
    hair = 1e-7 * np.random.default_rng(0).standard_normal(40)
    x = np.sqrt(np.concatenate([[0.0], 1 + np.arange(40) % 20 + hair]))[:, None]
    assert_equal_to_triplets(RankedLists.of_labels(np.random.default_rng(1).random((1, 40))), x)
    # One far away leaves few whole numbers for the others.
    x[-1] = 1e4
    assert_equal_to_triplets(RankedLists.of_labels(np.random.default_rng(1).random((1, 40))), x)
    assert_equal_to_triplets(RankedLists.of_labels(np.random.default_rng(1).random((1, 40))), np.zeros((41, 2)))


def test_equal_distances_and_a_margin_that_is_just_met() -> None:
    labels = np.array([[3.0, 2.0, 1.0]])
    x = np.array([[0.0], [1.0], [1.0], [np.sqrt(2.0)]])
    # Squared distances 1, 1, 2: the first against the second costs 1, the others nothing but rounding.
    assert loss_and_gradient(RankedLists.of_labels(labels), x).loss == pytest.approx(1.0)


def test_half_a_billion_triplets_in_a_moment() -> None:
    rng = np.random.default_rng(0)
    orders = RankedLists.of_labels(rng.random((10_000, 10)))
    assert orders.n_triplets > 5e8
    x = rng.standard_normal((10_010, 10))
    loss_and_gradient(orders, x)
    took = []
    for _ in range(3):
        begun = process_time()
        loss_and_gradient(orders, x)
        took.append(process_time() - begun)
    assert min(took) < 0.2


def test_the_loss_falls_and_what_it_says_is_true() -> None:
    world = LatentWorld.sample(20, 10, 3, rng=np.random.default_rng(0))
    orders = SoftLabelType().judge(world)
    losses = [
        Gnmds(3, n_iterations=n, tolerance=0, random_start=True).embed(orders, rng=np.random.default_rng(1))
        for n in (1, 10, 100)
    ]
    assert losses[0].loss > losses[1].loss > losses[2].loss
    assert [each.n_iterations for each in losses[:2]] == [1, 10]
    for each in losses:
        assert loss_and_gradient(orders, each.objects).loss == pytest.approx(each.loss, rel=1e-9)
    ridged = Gnmds(3, n_iterations=10, ridge=2.0).embed(orders, rng=np.random.default_rng(1))
    expected = loss_and_gradient(orders, ridged.objects).loss + 2 * (ridged.objects**2).sum()
    assert ridged.loss == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("random_start", [False, True])
def test_it_recovers_a_plane(random_start: bool) -> None:
    world = LatentWorld.sample(40, 15, 2, rng=np.random.default_rng(3))
    orders = RankedLists.of_labels(-world.noisy_distances())
    embedding = Gnmds(2, random_start=random_start).embed(orders, rng=np.random.default_rng(1))
    centered = world.objects - world.objects.mean(axis=0)
    found = embedding.objects - embedding.objects.mean(axis=0)
    assert recovery(found=found @ found.T, true=centered @ centered.T) > 0.97


def test_it_ends_where_nothing_is_left_to_gain() -> None:
    orders = RankedLists.of_triplets(np.array([[0, 1, 2]]), 3)
    embedding = Gnmds(2).embed(orders, rng=np.random.default_rng(0))
    assert embedding.converged
    assert embedding.loss == 0
    assert embedding.n_iterations < 100


def test_it_ends_sooner_the_more_it_tolerates() -> None:
    orders = SoftLabelType().judge(LatentWorld.sample(20, 10, 3, rng=np.random.default_rng(0)))
    found = [Gnmds(3, tolerance=each).embed(orders, rng=np.random.default_rng(1)) for each in (0.0, 1e-3, 1e-2)]
    steps, losses = ([getattr(each, name) for each in found] for name in ("n_iterations", "loss"))
    assert steps == sorted(steps, reverse=True)
    assert losses == sorted(losses)
    assert steps[0] > steps[1] > steps[2] > 2
    assert [each.converged for each in found[1:]] == [True, True]
    # The last two steps were too small, the one before was not.
    two_before, last = (
        Gnmds(3, tolerance=1e-3, n_iterations=n).embed(orders, rng=np.random.default_rng(1)).loss
        for n in (steps[1] - 2, steps[1])
    )
    assert 0 < two_before - last <= 2e-3 * orders.n_triplets


def test_the_start_is_left_as_it_was_and_equal_seeds_end_alike() -> None:
    orders = SoftLabelType().judge(LatentWorld.sample(10, 4, 3, rng=np.random.default_rng(0)))
    start = np.random.default_rng(1).standard_normal((14, 6))
    before = start.copy()
    Gnmds(6).embed(orders, rng=np.random.default_rng(2), start=start)
    np.testing.assert_array_equal(start, before)
    first, second = (Gnmds(6).embed(orders, rng=np.random.default_rng(2)).objects for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_bad_settings_and_places() -> None:
    orders = SoftLabelType().judge(LatentWorld.sample(10, 4, 3, rng=np.random.default_rng(0)))
    rng = np.random.default_rng(0)
    for wrong in (Gnmds(0), Gnmds(2, n_iterations=0), Gnmds(2, ridge=-1.0), Gnmds(2, tolerance=-1.0)):
        with pytest.raises(BadSetting, match="found"):
            wrong.embed(orders, rng=rng)
    with pytest.raises(BadTable, match=r"\(3, 2\)") as error:
        Gnmds(2).embed(orders, rng=rng, start=np.zeros((3, 2)))
    assert error.value.code == "bad-places"
