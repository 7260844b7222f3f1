"""Counts of triplets against mining them one by one."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.planning.informativeness.answered_triplets import RankedLists, information_ratio, possible_triplets
from sfumato.planning.informativeness.label_types import (
    HardLabels,
    SimilarityLabels,
    SoftLabelType,
    SparseLabels,
    TopClassLabels,
    TripletLabels,
)
from sfumato.tables.errors import BadSetting, BadTable

NAN = float("nan")


def mined(labels: np.ndarray) -> set[tuple[int, int, int]]:
    """Every triplet "anchor, near, far" in labels, by looking at each pair of entries."""
    n, k = labels.shape
    rows = {(i, n + a, n + b) for i in range(n) for a, b in permutations(range(k), 2) if labels[i, a] > labels[i, b]}
    columns = {(n + c, i, j) for c in range(k) for i, j in permutations(range(n), 2) if labels[i, c] > labels[j, c]}
    return rows | columns


def as_set(orders: RankedLists) -> set[tuple[int, ...]]:
    triplets = [tuple(each) for each in orders.triplets().tolist()]
    assert len(set(triplets)) == len(triplets)
    return set(triplets)


entries = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, NAN])


@settings(max_examples=80, deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 7), st.integers(2, 6)), elements=entries))
def test_counts_equal_mining_with_ties_and_missing_entries(labels: np.ndarray) -> None:
    if np.isnan(labels).all(axis=1).any():
        labels = np.where(np.isnan(labels), 0.0, labels)
    orders = RankedLists.of_labels(labels)
    assert as_set(orders) == mined(labels)
    assert orders.n_triplets == len(mined(labels))
    if labels.size > 2:
        assert information_ratio(orders.n_triplets, orders.n_objects) == len(mined(labels)) / possible_triplets(
            sum(labels.shape)
        )


@pytest.mark.parametrize(("n", "k"), [(12, 3), (12, 4), (6, 6)])
def test_formulas_equal_mining_where_classes_are_equally_large(n: int, k: int) -> None:
    rng = np.random.default_rng(0)
    soft = rng.dirichlet(np.ones(k), n)
    hard = np.eye(k)[np.arange(n) % k]
    assert len(mined(hard)) == pytest.approx(HardLabels().n_triplets(n, k))
    assert len(mined(soft)) == SoftLabelType().n_triplets(n, k)
    assert len(mined(TopClassLabels(2).labels(soft))) == TopClassLabels(2).n_triplets(n, k)
    # Every class is among the two of equally many items.
    shares = np.zeros((n, k))
    for i in range(n):
        shares[i, i % k], shares[i, (i + 1) % k] = 0.6 + i / 100, 0.4 - i / 100
    assert len(mined(shares)) == pytest.approx(SparseLabels(2).n_triplets(n, k))


def test_hard_labels_of_unequal_classes() -> None:
    sizes = np.array([5, 2, 1])
    labels = np.eye(3)[np.repeat([0, 1, 2], sizes)]
    # n (k - 1) + n^2 - sum n_c^2 = 8 x 2 + 64 - 30
    assert RankedLists.of_labels(labels).n_triplets == 50 == len(mined(labels))


def test_ratios_by_hand() -> None:
    n, k = 20, 5
    assert information_ratio(SoftLabelType().n_triplets(n, k), n + k) == pytest.approx(n * k / ((n + k) * (n + k - 1)))
    hard = 2 * n * (k - 1) / (k * (n + k - 1) * (n + k - 2))
    assert information_ratio(HardLabels().n_triplets(n, k), n + k) == pytest.approx(hard)
    assert information_ratio(SoftLabelType().n_triplets(1000, 1000), 2000) == pytest.approx(0.25, abs=1e-3)
    assert SparseLabels(k).n_triplets(n, k) == SoftLabelType().n_triplets(n, k) == TopClassLabels(k).n_triplets(n, k)
    assert SparseLabels(1).n_triplets(n, k) == pytest.approx(HardLabels().n_triplets(n, k) + k * 4 * 3 / 2)


def test_dropped_classes_are_missing_and_not_zero() -> None:
    soft = np.random.default_rng(1).dirichlet(np.ones(5), 8)
    dropped = TopClassLabels(3).labels(soft)
    assert np.isnan(dropped).all(axis=0).sum() == 2
    # 8 x 3 pairs of classes and 3 x 28 pairs of items; zeros would have added 8 x 3 x 2.
    assert RankedLists.of_labels(dropped).n_triplets == 24 + 84
    assert RankedLists.of_labels(np.nan_to_num(dropped)).n_triplets == 24 + 84 + 48


def test_similarities_and_triplets() -> None:
    rng = np.random.default_rng(2)
    points = rng.standard_normal((7, 2))
    similarity = -((points[:, None] - points[None]) ** 2).sum(axis=2)
    orders = RankedLists.of_similarities(similarity)
    expected = {(i, a, b) for i, a, b in permutations(range(7), 3) if similarity[i, a] > similarity[i, b]}
    assert as_set(orders) == expected
    assert orders.n_triplets == SimilarityLabels().n_triplets(7, 2) == 3 * len(list(combinations(range(7), 3)))
    similarity[0, 1:4] = NAN
    assert as_set(RankedLists.of_similarities(similarity)) == {
        t for t in expected if t[0] or not {1, 2, 3} & set(t[1:])
    }
    assert TripletLabels(50).n_triplets(7, 2) == 50
    assert TripletLabels(500).n_triplets(7, 2) == 105


def test_a_question_asked_often_counts_once_by_its_majority() -> None:
    asked = [(0, 1, 2), (0, 2, 1), (0, 1, 2), (3, 0, 1), (3, 1, 0), (2, 3, 0)]
    assert as_set(RankedLists.of_triplets(np.array(asked), 4)) == {(0, 1, 2), (2, 3, 0)}


@pytest.mark.parametrize("kind", [HardLabels(), SoftLabelType(), SparseLabels(2), TopClassLabels(2)])
def test_labels_keep_what_they_say_they_keep(kind: HardLabels | SoftLabelType | SparseLabels | TopClassLabels) -> None:
    soft = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3], [0.05, 0.9, 0.05]])
    expected = {
        "hard": [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]],
        "soft": soft,
        "sparse:2": [[0.7, 0.2, 0], [0, 0.3, 0.6], [0.3, 0.4, 0], [0.05, 0.9, 0]],
    }.get(kind.title)
    found = kind.labels(soft)
    if expected is None:
        kept = ~np.isnan(found[0])
        assert kept.sum() == 2
        assert (found[:, kept] == soft[:, kept]).all()
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (np.ones((3, 1)), "1 class"),
        (np.array([[0.5, 0.5], [NAN, NAN]]), "without known entries"),
        (np.array([[0.5, np.inf]]), "infinite"),
        (np.ones(3), "shape"),
        (np.ones((0, 3)), "shape"),
    ],
)
def test_bad_labels(labels: np.ndarray, found: str) -> None:
    with pytest.raises(BadTable, match=found) as error:
        RankedLists.of_labels(labels)
    assert error.value.code == "bad-labels"
    assert error.value.fix


def test_bad_triplets_name_their_row() -> None:
    with pytest.raises(BadTable, match="row 1") as error:
        RankedLists.of_triplets(np.array([[0, 1, 2], [0, 0, 1]]), 3)
    assert error.value.where.row == 1
    with pytest.raises(BadTable, match="row 0"):
        RankedLists.of_triplets(np.array([[0, 1, 3]]), 3)


def test_bad_numbers() -> None:
    with pytest.raises(BadSetting, match="found k = 1"):
        SoftLabelType().n_triplets(5, 1)
    with pytest.raises(BadSetting, match="found kept = 4"):
        SparseLabels(4).n_triplets(5, 3)
    with pytest.raises(BadSetting, match="found kept = 0"):
        TopClassLabels(0).n_triplets(5, 3)
    with pytest.raises(BadSetting, match="kept"):
        SparseLabels(4).labels(np.ones((2, 3)))
