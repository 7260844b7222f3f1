"""Ground truth and other hard labels: a table of its own."""

from __future__ import annotations

import pytest

from sfumato.importers.hard_labels import in_order, read_hard_labels, read_truth
from sfumato.tables.errors import BadRows, BadTable, UnknownName
from sfumato.tables.estimand import Estimand
from sfumato.tables.soft_labels import SoftLabels


def test_truth_is_one_hot_over_the_classes_asked_for(written):
    truth = read_truth(written("t.csv", "item,label\nb,dog\na,cat\n"), ("dog", "owl", "cat"))
    assert truth.items.to_pylist() == ["b", "a"]
    assert truth.probs.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert truth.estimand is Estimand.TRUTH


def test_unknown_classes_are_left_out_and_counted(written):
    labels = read_hard_labels(written("t.csv", "item,truth\na,1\nb,-1\nc,\nd,10\n"))
    assert labels.of == {"a": "1", "d": "10"}
    assert labels.n_unknown == 2
    assert labels.one_hot().classes == ("1", "10")


def test_a_truth_column_repeats_in_the_votes(written):
    votes = "item,worker,label,truth\na,1,0,1\na,2,1,1\nb,1,0,0\n"
    assert read_hard_labels(written("v.csv", votes)).of == {"a": "1", "b": "0"}
    with pytest.raises(BadTable, match="which was '1' before"):
        read_hard_labels(written("w.csv", votes + "a,3,1,0\n"))


def test_all_repeated_items_are_reported(written):
    with pytest.raises(BadRows) as caught:
        read_hard_labels(written("t.csv", "item,label\na,x\na,y\nb,x\nb,x\n"))
    assert [each.where.line for each in caught.value.mistakes] == [3, 5]


def test_votes_are_not_labels(written):
    with pytest.raises(BadTable, match="sfumato aggregate"):
        read_hard_labels(written("v.csv", "item,annotator,label\na,1,x\n"))


def test_a_class_that_people_could_not_choose_is_named_with_its_item(written):
    with pytest.raises(UnknownName, match="item 'a' has it"):
        read_truth(written("t.csv", "item,label\na,wolf\n"), ("cat", "dog"))


def test_soft_labels_are_not_hard(tmp_path):
    SoftLabels.from_numpy(["a"], [[0.5, 0.5]], ("cat", "dog")).write(tmp_path / "s.parquet")
    with pytest.raises(BadTable, match="a soft label for item 'a'"):
        read_hard_labels(tmp_path / "s.parquet")


def test_numbers_are_ordered_by_value():
    assert in_order(["10", "2", "2", "-1"]) == ("-1", "2", "10")
    assert in_order(["b", "10", "a"]) == ("10", "a", "b")
