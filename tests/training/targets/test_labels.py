"""Labels: which distribution an access gets, and that chance alone decides."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tables.errors import BadProbabilities
from sfumato.training.target_labels import FixedLabels, PooledLabels, SampledLabels

LAST = float(np.nextafter(1.0, 0.0))
LAST_SINGLE = float(np.nextafter(np.float32(1), np.float32(0)))


def classes_at(labels: SampledLabels, item: int, chances: list[float] | np.ndarray) -> list[int]:
    chance = torch.tensor(chances, dtype=torch.float64)
    got = labels.at(torch.full((len(chance),), item), chance)
    assert got.dtype == torch.float32
    assert (got.sum(1) == 1).all()
    assert ((got == 0) | (got == 1)).all()
    return got.argmax(1).tolist()


def test_fixed_labels_give_the_same_whatever_the_luck() -> None:
    probs = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
    labels = FixedLabels.of(probs)
    got = labels.at(torch.tensor([2, 0, 0, 1]), torch.tensor([0.0, 0.1, 0.9, LAST_SINGLE]))
    assert got.tolist() == [[0.5, 0.5], [0.25, 0.75], [0.25, 0.75], [1.0, 0.0]]
    assert labels.mean().tolist() == probs.tolist()


def test_a_vote_is_where_chance_falls_in_the_cumulated_distribution() -> None:
    labels = SampledLabels.of(np.array([[0.25, 0.5, 0.25], [0.0, 1.0, 0.0]]))
    # Cumulated: .25, .75, 1. A chance on a bound belongs to the class above it, as bounds are [low, high).
    assert classes_at(labels, 0, [0.0, 0.2499, 0.25, 0.7499, 0.75, LAST]) == [0, 0, 1, 1, 2, 2]
    assert classes_at(labels, 1, [0.0, 0.5, LAST]) == [1, 1, 1]
    # Training draws single precision.
    single = labels.at(torch.tensor([0, 0]), torch.tensor([0.0, LAST_SINGLE], dtype=torch.float32))
    assert single.tolist() == [[1, 0, 0], [0, 0, 1]]


ROWS = st.lists(st.sampled_from([0.0, 0.0, 1e-300, 1e-17, 1e-9, 0.1, 0.3, 1 / 3, 1.0]), min_size=2, max_size=9)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    weights=ROWS.filter(lambda row: sum(row) > 1e-9), slack=st.sampled_from([-9e-6, 0.0, 9e-6]), luck=st.floats(0, LAST)
)
def test_a_class_without_mass_is_never_voted_for(weights: list[float], slack: float, luck: float) -> None:
    """Also where the row sums to a little more or less than one, which tables may, and at the very ends of chance."""
    probs = np.array([weights]) / sum(weights) * (1 + slack)
    labels = SampledLabels.of(probs)
    bounds = np.cumsum(probs[0])
    around = np.concatenate([bounds, np.nextafter(bounds, 0), np.nextafter(bounds, 2)])
    chances = [0.0, LAST, LAST_SINGLE, luck, *around[around < 1].tolist()]
    for chosen in classes_at(labels, 0, chances):
        assert probs[0, chosen] > 0


def test_votes_are_as_frequent_as_the_distribution_says() -> None:
    """On a grid of 1,000 chances in the middle of their cells, counts are exact for masses in thousandths."""
    counts = np.array([[0, 125, 0, 875, 0], [200, 200, 200, 200, 200], [1, 998, 0, 0, 1], [1000, 0, 0, 0, 0]])
    labels = SampledLabels.of(counts / 1000)
    grid = (np.arange(1000) + 0.5) / 1000
    for item, expected in enumerate(counts):
        assert np.bincount(classes_at(labels, item, grid), minlength=5).tolist() == expected.tolist()
    np.testing.assert_allclose(labels.mean(), counts / 1000, rtol=0, atol=1e-7)


def pooled() -> tuple[PooledLabels, np.ndarray]:
    rows = np.array([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.0, 1.0], [0.25, 0.75]])
    return PooledLabels.of(rows, np.array([0, 3, 4, 5])), rows


def test_a_pool_gives_a_row_of_the_items_own() -> None:
    labels, rows = pooled()
    # Item 0 has rows 0 to 2, a third of chance each; the others have one row.
    chance = torch.tensor([0.0, 0.33, 0.34, 0.66, 0.67, LAST, 0.0, LAST, LAST], dtype=torch.float64)
    got = labels.at(torch.tensor([0, 0, 0, 0, 0, 0, 1, 1, 2]), chance)
    assert got.tolist() == rows[[0, 0, 1, 1, 2, 2, 3, 3, 4]].tolist()
    # (1 + .75 + .5) / 3 = .75
    np.testing.assert_allclose(labels.mean(), [[0.75, 0.25], [0.0, 1.0], [0.25, 0.75]], rtol=0, atol=1e-7)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 10, 63])
def test_a_pool_gives_every_row_equally_often(n_rows: int) -> None:
    first = np.linspace(0, 1, n_rows)
    rows = np.concatenate([[[0.5, 0.5]], np.stack([first, 1 - first], axis=1)])
    labels = PooledLabels.of(rows, np.array([0, 1, 1 + n_rows]))
    grid = (np.arange(20 * n_rows) + 0.5) / (20 * n_rows)
    got = labels.at(torch.ones(len(grid), dtype=torch.int64), torch.from_numpy(grid)).numpy()
    _, counts = np.unique(got[:, 0], return_counts=True)
    assert counts.tolist() == [20] * n_rows
    ends = labels.at(torch.tensor([1, 1, 1]), torch.tensor([0.0, LAST, LAST_SINGLE], dtype=torch.float64)).numpy()
    np.testing.assert_allclose(ends[:, 0], [first[0], first[-1], first[-1]], rtol=0, atol=1e-7)


def test_luck_of_exactly_one_is_the_last_there_is() -> None:
    """Some generators, and rounding to single precision, give it."""
    labels, rows = pooled()
    one = torch.tensor([1.0, 1.0, 1.0])
    assert labels.at(torch.tensor([0, 1, 2]), one).tolist() == rows[[2, 3, 4]].tolist()
    assert classes_at(SampledLabels.of(np.array([[0.1, 0.9, 0.0]])), 0, [1.0]) == [1]


def test_pools_that_do_not_fit_their_rows_are_refused() -> None:
    rows = np.array([[1.0, 0.0], [0.5, 0.5]])
    for starts in ([0, 1, 1, 2], [0, 1], [1, 2], [0, 3]):
        with pytest.raises(AssertionError):
            PooledLabels.of(rows, np.array(starts))


@pytest.mark.parametrize(
    "row", [[0.5, 0.6], [1.5, -0.5], [float("nan"), 1.0], [0.0, 0.0], [float("inf"), 0.0]], ids=str
)
def test_rows_that_are_no_distribution_are_refused(row: list[float]) -> None:
    probs = np.array([[1.0, 0.0], row])
    with pytest.raises(BadProbabilities):
        FixedLabels.of(probs)
    with pytest.raises(BadProbabilities):
        SampledLabels.of(probs)
    with pytest.raises(BadProbabilities):
        PooledLabels.of(probs, np.array([0, 1, 2]))


def test_labels_share_no_memory_with_where_they_came_from() -> None:
    """Not in single precision either, and not with rows that may not be written to, such as those of a file."""
    probs = np.array([[0.25, 0.75], [1.0, 0.0]], np.float32)
    probs.setflags(write=False)
    for labels in (FixedLabels.of(probs), SampledLabels.of(probs), PooledLabels.of(probs, np.array([0, 1, 2]))):
        labels.mean()[:] = 9
        held = labels.rows if isinstance(labels, PooledLabels) else labels.probs
        assert held.tolist() == probs.tolist()
        held.fill(9)
        assert probs.tolist() == [[0.25, 0.75], [1.0, 0.0]]
