"""Lesson: what it refuses, and parts of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.tables.errors import BadProbabilities, BadTable, SfumatoError
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet, one_hot

ITEMS, CLASSES = ("a", "b", "c"), ("cat", "dog")
PEOPLE = np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]])
ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]])


def pool(**changed: Any) -> AnnotatorBeliefs:
    """Two beliefs about a, none about b, three about c."""
    right = {"rows": ROWS, "starts": np.array([0, 2, 2, 5]), "annotators": np.array([0, 1, 0, 2, 1]), "n_annotators": 3}
    return AnnotatorBeliefs(**(right | changed))


def training_set(**changed: Any) -> TrainingSet:
    right = {"original": np.array([0, 1, 1]), "people": PEOPLE, "beliefs": pool(), "predicted": PEOPLE[::-1]}
    return TrainingSet(ITEMS, CLASSES, **(right | changed))


def test_counts() -> None:
    assert (training_set().n_items, training_set().n_classes) == (3, 2)
    nothing = TrainingSet(ITEMS, CLASSES)
    assert (nothing.original, nothing.people, nothing.beliefs, nothing.predicted) == (None, None, None, None)


def spoilt(row: list[float], at: int, rows: np.ndarray = PEOPLE) -> np.ndarray:
    rows = rows.copy()
    rows[at] = row
    return rows


@pytest.mark.parametrize("source", ["people", "predicted", "beliefs"])
@pytest.mark.parametrize(
    ("row", "code"),
    [
        ([0.5, 0.6], "bad-sum"),
        ([1.2, -0.2], "negative"),
        ([float("nan"), 0.5], "not-finite"),
        ([float("inf"), 0.0], "not-finite"),
        ([0.0, 0.0], "all-zero"),
        ([70.0, 30.0], "percentages"),
    ],
)
def test_rows_that_are_no_distribution(source: str, row: list[float], code: str) -> None:
    """The error says which source, which row and which item; the third belief is the first about c."""
    bad = pool(rows=spoilt(row, 2, ROWS)) if source == "beliefs" else spoilt(row, 2)
    with pytest.raises(BadProbabilities) as caught:
        training_set(**{source: bad})
    assert caught.value.code == code
    assert caught.value.where.row == 2
    assert caught.value.where.column == source
    assert "for item 'c'" in caught.value.found


@pytest.mark.parametrize(
    ("changed", "code", "found"),
    [
        ({"people": PEOPLE[:2]}, "wrong-shape", "found 2 rows of people"),
        ({"predicted": np.tile(PEOPLE, (2, 1))}, "wrong-shape", "found 6 rows of predicted"),
        ({"original": np.array([0, 1])}, "wrong-shape", "found 2 rows of original"),
        ({"people": one_hot([0, 1, 2], 3)}, "wrong-shape", r"found people of shape \(3, 3\)"),
        ({"predicted": np.ones((3, 1))}, "wrong-shape", r"found predicted of shape \(3, 1\)"),
        ({"people": np.ones(3)}, "wrong-shape", r"found people of shape \(3,\)"),
        ({"people": np.array([[1, 0]] * 3)}, "wrong-type", "found people of type int64"),
        ({"original": np.array([0, 1, 2])}, "unknown-class", "found the class number 2 for item 'c'"),
        ({"original": np.array([0, -1, 1])}, "unknown-class", "found the class number -1 for item 'b'"),
        ({"original": np.array([0.0, np.nan, 1.0])}, "wrong-type", "found original labels of type float64"),
        ({"original": np.array([[0], [1], [1]])}, "wrong-type", "in 2 dimensions"),
        ({"beliefs": pool(starts=np.array([0, 2, 5]))}, "wrong-shape", "found 2 rows of beliefs"),
        ({"beliefs": pool(rows=np.tile([0.2, 0.3, 0.5], (5, 1)))}, "wrong-shape", "found beliefs of shape"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sources_that_do_not_fit(changed: dict[str, Any], code: str, found: str) -> None:
    with pytest.raises(BadTable, match=found) as caught:
        training_set(**changed)
    assert caught.value.code == code


@pytest.mark.parametrize("classes", [(), ("cat",), ("cat", "cat"), ("cat", " ")])
def test_classes_that_are_none(classes: tuple[str, ...]) -> None:
    with pytest.raises(SfumatoError) as caught:
        TrainingSet(ITEMS, classes)
    assert caught.value.code == "bad-classes"


@pytest.mark.parametrize("starts", [[], [0, 2, 2, 4], [0, 2, 2, 6], [1, 2, 2, 5], [0, 3, 2, 5]], ids=str)
def test_a_pool_whose_bounds_do_not_fit(starts: list[int]) -> None:
    with pytest.raises(BadTable, match="found bounds") as caught:
        pool(starts=np.array(starts, np.int64))
    assert caught.value.code == "wrong-shape"


def test_a_pool_whose_annotators_do_not_fit() -> None:
    with pytest.raises(BadTable, match="found 4 annotators for 5 rows"):
        pool(annotators=np.array([0, 1, 0, 2]))
    for wrong in (3, -1):
        with pytest.raises(BadTable, match=f"found the annotator number {wrong}") as caught:
            pool(annotators=np.array([0, 1, 0, wrong, 1]))
        assert caught.value.code == "unknown-annotator"


def test_some_items_of_a_pool() -> None:
    """c, b, then a and c again: rows 2 3 4, none, 0 1, 2 3 4."""
    part = pool().take(np.array([2, 1, 0, 2]))
    assert part.starts.tolist() == [0, 3, 3, 5, 8]
    assert part.rows.tolist() == ROWS[[2, 3, 4, 0, 1, 2, 3, 4]].tolist()
    assert part.annotators.tolist() == [0, 2, 1, 0, 1, 0, 2, 1]
    assert part.n_annotators == 3
    none = pool().take(np.array([], np.int64))
    assert none.starts.tolist() == [0]
    assert none.rows.shape == (0, 2)


def test_some_items_of_a_training_set() -> None:
    part = training_set().take(np.array([2, 0]))
    assert part.items == ("c", "a")
    assert part.classes == CLASSES
    assert part.original is not None
    assert part.original.tolist() == [1, 0]
    assert part.people is not None
    assert part.people.tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert part.predicted is not None
    assert part.predicted.tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert part.beliefs is not None
    assert part.beliefs.starts.tolist() == [0, 3, 5]
    assert part.beliefs.rows.tolist() == ROWS[[2, 3, 4, 0, 1]].tolist()


def test_sources_that_are_not_there_stay_away() -> None:
    part = TrainingSet(ITEMS, CLASSES, people=PEOPLE).take(np.array([1]))
    assert (part.original, part.beliefs, part.predicted) == (None, None, None)
    assert part.people is not None
    assert part.people.tolist() == [[0.25, 0.75]]


def test_a_mask_takes_the_items_it_marks() -> None:
    part = training_set().take(np.array([True, False, True]))
    assert part.items == ("a", "c")
    assert part.beliefs is not None
    assert part.beliefs.starts.tolist() == [0, 2, 5]


def test_an_item_out_of_bounds_is_no_item() -> None:
    with pytest.raises(IndexError):
        training_set().take(np.array([3]))


def test_what_is_taken_shares_nothing_with_the_whole() -> None:
    whole = training_set(people=PEOPLE.copy())
    part = whole.take(np.arange(3))
    assert part.people is not None
    part.people[:] = 0.5
    assert whole.people is not None
    assert whole.people.tolist() == PEOPLE.tolist()


def test_one_hot() -> None:
    assert one_hot([2, 0], 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert one_hot(np.array([], np.int64), 3).shape == (0, 3)
