"""Counts: the table of votes per item and class."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.tables.class_columns import ColumnChoice
from sfumato.tables.errors import BadRows, BadTable
from sfumato.tables.files.table_file import read_rows

CLASSES = ("cat", "dog", "ship")


@pytest.fixture
def counts():
    return sf.Counts.from_numpy(["a", "b"], [[3, 1, 0], [0, 0, 2]], CLASSES)


@pytest.mark.parametrize("name", ["c.parquet", "c.csv", "c.csv.gz"])
def test_a_written_file_is_read_back(tmp_path, counts, name):
    counts.write(tmp_path / name)
    again = sf.Counts.read(tmp_path / name)
    assert again.items.to_pylist() == ["a", "b"]
    assert again.classes == CLASSES
    assert again.counts.tolist() == [[3, 1, 0], [0, 0, 2]]
    assert again.counts.dtype == np.int32


def test_columns_on_disk(tmp_path, counts):
    counts.write(tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text().splitlines()[:2] == ['"item","n:cat","n:dog","n:ship"', '"a",3,1,0']
    counts.write(tmp_path / "c.parquet")
    schema = pq.read_schema(tmp_path / "c.parquet")
    assert schema.field("counts").type == pa.list_(pa.int32(), 3)
    assert schema.metadata[b"sfumato.classes"] == b'["cat", "dog", "ship"]'


def test_plain_class_names_are_read(tmp_path):
    (tmp_path / "c.csv").write_text("image_id,cat,dog\nx,1,2\ny,0,4\n")
    counts = sf.Counts.read(tmp_path / "c.csv")
    assert (counts.items.to_pylist(), counts.classes, counts.counts.tolist()) == (
        ["x", "y"],
        ("cat", "dog"),
        [[1, 2], [0, 4]],
    )


def test_frames_are_read():
    frame = pl.DataFrame({"item": ["x", "y"], "cat": [1, 0], "dog": [2, 4]})
    assert sf.Counts.from_arrow(frame).counts.tolist() == [[1, 2], [0, 4]]
    assert sf.Counts.from_arrow(frame, classes=["dog", "cat"]).counts.tolist() == [[2, 1], [4, 0]]
    lists = pl.DataFrame({"item": ["x"], "counts": [[1, 2]]})
    assert sf.Counts.from_arrow(lists, classes=["cat", "dog"]).counts.tolist() == [[1, 2]]
    with pytest.raises(BadTable, match="no class names"):
        sf.Counts.from_arrow(lists)


def test_votes_labels_and_back(counts):
    votes = counts.votes()
    assert votes.item.text().to_pylist() == ["a", "a", "a", "a", "b", "b"]
    assert votes.hard.tolist() == [0, 0, 0, 1, 2, 2]
    assert len(set(votes.annotator.text().to_pylist())) == 6
    assert sf.Counts.of(votes).counts.tolist() == counts.counts.tolist()
    labels = counts.labels()
    assert labels.probs.tolist() == [[0.75, 0.25, 0], [0, 0, 1]]
    assert labels.n_annotators.tolist() == [4, 2]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=6))
def test_doubt_is_that_of_the_single_votes(rows):
    counts = sf.Counts.from_numpy(range(len(rows)), rows, CLASSES)
    ours, theirs = counts.doubt(), counts.votes().doubt()
    for name in ("n_answers", "total", "within", "between"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name), equal_nan=True)


def test_beliefs_that_are_not_votes_have_no_counts():
    beliefs = sf.Beliefs.from_numpy(["a"], ["p"], [[0.5, 0.5]], ("cat", "dog"))
    with pytest.raises(BadTable, match="one class per answer"):
        sf.Counts.of(beliefs)


def test_all_faults_of_a_file_are_reported_together(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("item,cat,dog\nx,1,2\nx,3,1\ny,-1,many\nz,0,0\n,1.5,1\n")
    with pytest.raises(BadRows) as caught:
        sf.Counts.read(path)
    found = [(each.where.line, each.code) for each in caught.value.mistakes]
    assert found == [
        (3, "doubled-item"),
        (4, "bad-number"),
        (4, "bad-count"),
        (5, "all-zero"),
        (6, "empty-text"),
        (6, "bad-count"),
    ]
    assert str(caught.value).count("\n") == 5
    assert [str(each) for each in copy.copy(caught.value).mistakes] == str(caught.value).split("\n")


def test_ten_faults_are_listed_and_the_rest_counted(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("item,cat,dog\n" + "".join(f"{i},?,1\n" if i % 3 == 0 else f"{i},2,1\n" for i in range(75)))
    with pytest.raises(BadRows) as caught:
        sf.Counts.read(path)
    assert len(caught.value.mistakes) == 11
    assert "15 more" in caught.value.mistakes[-1].found


def test_columns_that_are_not_classes_are_named_in_one_message(tmp_path):
    path = tmp_path / "fer.csv"
    path.write_text("Usage,Face,neutral,happy,total\nTraining,a.png,4,6,10\nTest,b.png,10,0,10\n")
    with pytest.raises(BadTable) as caught:
        sf.Counts.read(path)
    error = caught.value
    assert error.code == "not-classes"
    assert "Usage, Face (text), total (the sum of the other columns)" in error.found
    assert 'leave_out=["Usage", "Face", "total"]' in error.fix
    assert "item=" in error.fix
    counts = sf.Counts.from_rows(read_rows(path), ColumnChoice(item="Face", leave_out=("Usage", "total")))
    assert (counts.items.to_pylist(), counts.counts.tolist()) == (["a.png", "b.png"], [[4, 6], [10, 0]])


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ([[1, 2]], "wrong-shape"),
        ([[1], [2, 3]], "wrong-shape"),
        ([["1", "2", "3"], ["1", "2", "3"]], "wrong-type"),
        (np.zeros((0, 3)), "wrong-shape"),
        ([[1, 2, 3], [0, 0, 0]], "all-zero"),
        ([[1, 2, 3], [0.5, 0.5, 0]], "bad-rows"),
        ([[1, 2, 3], [np.nan, 1, 1]], "bad-count"),
    ],
)
def test_arrays_are_checked(counts, code):
    with pytest.raises(BadTable) as caught:
        sf.Counts.from_numpy(["a", "b"], counts, CLASSES)
    assert caught.value.code == code
