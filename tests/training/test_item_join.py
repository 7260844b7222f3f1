"""Tables come together by item name and class name, never by position."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import toy_data

from sfumato.importers.hard_labels import read_hard_labels
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting, BadTable, UnknownName
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.item_join import join_items

IMAGES = np.arange(4 * 2 * 2, dtype=np.uint8).reshape(4, 2, 2)
INPUTS = Inputs(("a", "b", "c", "d"), IMAGES)
PEOPLE = SoftLabels.from_numpy(["c", "a"], [[0.9, 0.1], [0.3, 0.7]], ["cat", "dog"])


def test_rows_follow_the_inputs_and_columns_the_labels() -> None:
    turned = SoftLabels.from_numpy(["a", "c", "z"], [[0.4, 0.6], [1, 0], [0, 1]], ["dog", "cat"])
    made = join_items(INPUTS, people=PEOPLE, original={"a": "dog", "c": "cat", "d": "cat"}, teachers=[turned, turned])
    training_set = made
    assert training_set.items == ("a", "c")
    assert training_set.classes == ("cat", "dog")
    assert np.array_equal(made.images, IMAGES[[0, 2]])
    np.testing.assert_array_equal(training_set.people, [[0.3, 0.7], [0.9, 0.1]])
    np.testing.assert_array_equal(training_set.original, [1, 0])
    np.testing.assert_allclose(training_set.predicted, [[0.6, 0.4], [0, 1]])
    note = 'left out 2 of 4 inputs: they have no label; rest="original" would train on their original labels'
    assert made.notes == (note,)


def test_teachers_are_averaged() -> None:
    one = SoftLabels.from_numpy(["a", "c"], [[1, 0], [1, 0]], ["cat", "dog"])
    two = SoftLabels.from_numpy(["a", "c"], [[0, 1], [0.5, 0.5]], ["cat", "dog"])
    np.testing.assert_allclose(
        join_items(INPUTS, people=PEOPLE, teachers=[one, two]).predicted, [[0.5, 0.5], [0.75, 0.25]]
    )


def test_beliefs_stand_by_item_in_the_order_of_the_classes() -> None:
    beliefs = Beliefs.from_numpy(
        ["c", "z", "a", "c"], ["x", "x", "y", "y"], np.array([[0.2, 0.8], [1, 0], [0.6, 0.4], [0, 1]]), ["dog", "cat"]
    )
    inputs = Inputs(("a", "b", "c"), IMAGES[:3])
    labels = SoftLabels.from_numpy(["a", "b", "c"], [[1, 0]] * 3, ["cat", "dog"])
    made = join_items(inputs, people=labels, beliefs=beliefs)
    pool = made.beliefs
    assert pool is not None
    np.testing.assert_allclose(pool.rows, [[0.4, 0.6], [0.8, 0.2], [1, 0]])
    assert pool.starts.tolist() == [0, 1, 1, 3]
    names = beliefs.annotator.names.to_pylist()
    assert [names[n] for n in pool.annotators] == ["y", "x", "y"]
    assert made.notes == ("1 of 3 items have no belief",)


def test_hard_votes_too() -> None:
    pool = toy_data.data().beliefs
    assert pool is not None
    np.testing.assert_array_equal(pool.rows[:5], [[1, 0, 0]] * 4 + [[0, 1, 0]])


def test_beliefs_alone_are_labels_enough() -> None:
    made = join_items(INPUTS, beliefs=Beliefs.from_numpy(["b"], ["x"], [[0.2, 0.8]], ["cat", "dog"]))
    assert made.items == ("b",)
    assert made.people is None


def test_labels_of_the_inputs_are_the_original_ones() -> None:
    inputs = Inputs(("a", "b"), IMAGES[:2], labels=("dog", "cat"), classes=("cat", "dog"))
    assert join_items(inputs).original.tolist() == [1, 0]
    people = SoftLabels.from_numpy(["a", "b"], [[1, 0]] * 2, ["dog", "cat"])
    assert join_items(inputs, people=people).original.tolist() == [0, 1]
    given = join_items(inputs, people=people, original={"a": "cat", "b": "cat"})
    assert given.original.tolist() == [1, 1]


def test_items_without_inputs_are_an_error() -> None:
    people = SoftLabels.from_numpy(["a", "y", "z"], [[1, 0]] * 3, ["cat", "dog"])
    with pytest.raises(BadTable, match=r"no input for item 'y' \(2 such items") as caught:
        join_items(INPUTS, people=people)
    assert caught.value.code == "missing-input"


def test_other_classes_are_an_error_that_names_them() -> None:
    teacher = SoftLabels.from_numpy(["a", "c"], [[1, 0]] * 2, ["cat", "emu"])
    with pytest.raises(BadTable, match="the additional class emu and no class dog") as caught:
        join_items(INPUTS, people=PEOPLE, teachers=[teacher])
    assert caught.value.code == "bad-classes"
    with pytest.raises(UnknownName, match="did you mean 'dog'"):
        join_items(INPUTS, people=PEOPLE, original={"a": "dogs", "c": "cat"})


def test_what_stands_beside_must_be_there_for_every_item() -> None:
    with pytest.raises(BadTable, match="no original label for item 'c'"):
        join_items(INPUTS, people=PEOPLE, original={"a": "dog"})
    teacher = SoftLabels.from_numpy(["a"], [[1, 0]], ["cat", "dog"])
    with pytest.raises(BadTable, match="no label for item 'c'"):
        join_items(INPUTS, people=PEOPLE, teachers=[teacher])


def test_nothing_to_learn_or_to_see_is_an_error() -> None:
    with pytest.raises(BadSetting, match="found no labels"):
        join_items(INPUTS)


def test_texts_are_joined_too() -> None:
    items = tuple(PEOPLE.items.to_pylist())
    joined = join_items(Inputs(items[::-1], texts=tuple(f"about {item}" for item in items[::-1])), people=PEOPLE)
    assert joined.kind == "texts"
    assert joined.texts == tuple(f"about {item}" for item in joined.items)


def test_hashes_are_of_values() -> None:
    one, same = toy_data.data(), toy_data.data()
    assert one.hashes() == same.hashes()
    changed = toy_data.images()
    changed[3, 4, 5] ^= 1
    other = join_items(Inputs(toy_data.ITEMS, changed), people=toy_data.people())
    assert {name for name, value in one.hashes().items() if other.hashes().get(name) != value} == {
        "images", "original", "beliefs"
    }  # fmt: skip


def test_original_labels_from_files(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text("item,label\nb,cat\na,dog\n")
    assert read_hard_labels(tmp_path / "o.csv").of == {"b": "cat", "a": "dog"}
    SoftLabels.one_hot(["b", "a"], ["cat", "dog"], ["cat", "dog"]).write(tmp_path / "o.parquet")
    assert read_hard_labels(tmp_path / "o.parquet").of == {"b": "cat", "a": "dog"}
    PEOPLE.write(tmp_path / "soft.parquet")
    with pytest.raises(BadTable, match="a soft label for item 'c'"):
        read_hard_labels(tmp_path / "soft.parquet")
    (tmp_path / "o.csv").write_text("item,label\nb,cat\nb,dog\n")
    with pytest.raises(BadTable, match="'b' a second time"):
        read_hard_labels(tmp_path / "o.csv")
