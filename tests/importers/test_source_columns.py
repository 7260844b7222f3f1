"""Columns of foreign tables: repeats, the order of classes, and numbers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.importers.source_columns import (
    class_numbers,
    coded_columns,
    number_column,
    ordered_classes,
    second_answers,
)
from sfumato.tables.errors import BadTable
from sfumato.tables.files import Rows, read_rows
from sfumato.tables.text_columns import CodedText

ROWS = Rows.of(pa.table({"label": ["x"]}))


def coded(texts: list[str]) -> CodedText:
    encoded = pa.array(texts, pa.string()).dictionary_encode()
    return CodedText(encoded.indices.to_numpy(), encoded.dictionary)


def test_second_answers_are_those_of_the_same_pair():
    later = second_answers(coded(["1", "1", "2", "1", "2", "1"]), coded(["a", "b", "a", "a", "b", "b"]))
    assert later.tolist() == [False, False, False, True, False, True]


def test_no_answers_have_no_second_ones():
    assert second_answers(coded([]), coded([])).tolist() == []


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")), max_size=20))
def test_second_answers_as_a_plain_loop_finds_them(pairs):
    expected = [pair in pairs[:i] for i, pair in enumerate(pairs)]
    assert second_answers(coded([i for i, _ in pairs]), coded([w for _, w in pairs])).tolist() == expected


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**12), min_size=1, unique=True))
def test_digits_are_ordered_by_the_number_they_write(numbers):
    assert ordered_classes(coded([str(n) for n in numbers]), (), ROWS, "label") == tuple(map(str, sorted(numbers)))


@pytest.mark.parametrize("found", [["7", "010", "007", "9", "x"], ["x", "9", "007", "010", "7"]])
def test_leading_zeros_do_not_count_but_keep_names_apart(found):
    assert ordered_classes(coded(found), (), ROWS, "label") == ("007", "7", "9", "010", "x")


@pytest.mark.filterwarnings("ignore::sfumato.tables.errors.SfumatoWarning")
@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=4), min_size=1, unique=True), st.randoms())
def test_the_order_of_classes_does_not_hang_on_the_order_of_rows(names, random):
    shuffled = list(names)
    random.shuffle(shuffled)
    ordered = ordered_classes(coded(names), (), ROWS, "label")
    assert ordered == ordered_classes(coded(shuffled), (), ROWS, "label")
    assert sorted(ordered) == sorted(names)


def test_numbers_are_read_strictly_and_placed(written):
    path = written("a.csv", "a,b\n1,2\n\n-0.5e1,1_0\n")
    rows = read_rows(path, guarded=False)
    columns = coded_columns(rows, ("a", "b"))
    assert number_column(rows, columns["a"], "a").tolist() == [1.0, -5.0]
    with pytest.raises(BadTable, match="found '1_0'; expected a finite number") as caught:
        number_column(rows, columns["b"], "b")
    assert (caught.value.where.file, caught.value.where.line, caught.value.where.column) == (str(path), 4, "b")


@pytest.mark.parametrize("text", ["2", "-1", "1.0", "x", "٣", "9" * 5_000])
def test_class_numbers_are_those_of_the_classes(written, text):
    path = written("a.csv", f"a\n1\n{text}\n")
    rows = read_rows(path, guarded=False)
    column = coded_columns(rows, ("a",))["a"]
    with pytest.raises(BadTable, match="a class number from 0 to 1") as caught:
        class_numbers(rows, column, "a", ("cat", "dog"))
    assert caught.value.where.line == 3


def test_no_class_is_a_class_number_too_where_there_is_a_word_for_it(written):
    rows = read_rows(written("a.csv", "a\n1\n-1\n0\n"), guarded=False)
    column = coded_columns(rows, ("a",))["a"]
    assert class_numbers(rows, column, "a", ("cat", "dog"), none="-1").tolist() == [1, -1, 0]
