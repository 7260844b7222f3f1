"""What all importers share: finding the file, ordering classes, counting votes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.columns import Coded
from sfumato.errors import BadFile, BadTable, Where
from sfumato.imports.imported import find_file, labels_from_counts, second_answers


def coded(texts: list[str]) -> Coded:
    encoded = pa.array(texts).dictionary_encode()
    return Coded(encoded.indices.to_numpy(), encoded.dictionary)


def test_a_file_is_itself_whatever_its_name(written):
    path = written("other.csv", "x")
    assert find_file(path, ("a.csv",)) == path
    assert find_file(str(path), ("a.csv",)) == path


def test_a_folder_holds_the_first_known_name(written, tmp_path):
    second = written("b.csv", "x")
    assert find_file(tmp_path, ("a.csv", "b.csv")) == second
    first = written("a.csv", "x")
    assert find_file(tmp_path, ("a.csv", "b.csv")) == first


def test_what_is_not_there_is_an_error(tmp_path, written):
    with pytest.raises(BadFile, match=r"nothing in it; expected a file named a\.csv or b\.csv"):
        find_file(tmp_path, ("a.csv", "b.csv"))
    written("near.csv", "x")
    with pytest.raises(BadFile, match=r"found nothing there.*'near.csv'") as caught:
        find_file(tmp_path / "far.csv", ("a.csv",))
    assert caught.value.code == "no-such-file"


def test_second_answers_are_those_of_the_same_pair():
    later = second_answers(coded(["1", "1", "2", "1", "2", "1"]), coded(["a", "b", "a", "a", "b", "b"]))
    assert later.tolist() == [False, False, False, True, False, True]


def test_no_answers_have_no_second_ones():
    assert second_answers(coded([]), coded([])).tolist() == []


def test_counts_larger_than_a_byte():
    labels = labels_from_counts(["x"], np.array([[70_000, 10_000]]), ("cat", "dog"), Where("a.npz"))
    assert labels.n_annotators.tolist() == [80_000]
    assert labels.probs.tolist() == [[0.875, 0.125]]


def test_counts_of_another_shape_are_refused():
    with pytest.raises(BadTable, match="expected 1 items x 3 classes"):
        labels_from_counts(["x"], np.array([[1, 2]]), ("cat", "dog", "ship"), Where("a.npz"))
