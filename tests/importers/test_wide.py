"""Wide tables of hard labels: items down, annotators across."""

from __future__ import annotations

import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.importers import WideImporter
from sfumato.tables.errors import BadTable, UnknownName

TABLE = "picture,ann,bob,cleo\n007,cat,dog,\n7,,cat,cat\nNA,dog,,\n"
ANSWERS = [
    ("007", "ann", "cat"),
    ("007", "bob", "dog"),
    ("7", "bob", "cat"),
    ("7", "cleo", "cat"),
    ("NA", "ann", "dog"),
]


def triples(table, answers) -> list[tuple[str, str, str]]:
    return [(a["item"], a["annotator"], a["payload"]["class"]) for a in answers(table)]


def test_cells_are_answers_and_empty_cells_are_none(written, answers):
    imported = WideImporter().read(written("a.csv", TABLE))
    assert triples(imported.table, answers) == ANSWERS
    assert {(a["kind"], a["purpose"]) for a in answers(imported.table)} == {("choice/1", "label")}
    assert imported.table.classes == ("cat", "dog")
    assert imported.notes == (
        "5 answers by 3 annotators about 3 items, 2 classes",
        "annotators: the columns ann, bob, cleo",
        "classes as found: cat, dog (set names and order with --classes)",
    )


def test_parquet_with_nulls_and_integers(tmp_path, answers):
    table = pa.table({"item": [3, 10], "ann": [1, None], "bob": pa.array([None, 0], pa.int8())})
    pq.write_table(table, tmp_path / "a.parquet")
    imported = WideImporter().read(tmp_path / "a.parquet")
    assert triples(imported.table, answers) == [("3", "ann", "1"), ("10", "bob", "0")]
    assert imported.table.classes == ("0", "1")


def test_the_item_column_may_stand_anywhere(written, answers):
    imported = WideImporter(item="picture").read(written("a.csv", "ann,picture,bob\ncat,1,dog\n,2,cat\n"))
    assert triples(imported.table, answers) == [("1", "ann", "cat"), ("1", "bob", "dog"), ("2", "bob", "cat")]


def test_an_item_column_that_is_not_there_is_corrected(written):
    with pytest.raises(BadTable, match="did you mean 'picture'") as caught:
        WideImporter(item="pictures").read(written("a.csv", TABLE))
    assert caught.value.code == "missing-column"


def test_items_without_answers_are_counted(written):
    notes = WideImporter().read(written("a.csv", "item,ann\n1,cat\n2,\n3,dog\n4,\n")).notes
    assert "2 items without any answer" in notes
    assert notes[0] == "2 answers by 1 annotators about 2 items, 2 classes"


def test_classes_given_keep_their_order(written):
    imported = WideImporter(classes=("ship", "dog", "cat")).read(written("a.csv", TABLE))
    assert imported.table.classes == ("ship", "dog", "cat")
    assert not any("as found" in note for note in imported.notes)


def test_a_class_not_given_names_its_cell(written):
    text = 'item,ann,bob\n"1\n1",cat,dog\n\n2,cat,cta\n3,cta,dog\n'
    with pytest.raises(UnknownName, match=r"found class 'cta'.*did you mean 'cat'") as caught:
        WideImporter(classes=("cat", "dog")).read(written("a.csv", text))
    assert (caught.value.where.line, caught.value.where.column) == (5, "bob")
    assert ":5:bob found class 'cta'" in str(caught.value)


def test_a_doubled_item_names_its_second_line(written):
    with pytest.raises(BadTable, match="found item '2' a second time") as caught:
        WideImporter().read(written("a.csv", "item,ann\n1,cat\n2,dog\n\n2,cat\n3,dog\n"))
    assert caught.value.code == "doubled-item"
    assert (caught.value.where.line, caught.value.where.column) == (5, "item")


def test_an_item_without_an_id_names_its_line(written):
    path = written("a.csv", "item,ann,bob\n1,cat,dog\n,cat,cat\n")
    with pytest.raises(BadTable) as caught:
        WideImporter().read(path)
    assert caught.value.code == "empty-text"
    assert (caught.value.where.file, caught.value.where.line, caught.value.where.column) == (str(path), 3, "item")


@pytest.mark.parametrize("text", ["item,ann\n1,\n2,\n", "item\n1\n2\n", "item,ann\n"], ids=["empty", "alone", "none"])
def test_a_table_without_answers_is_refused(written, text):
    path = written("a.csv", text)
    with pytest.raises(BadTable, match="found no answer in any cell") as caught:
        WideImporter().read(path)
    assert (caught.value.code, caught.value.where.file) == ("no-rows", str(path))


def test_a_blank_is_no_class(written):
    path = written("a.csv", "item,ann,bob\n1,cat, \n2,dog,cat\n")
    with pytest.raises(BadTable) as caught:
        WideImporter().read(path)
    assert caught.value.where.file == str(path)


def test_the_time_grows_with_the_number_of_items_and_not_with_its_square(written, answers):
    """A linear reading takes a fraction of a second here; one that looks each id up in a list takes many."""
    n = 30_000
    text = "item,ann,bob\n" + "".join(f"i{i},{('cat', 'dog')[i % 2]},{('', 'cat', 'dog')[i % 3]}\n" for i in range(n))
    path = written("a.csv", text)
    started = time.perf_counter()
    table = WideImporter().read(path).table
    seconds = time.perf_counter() - started
    expected = []
    for i in range(n):
        expected.append((f"i{i}", "ann", ("cat", "dog")[i % 2]))
        if i % 3:
            expected.append((f"i{i}", "bob", ("", "cat", "dog")[i % 3]))
    assert triples(table, answers) == expected
    assert seconds < 5
