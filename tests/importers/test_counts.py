"""Votes per class: tables and archives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.importers import CountsImporter
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, SfumatoWarning

TABLE = "item,cat,dog,ship\n007,3,1,0\n7,0,0,5\nNA,1,1,2\n"


def test_counts_stay_counts(written):
    imported = CountsImporter().read(written("a.csv", TABLE))
    assert isinstance(imported.table, Counts)
    assert imported.table.counts.tolist() == [[3, 1, 0], [0, 0, 5], [1, 1, 2]]
    labels = imported.table.labels()
    assert labels.items.to_pylist() == ["007", "7", "NA"]
    assert labels.classes == ("cat", "dog", "ship")
    assert labels.probs.tolist() == [[0.75, 0.25, 0], [0, 0, 1], [0.25, 0.25, 0.5]]
    assert labels.n_annotators.tolist() == [4, 5, 4]
    assert imported.notes[0] == "3 items, 13 votes, 4 to 5 per item (mean 4.3), 3 classes: cat, dog, ship"
    assert imported.original is None


def test_without_an_item_column_rows_are_numbered(written):
    labels = CountsImporter().read(written("a.csv", "cat,dog\n1,1\n0,2\n")).table
    assert labels.items.to_pylist() == ["0", "1"]
    assert labels.classes == ("cat", "dog")


def test_the_item_column_may_be_named(written):
    labels = CountsImporter(item="id").read(written("a.csv", "cat,id,dog\n1,x,1\n0,y,2\n")).table
    assert labels.items.to_pylist() == ["x", "y"]
    assert labels.classes == ("cat", "dog")


def test_classes_pick_columns_and_order_and_the_rest_is_noted(written):
    imported = CountsImporter(classes=("ship", "cat")).read(written("a.csv", TABLE.replace("0,0,5", "1,9,5")))
    assert imported.table.classes == ("ship", "cat")
    assert imported.table.counts.tolist() == [[0, 3], [5, 1], [2, 1]]
    assert "columns not read: dog" in imported.notes


def test_a_class_that_is_no_column_is_corrected(written):
    with pytest.raises(BadTable, match="did you mean 'ship'"):
        CountsImporter(classes=("cat", "shp")).read(written("a.csv", TABLE))


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.float64()])
def test_parquet_of_any_number_type(tmp_path, kind):
    table = pa.table({"item": [5, 6], "cat": pa.array([1, 0], kind), "dog": pa.array([3, 2], kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    labels = CountsImporter().read(tmp_path / "a.parquet").table
    assert labels.items.to_pylist() == ["5", "6"]
    assert labels.counts.tolist() == [[1, 3], [0, 2]]


def test_small_integers_do_not_overflow(tmp_path):
    counts = np.full((2, 3), 200, np.uint8)
    np.savez(tmp_path / "a.npz", counts=counts)
    labels = CountsImporter().read(tmp_path / "a.npz").table.labels()
    assert labels.n_annotators.tolist() == [600, 600]
    assert np.array_equal(labels.probs, np.full((2, 3), 200 / 600))


def test_archives_name_items_and_classes_or_number_them(tmp_path):
    counts = np.array([[1, 3], [2, 0]])
    np.savez(tmp_path / "plain.npz", counts=counts)
    plain = CountsImporter().read(tmp_path / "plain.npz").table
    assert (plain.items.to_pylist(), plain.classes) == (["0", "1"], ("0", "1"))
    np.savez(tmp_path / "named.npz", counts=counts, items=["x", "y"], class_names=["cat", "dog"])
    named = CountsImporter().read(tmp_path / "named.npz").table
    assert (named.items.to_pylist(), named.classes) == (["x", "y"], ("cat", "dog"))
    given = CountsImporter(classes=("yes", "no")).read(tmp_path / "named.npz").table
    assert given.classes == ("yes", "no")
    np.save(tmp_path / "votes.npy", counts)
    alone = CountsImporter().read(tmp_path / "votes.npy").table
    assert alone.counts.tolist() == plain.counts.tolist() == counts.tolist()


@pytest.mark.parametrize(
    ("row", "code", "column"),
    [
        ("x,1.5,2,0", "bad-count", "cat"),
        ("x,1,-2,0", "bad-count", "dog"),
        ("x,0,0,0", "all-zero", None),
        ("x,1,many,0", "bad-number", "dog"),
        ("x,1,,0", "bad-number", "dog"),
        ("x,1,nan,0", "bad-number", "dog"),
        ('x,"1,5",2,0', "bad-number", "cat"),
        ("007,1,2,0", "doubled-item", "item"),
        (",1,2,0", "empty-text", "item"),
    ],
)
def test_a_row_that_is_no_count_names_its_line(written, row, code, column):
    path = written("a.csv", f"{TABLE}\n{row}\n")
    with pytest.raises(BadTable) as caught:
        CountsImporter().read(path)
    assert caught.value.code == code
    assert (caught.value.where.file, caught.value.where.line, caught.value.where.column) == (str(path), 6, column)


@pytest.mark.parametrize(
    ("values", "code"),
    [([[0.5, 1]], "bad-count"), ([[1, -1]], "bad-count"), ([[np.nan, 1]], "bad-count"), ([[0, 0]], "all-zero")],
)
def test_archives_are_checked_too(tmp_path, values, code):
    path = tmp_path / "a.npz"
    np.savez(path, counts=np.array([[1, 1], *values]))
    with pytest.raises(BadTable) as caught:
        CountsImporter().read(path)
    assert (caught.value.code, caught.value.where.file, caught.value.where.row) == (code, str(path), 1)


def test_an_archive_of_another_shape_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", votes=np.ones((2, 2)))
    with pytest.raises(BadTable, match="found arrays votes; expected an array `counts`"):
        CountsImporter().read(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", counts=np.ones(3))
    with pytest.raises(BadTable) as caught:
        CountsImporter().read(tmp_path / "b.npz")
    assert caught.value.where.file == str(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", counts=np.ones((2, 3)))
    with pytest.raises(BadTable, match="expected 2 items x 2 classes"):
        CountsImporter(classes=("cat", "dog")).read(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", counts=np.ones((2, 3)), items=["x"])
    with pytest.raises(BadTable, match="expected 1 items x 3 classes"):
        CountsImporter().read(tmp_path / "d.npz")


def test_columns_that_are_not_classes_can_be_left_out(written):
    path = written("fer.csv", "Usage,Image name,neutral,happy\nTest,a.png,4,6\nTest,b.png,9,1\n")
    with pytest.warns(SfumatoWarning, match=r"fer.csv: left out columns that are not classes: Usage \(text\)"):
        assert CountsImporter().read(path).table.classes == ("neutral", "happy")
    imported = CountsImporter(leave_out=("Usage",)).read(path)
    assert imported.table.items.to_pylist() == ["a.png", "b.png"]
    assert imported.table.counts.tolist() == [[4, 6], [9, 1]]
    assert "columns not read: Usage" in imported.notes


def test_a_header_alone_holds_no_items(written):
    with pytest.raises(BadTable, match="found no rows") as caught:
        CountsImporter().read(written("a.csv", "item,cat,dog\n"))
    assert caught.value.code == "no-rows"


def test_a_single_class_names_the_file(written):
    path = written("a.csv", "item,cat\n1,3\n")
    with pytest.raises(BadTable, match="found 1 class") as caught:
        CountsImporter().read(path)
    assert caught.value.where.file == str(path)


def test_published_counts_read_as_counts(published):
    arrays = np.load(published / "cifar10h" / "counts.npz")
    labels = CountsImporter().read(published / "cifar10h" / "counts.npz").table.labels()
    counts = arrays["counts"].astype(int)
    assert labels.classes == tuple(arrays["class_names"].tolist())
    assert np.array_equal(labels.probs, counts / counts.sum(axis=1, keepdims=True))
