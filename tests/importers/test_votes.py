"""Votes per class: shares, totals, and what is no vote."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.importers.counts import counts_in, in_arrays, original_from_numbers
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable


@pytest.fixture
def place(tmp_path):
    return in_arrays(tmp_path / "a.npz")


def test_counts_larger_than_a_byte(place):
    labels = Counts.from_numpy(["x"], np.array([[70_000, 10_000]]), ("cat", "dog"), place=place).labels()
    assert labels.n_annotators.tolist() == [80_000]
    assert labels.probs.tolist() == [[0.875, 0.125]]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 255), min_size=3, max_size=3).filter(any), min_size=1, max_size=5))
def test_shares_are_counts_over_their_sum(tmp_path_factory, counts):
    place = in_arrays(tmp_path_factory.getbasetemp() / "a.npz")
    items = [str(i) for i in range(len(counts))]
    labels = Counts.from_numpy(items, np.array(counts, np.uint8), ("a", "b", "c"), place=place).labels()
    assert labels.probs.tolist() == [[n / sum(row) for n in row] for row in counts]
    assert labels.n_annotators.tolist() == [sum(row) for row in counts]


@pytest.mark.parametrize(
    ("items", "counts", "code", "row"),
    [
        (["x"], [[1, 2, 3]], "wrong-shape", None),
        (["x", "y"], [[1, 2]], "wrong-shape", None),
        (["x"], [1, 2], "wrong-shape", None),
        (["x"], [["1", "2"]], "wrong-type", None),
        (["x", "y"], [[1, 2], [0, 0]], "all-zero", 1),
        (["x", "y"], [[1, 2], [0.5, 1]], "bad-count", 1),
        (["x", "x"], [[1, 2], [1, 2]], "doubled-item", 1),
    ],
)
def test_what_is_no_vote_is_refused_with_its_place(place, tmp_path, items, counts, code, row):
    with pytest.raises(BadTable) as caught:
        Counts.from_numpy(items, np.array(counts), ("cat", "dog"), place=place)
    assert caught.value.code == code
    assert (caught.value.where.file, caught.value.where.row) == (str(tmp_path / "a.npz"), row)


def test_votes_go_by_their_name_or_by_that_of_the_file(tmp_path):
    counts = np.array([[1, 2]])
    np.savez(tmp_path / "a.npz", counts=counts, labels=[1])
    np.save(tmp_path / "cifar10h-counts.npy", counts)
    for name in ("a.npz", "cifar10h-counts.npy"):
        assert np.array_equal(counts_in(tmp_path / name)["counts"], counts)


@pytest.mark.parametrize("numbers", [[0, 2], [0, -1], [0], [0.0, 1.0], [[0, 1]], ["0", "1"]])
def test_original_labels_are_class_numbers_one_an_item(tmp_path, numbers):
    path = tmp_path / "a.npz"
    assert original_from_numbers(path, ["x", "y"], np.array([1, 0]), ("cat", "dog")).probs.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(BadTable) as caught:
        original_from_numbers(path, ["x", "y"], np.array(numbers), ("cat", "dog"))
    assert (caught.value.where.file, caught.value.where.column) == (str(path), "labels")
