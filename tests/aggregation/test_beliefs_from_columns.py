"""Votes and distributions as people have them in memory, into Beliefs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato import Beliefs
from sfumato.aggregation import Majority
from sfumato.tables.errors import BadProbabilities, BadTable, UnknownName

ITEMS, PEOPLE, LABELS = ["x", "x", "y"], ["b", "a", "b"], ["dog", "cat", "dog"]

AS_COLUMNS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "numpy-object": lambda values: np.array(values, object),
    "pandas": pd.Series,
    "pandas-other-index": lambda values: pd.Series(values, index=range(5, 5 + len(values))),
    "pandas-string": lambda values: pd.Series(values, dtype="string"),
    "pandas-arrow": lambda values: pd.Series(values, dtype="string[pyarrow]"),
    "pandas-category": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "polars-category": lambda values: pl.Series(values, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow-chunked": lambda values: pa.chunked_array([values[:1], values[1:]]),
}


def same(one: Beliefs, other: Beliefs) -> None:
    assert one.classes == other.classes
    assert one.item.text().to_pylist() == other.item.text().to_pylist()
    assert one.annotator.text().to_pylist() == other.annotator.text().to_pylist()
    assert np.array_equal(one.probs, other.probs)


@pytest.mark.parametrize("column", AS_COLUMNS.values(), ids=AS_COLUMNS)
def test_votes_in_any_column(column: Any) -> None:
    beliefs = Beliefs.from_votes(item=column(ITEMS), annotator=column(PEOPLE), label=column(LABELS))
    same(beliefs, Beliefs.from_numpy(ITEMS, PEOPLE, np.array([1, 0, 1]), ("cat", "dog")))
    assert beliefs.hard is not None


@pytest.mark.parametrize("column", AS_COLUMNS.values(), ids=AS_COLUMNS)
def test_distributions_beside_any_column(column: Any) -> None:
    probs = [[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]]
    beliefs = Beliefs.from_probs(item=column(ITEMS), annotator=column(PEOPLE), probs=probs, classes=["cat", "dog"])
    same(beliefs, Beliefs.from_numpy(ITEMS, PEOPLE, np.array(probs), ("cat", "dog")))
    assert beliefs.probs.tolist() == probs


@pytest.mark.parametrize(
    "column",
    [
        list,
        np.array,
        pd.Series,
        pl.Series,
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: pd.Series(v, dtype="category"),
    ],
    ids=["list", "numpy", "pandas", "polars", "pandas-nullable", "pandas-category"],
)
def test_numbers_are_in_order_of_size(column: Any) -> None:
    beliefs = Beliefs.from_votes(item=column([1, 1, 30]), annotator=column([7, 8, 7]), label=column([10, 2, 10]))
    assert beliefs.classes == ("2", "10")
    assert beliefs.item.text().to_pylist() == ["1", "1", "30"]
    assert beliefs.probs.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_text_is_in_order_of_letters() -> None:
    beliefs = Beliefs.from_votes(item=["x", "y"], annotator=["a", "a"], label=["2", "10"])
    assert beliefs.classes == ("10", "2")
    # A list of both is text.
    assert Beliefs.from_votes(item=["x", "y"], annotator=["a", 1], label=[2, "10"]).classes == ("10", "2")


def test_classes_given_are_kept_in_their_order() -> None:
    beliefs = Beliefs.from_votes(item=ITEMS, annotator=PEOPLE, label=LABELS, classes=["fox", "dog", "cat"])
    assert beliefs.classes == ("fox", "dog", "cat")
    assert beliefs.probs.argmax(axis=1).tolist() == [1, 2, 1]
    assert Majority().aggregate(beliefs).labels.probs.tolist() == [[0, 0.5, 0.5], [0, 1, 0]]
    numbered = Beliefs.from_votes(item=["x", "y"], annotator=["a", "a"], label=[1, 0], classes=[1, 0])
    assert numbered.classes == ("1", "0")
    assert numbered.probs.tolist() == [[1, 0], [0, 1]]


def test_a_class_not_given_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'dog'") as caught:
        Beliefs.from_votes(item=["x"], annotator=["a"], label=["dgo"], classes=["cat", "dog"])
    assert caught.value.code == "unknown-class"


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=["none", "nan", "na"])
@pytest.mark.parametrize("column", [list, lambda v: pd.Series(v, dtype=object)], ids=["list", "pandas"])
@pytest.mark.parametrize("where", ["item", "annotator", "label"])
def test_a_gap_is_told(where: str, column: Any, missing: Any) -> None:
    columns = {"item": ["x", "y"], "annotator": ["a", "a"], "label": ["cat", "dog"]}
    columns[where] = column([columns[where][0], missing])
    with pytest.raises(BadTable) as caught:
        Beliefs.from_votes(**columns)
    assert caught.value.code == "missing-value"
    assert (caught.value.where.row, caught.value.where.column) == (1, where)


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadTable, match="3 of item, 2 of annotator, 3 of label") as caught:
        Beliefs.from_votes(item=ITEMS, annotator=PEOPLE[:2], label=LABELS)
    assert caught.value.code == "wrong-shape"
    for probs in ([[0.5, 0.5]] * 2, [[0.5, 0.5, 0.0]] * 3, [[0.5, 0.5], [1.0], [0.5, 0.5]], [["a", "b"]] * 3, 0.5):
        with pytest.raises(BadTable) as caught:
            Beliefs.from_probs(item=ITEMS, annotator=PEOPLE, probs=probs, classes=["cat", "dog"])
        assert caught.value.code == "wrong-shape"


def test_what_is_no_vote_is_refused() -> None:
    for label, code in (
        ([1.0, 2.0, 1.0], "wrong-type"),
        ([True, False, True], "wrong-type"),
        (["cat", " ", "dog"], "empty-text"),
        (["cat", "cat", "cat"], "bad-classes"),
    ):
        with pytest.raises(BadTable) as caught:
            Beliefs.from_votes(item=ITEMS, annotator=PEOPLE, label=label)
        assert caught.value.code == code
    with pytest.raises(BadTable) as caught:
        Beliefs.from_votes(item=ITEMS, annotator=PEOPLE, label=LABELS, classes="cat,dog")
    assert caught.value.code == "bad-classes"
    with pytest.raises(BadProbabilities):
        Beliefs.from_probs(item=["x"], annotator=["a"], probs=[[0.5, 0.6]], classes=["cat", "dog"])
