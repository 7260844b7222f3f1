"""Columns, CSV, and tables for reading."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.reporting import Column, ReportTable
from sfumato.reporting.blocks import as_columns, csv_text, decimals_of
from sfumato.tables.errors import BadTable
from sfumato.tables.files.csv import unguard_formula
from sfumato.tables.scores import Score, Scores


def test_columns_are_plain_values() -> None:
    found = as_columns({"a": np.array([1, 2]), "b": np.array([0.5, np.nan]), "c": [np.inf, None], "d": ["x", True]})
    assert found == {"a": (1, 2), "b": (0.5, None), "c": (None, None), "d": ("x", True)}
    assert type(found["a"][0]) is int


def test_a_table_of_ours_is_data() -> None:
    scores = Scores.of([Score("ece", "all", 0.1, float("nan"), 0.2, 5, float("nan"), "items")])
    found = as_columns(scores)
    assert found["metric"] == ("ece",)
    assert found["value"] == (0.1,)
    assert found["low"] == (None,)


@pytest.mark.parametrize("data", [{"a": [1], "b": [1, 2]}, {}])
def test_columns_of_different_lengths_are_refused(data: dict[str, list[int]]) -> None:
    with pytest.raises(BadTable, match="all of one length"):
        as_columns(data)


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.text()), min_size=1))
def test_csv_says_the_very_numbers(rows: list[tuple[float, str]]) -> None:
    numbers, texts = zip(*rows, strict=True)
    # csv reads text that was written with its line ends kept, as files do.
    read = list(csv.reader(io.StringIO(csv_text({"x": numbers, "name, with": texts}), newline="")))
    assert read[0] == ["x", "name, with"]
    assert [(float(x), unguard_formula(text)) for x, text in read[1:]] == list(rows)


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ((1, 20, 300), 0),
        ((1.0, 2.0), 0),
        ((0.5, 0.25), 3),
        ((12.5, 13.0, 11.0), 1),
        ((0.0123, 0.0456), 4),
        ((None,), 0),
    ],
)
def test_about_three_digits_are_shown(values: tuple[float, ...], decimals: int) -> None:
    assert decimals_of(values) == decimals


def test_decimal_points_stand_below_each_other() -> None:
    assert Column("x", (1234.5, 0.25, None), 2).shown() == ("1,234.50", "0.25", "–")
    assert Column("x", ("a", None, True)).shown() == ("a", "–", "yes")
    assert not Column("x", (None, None)).is_numeric


def test_a_table_needs_whole_rows() -> None:
    with pytest.raises(BadTable, match="'costs'"):
        ReportTable("costs", "t", "c", (Column("a", (1,)), Column("b", (1, 2))))
