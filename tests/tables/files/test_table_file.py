"""Rows in and out: round trips, what a file says of itself, and files that are damaged."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sfumato.tables.annotations import PURPOSES, Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadFile, BadTable, SfumatoError, UnsafeFile
from sfumato.tables.files import ROW_GROUP, Rows, classes_metadata, read_rows, write_rows
from sfumato.tables.soft_labels import SoftLabels

SUFFIXES = (".parquet", ".pq", ".csv", ".csv.gz")
FORMS = (".parquet", ".csv", ".csv.gz")
WHOLE = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])

NAME = (
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=10)
    | st.text("'=+-@\t\r\n\",;x é猫", min_size=1, max_size=6)
    | st.sampled_from(["007", "7", "NA", "null", "nan", "1e5", "=1+1", "'=1", "''@x", "-", "'", "p:x", "item", "probs"])
).filter(lambda text: bool(text.strip()))
CLASSES = st.lists(NAME, min_size=2, max_size=4, unique=True).map(tuple)
WEIGHT = st.floats(0, 1, allow_subnormal=True) | st.sampled_from([0.0, 1.0, 5e-324, 1e-300, 0.1, 1 / 3])


ANNOTATIONS = pa.schema(
    [
        *((name, pa.string()) for name in ("item", "annotator", "kind", "payload")),
        ("trial", pa.int64()),
        ("purpose", pa.string()),
        ("started_at", pa.timestamp("ms", "UTC")),
        ("submitted_at", pa.timestamp("ms", "UTC")),
        ("seconds", pa.float64()),
    ]
)


@st.composite
def distributions(draw, n_rows: int, n_classes: int) -> np.ndarray:
    row = st.lists(WEIGHT, min_size=n_classes, max_size=n_classes).filter(lambda weights: sum(weights) > 1e-6)
    weights = np.array([draw(row) for _ in range(n_rows)]).reshape(n_rows, n_classes)
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def labels_given(draw) -> tuple:
    """Items, probabilities, classes and numbers of annotators."""
    classes = draw(CLASSES)
    items = draw(st.lists(NAME, max_size=5, unique=True))
    counts = draw(st.none() | st.lists(st.integers(0, 2**31 - 1), min_size=len(items), max_size=len(items)))
    return items, draw(distributions(len(items), len(classes))), classes, counts or None


@st.composite
def beliefs_given(draw) -> tuple:
    """Items, annotators, votes (class numbers or distributions) and classes."""
    classes = draw(CLASSES)
    pairs = draw(st.lists(st.tuples(NAME, NAME), max_size=5))
    hard = st.lists(st.integers(0, len(classes) - 1), min_size=len(pairs), max_size=len(pairs))
    votes = draw(hard.map(lambda v: np.array(v, np.int64)) | distributions(len(pairs), len(classes)))
    return [item for item, _ in pairs], [who for _, who in pairs], votes, classes


MOMENT = st.none() | st.datetimes(datetime(1902, 1, 1), datetime(2200, 1, 1)).map(
    lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000, tzinfo=UTC)
)
ANSWER = st.fixed_dictionaries(
    {
        "item": NAME,
        "annotator": NAME,
        "kind": st.sampled_from(["choice/1", "sliders/1"]),
        "payload": NAME.map(lambda name: json.dumps({"class": name}, ensure_ascii=len(name) % 2 == 0)),
        "trial": st.none() | st.integers(0, 2**53),
        "purpose": st.sampled_from(PURPOSES),
        "started_at": MOMENT,
        "submitted_at": MOMENT,
        "seconds": st.none() | st.floats(0, 1e12, allow_subnormal=True),
    }
)


def bits(values: np.ndarray) -> list:
    return np.ascontiguousarray(values, np.float64).view(np.int64).tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


# Round trips


@pytest.mark.parametrize("suffix", FORMS)
@WHOLE
@given(given_labels=labels_given())
def test_soft_labels_come_back_to_the_last_bit(folder, suffix, given_labels):
    items, probs, classes, counts = given_labels
    SoftLabels.from_numpy(items, probs, classes, counts).write(folder / f"labels{suffix}")
    back = SoftLabels.read(folder / f"labels{suffix}")
    assert back.items.to_pylist() == items
    assert back.classes == classes
    assert bits(back.probs) == bits(probs)
    assert (None if back.n_annotators is None else back.n_annotators.tolist()) == counts


@pytest.mark.parametrize("suffix", FORMS)
@WHOLE
@given(given_beliefs=beliefs_given())
def test_beliefs_come_back_to_the_last_bit(folder, suffix, given_beliefs):
    items, annotators, votes, classes = given_beliefs
    table = Beliefs.from_numpy(items, annotators, votes, classes)
    table.write(folder / f"beliefs{suffix}")
    back = Beliefs.read(folder / f"beliefs{suffix}")
    assert back.item.text().to_pylist() == items
    assert back.annotator.text().to_pylist() == annotators
    assert back.classes == classes
    assert bits(back.probs) == bits(votes if votes.ndim == 2 else np.eye(len(classes))[votes])
    assert (back.hard is None) == (table.hard is None), "a hard vote stays an integer"


@pytest.mark.parametrize("suffix", FORMS)
@WHOLE
@given(rows=st.lists(ANSWER, max_size=5), classes=CLASSES)
def test_annotations_come_back_as_they_were(folder, suffix, rows, classes):
    Annotations.from_arrow(pa.Table.from_pylist(rows, ANNOTATIONS), classes).write(folder / f"answers{suffix}")
    back = Annotations.read(folder / f"answers{suffix}")
    assert back.to_arrow().to_pylist() == rows
    assert back.classes == (() if "csv" in suffix else classes), "a CSV cannot name the classes of Annotations"


@WHOLE
@given(value=st.floats(0, 1, allow_subnormal=True))
@example(5e-324)
@example(0.1)
@example(1 / 3)
@example(2.2250738585072014e-308)
def test_every_probability_survives_a_csv(folder, value):
    table = SoftLabels.from_numpy(["x"], [[value, 1 - value]], ("cat", "dog"))
    table.write(folder / "one.csv")
    assert bits(SoftLabels.read(folder / "one.csv").probs) == bits(np.array([[value, 1 - value]]))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_file_becomes_another_without_loss(folder, suffix):
    probs = np.random.default_rng(1).dirichlet(np.ones(3) * 0.1, size=50)
    table = SoftLabels.from_numpy([f"={i}" for i in range(50)], probs, ("a", 'b"', "ç"), np.arange(50))
    table.write(folder / "first.csv")
    SoftLabels.read(folder / "first.csv").write(folder / f"second{suffix}")
    assert SoftLabels.read(folder / f"second{suffix}").to_arrow().equals(table.to_arrow(), check_metadata=True)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_tables_larger_than_a_chunk(folder, suffix):
    """More rows than a row group, hard at first and soft at the end."""
    n_rows = ROW_GROUP + 10
    chosen = np.arange(n_rows) % 2
    probs = np.eye(2)[chosen]
    probs[-1] = [0.25, 0.75]
    items = [f"item {i % 1000}" for i in range(n_rows)]
    people = [f"{i % 7}" for i in range(n_rows)]
    Beliefs.from_numpy(items, people, probs, ("cat", "dog")).write(folder / f"large{suffix}")
    if suffix == ".parquet":
        assert pq.ParquetFile(folder / "large.parquet").num_row_groups == 2
    back = Beliefs.read(folder / f"large{suffix}")
    assert back.item.text().to_pylist() == items
    assert back.annotator.text().to_pylist() == people
    assert np.array_equal(back.probs, probs)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_tables_without_rows(folder, suffix):
    path = folder / f"empty{suffix}"
    SoftLabels.from_numpy([], np.empty((0, 2)), ("cat", "dog")).write(path)
    back = SoftLabels.read(path)
    assert (len(back), back.classes, back.probs.shape) == (0, ("cat", "dog"), (0, 2))


# What a file says of itself


AWKWARD_CLASSES = ("cat, or dog", 'a "b"', "猫", "line\nend", "\\")


def test_the_classes_stand_in_the_schema_as_json(folder):
    path = folder / "classes.parquet"
    SoftLabels.from_numpy(["x"], np.full((1, 5), 0.2), AWKWARD_CLASSES).write(path)
    schema = pq.read_schema(path)
    assert set(schema.metadata) == {b"sfumato.classes"}
    assert json.loads(schema.metadata[b"sfumato.classes"].decode("utf-8")) == list(AWKWARD_CLASSES)
    assert "猫".encode() in schema.metadata[b"sfumato.classes"], "names are written as they are"
    assert read_rows(path).classes() == AWKWARD_CLASSES


def test_probs_is_a_fixed_size_list(folder):
    path = folder / "probs.parquet"
    for table in (
        SoftLabels.from_numpy(["x"], [[0.25, 0.5, 0.25]], ("a", "b", "c"), 4),
        Beliefs.from_numpy(["x"], ["w"], [[0.25, 0.5, 0.25]], ("a", "b", "c")),
    ):
        table.write(path)
        (chunk,) = read_rows(path).chunks
        assert pq.read_schema(path).field("probs").type == pa.list_(pa.float64(), 3)
        assert chunk.column("probs").to_pylist() == [[0.25, 0.5, 0.25]]


def test_columns_of_each_table(folder):
    SoftLabels.from_numpy(["x"], [[0.25, 0.75]], ("a", "b"), 4).write(folder / "a.parquet")
    assert pq.read_schema(folder / "a.parquet").names == ["item", "probs", "n_annotators"]
    Beliefs.from_numpy(["x"], ["w"], [1], ("a", "b")).write(folder / "a.parquet")
    assert pq.read_schema(folder / "a.parquet").names == ["item", "annotator", "probs"]
    SoftLabels.from_numpy(["x"], [[0.25, 0.75]], ("a", "b"), 4).write(folder / "a.csv")
    assert read_rows(folder / "a.csv").schema.names == ["item", "p:a", "p:b", "n_annotators"]
    answer = {"item": "x", "annotator": "w", "kind": "choice/1", "payload": '{"class": "a"}'}
    Annotations.from_arrow(pa.Table.from_pylist([answer])).write(folder / "a.parquet")
    assert pq.read_schema(folder / "a.parquet").names == ANNOTATIONS.names
    assert pq.read_schema(folder / "a.parquet").types == ANNOTATIONS.types


def test_other_programs_read_our_parquet(folder):
    path = folder / "other.parquet"
    SoftLabels.from_numpy(["007", "=x"], [[0.25, 0.75], [1, 0]], ("a", "b"), [4, 5]).write(path)
    frame = pl.read_parquet(path)
    assert frame["item"].to_list() == ["007", "=x"]
    assert frame["probs"].to_list() == [[0.25, 0.75], [1, 0]]
    assert pd.read_parquet(path)["n_annotators"].tolist() == [4, 5]


@pytest.mark.parametrize("text", ["cat,dog", '{"a": 1}', '["a", 1]', "null", '["a"', "\xff"])
def test_classes_that_are_no_list_of_names_are_refused(folder, text):
    path = folder / "bad.parquet"
    table = pa.table({"item": ["x"], "probs": [[0.5, 0.5]]})
    pq.write_table(table.replace_schema_metadata({b"sfumato.classes": text.encode("latin-1")}), path)
    with pytest.raises(BadTable, match="expected a JSON array of class names") as caught:
        SoftLabels.read(path)
    assert (caught.value.code, caught.value.where.file) == ("bad-classes", str(path))


@pytest.mark.parametrize("classes", [["cat"], ["cat", "cat"], ["cat", " "], []])
def test_classes_are_checked_like_any(folder, classes):
    path = folder / "bad.parquet"
    table = pa.table({"item": ["x"], "probs": [[0.5, 0.5]]})
    pq.write_table(table.replace_schema_metadata({b"sfumato.classes": json.dumps(classes).encode()}), path)
    with pytest.raises(BadTable) as caught:
        SoftLabels.read(path)
    assert caught.value.where.file == str(path)


def test_no_classes_leave_no_trace():
    assert classes_metadata(()) == {}
    assert classes_metadata(("é", "b")) == {b"sfumato.classes": '["é", "b"]'.encode()}


def test_a_file_of_others_may_hold_lists_of_any_kind_or_columns(folder):
    path = folder / "foreign.parquet"
    named = {b"sfumato.classes": b'["cat", "dog"]', b"pandas": b"{}"}
    for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2)):
        table = pa.table({"item": pa.array([1, 2], pa.int16()), "probs": pa.array([[0.25, 0.75], [1, 0]], kind)})
        pq.write_table(table.replace_schema_metadata(named), path)
        labels = SoftLabels.read(path)
        assert labels.probs.tolist() == [[0.25, 0.75], [1, 0]]
        assert labels.items.to_pylist() == ["1", "2"]
    pq.write_table(pa.table({"item": ["x"], "p:dog": [0.25], "p:cat": [0.75]}), path)
    assert SoftLabels.read(path).classes == ("dog", "cat")
    assert SoftLabels.read(path).probs.tolist() == [[0.25, 0.75]]


# Rows


FRAMES = {
    "pyarrow": pa.table({"item": ["x", "y"], "p:cat": [0.25, 1.0], "p:dog": [0.75, 0.0]}),
    "Polars": pl.DataFrame({"item": ["x", "y"], "p:cat": [0.25, 1.0], "p:dog": [0.75, 0.0]}),
    "pandas": pd.DataFrame({"item": ["x", "y"], "p:cat": [0.25, 1.0], "p:dog": [0.75, 0.0]}),
    "ours": SoftLabels.from_numpy(["x", "y"], [[0.25, 0.75], [1, 0]], ("cat", "dog")),
}


@pytest.mark.parametrize("name", FRAMES)
def test_rows_of_anything_that_speaks_arrow(name):
    labels = SoftLabels.from_rows(Rows.of(FRAMES[name]))
    assert labels.items.to_pylist() == ["x", "y"]
    assert labels.classes == ("cat", "dog")
    assert labels.probs.tolist() == [[0.25, 0.75], [1, 0]]


def test_rows_of_a_frame_may_be_told_their_classes():
    frame = pl.DataFrame({"item": ["x"], "probs": [[0.25, 0.75]]})
    assert Rows.of(frame).classes() is None
    assert Rows.of(frame, ("cat", "dog")).classes() == ("cat", "dog")


@pytest.mark.parametrize("frame", [{"item": ["x"]}, [1], "a.csv", None, np.eye(2)])
def test_anything_else_is_no_table(frame):
    with pytest.raises(BadTable) as caught:
        Rows.of(frame)
    assert caught.value.code == "not-a-table"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_place_is_a_line_in_text_and_a_row_elsewhere(folder, suffix):
    path = folder / f"where{suffix}"
    write_rows(pa.schema([("item", pa.string())]), iter([pa.table({"item": ["a", "b\nb", "c"]})]), path)
    where = read_rows(path).where(2, "item")
    assert (where.file, where.column) == (str(path), "item")
    assert (where.line, where.row) == ((5, None) if "csv" in suffix else (None, 2))
    assert read_rows(path).is_text is ("csv" in suffix)
    assert read_rows(path).where().line is None


def test_a_place_in_memory_is_a_row():
    rows = Rows.of(FRAMES["pyarrow"])
    assert (rows.where(1).file, rows.where(1).row, rows.is_text) == (None, 1, False)


def test_chunks_of_several_sources_are_cast_to_one_schema(folder):
    schema = pa.schema([("item", pa.string()), ("n", pa.float64())])
    chunks = [pa.table({"item": pa.array(["a"], pa.large_string()), "n": pa.array([1], pa.int8())})] * 2
    for suffix in (".parquet", ".csv"):
        write_rows(schema, iter(chunks), folder / f"cast{suffix}")
        rows = pa.concat_tables(read_rows(folder / f"cast{suffix}").chunks).to_pylist()
        assert rows == [{"item": "a", "n": "1" if suffix == ".csv" else 1.0}] * 2


@pytest.mark.parametrize("name", ["a.json", "a.txt", "a.npz", "a.arrow"])
def test_other_kinds_are_no_tables(folder, name):
    with pytest.raises(BadFile) as caught:
        read_rows(folder / name)
    assert caught.value.code == "file-kind"
    with pytest.raises(BadFile) as caught:
        write_rows(pa.schema([("item", pa.string())]), iter(()), folder / name)
    assert caught.value.code == "file-kind"
    assert not (folder / name).exists()


# Damage


def whole_file(path) -> Beliefs:
    table = Beliefs.from_numpy(
        ["a", "b", "item three"], ["x", "yy", "x"], [[0.25, 0.75], [0.5, 0.5], [1, 0]], ("cat", "dog")
    )
    table.write(path)
    return table


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_file_cut_short_is_damaged(tmp_path, share):
    path = tmp_path / "a.parquet"
    whole_file(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BadFile) as caught:
        Beliefs.read(path)
    assert (caught.value.code, caught.value.where.file) == ("damaged", str(path))


def test_no_flipped_byte_of_a_parquet_file_loses_rows_or_escapes(tmp_path):
    """A damaged file is refused, or read with as many rows as it has; and never by an error that is not ours."""
    path = tmp_path / "a.parquet"
    table = whole_file(path)
    whole = path.read_bytes()
    escaped, lost = [], []
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 0x41
        path.write_bytes(broken)
        try:
            if len(Beliefs.read(path).to_arrow().to_pylist()) != len(table):
                lost.append(position)
        except SfumatoError:
            continue
        except Exception as error:  # noqa: BLE001
            escaped.append(f"{position}: {type(error).__name__}: {error}")
    assert (escaped, lost) == ([], [])


def test_no_flipped_bit_of_a_parquet_page_is_read_as_another_value(tmp_path):
    """Pages carry checksums: a flip inside one is seen."""
    path = tmp_path / "a.parquet"
    table = whole_file(path)
    whole = path.read_bytes()
    place = whole.index(b"item three")
    for position in range(place, place + 10):
        broken = bytearray(whole)
        broken[position] ^= 0x01
        path.write_bytes(broken)
        with pytest.raises(BadFile) as caught:
            Beliefs.read(path)
        assert caught.value.code == "damaged"
    path.write_bytes(whole)
    assert Beliefs.read(path).to_arrow().equals(table.to_arrow())


def test_text_that_is_not_utf8_in_a_foreign_parquet_file_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"item": ["abcd", "x"], "p:cat": [0.5, 0.5], "p:dog": [0.5, 0.5]})
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    path.write_bytes(path.read_bytes().replace(b"abcd", b"a\xff\xfed"))
    with pytest.raises(SfumatoError) as caught:
        SoftLabels.read(path).to_arrow().to_pylist()
    assert caught.value.where.file == str(path)


def test_a_file_that_holds_far_more_than_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.tables.files.table_file.FREE_EXPANSION_BYTES", 100_000)
    path = tmp_path / "a.parquet"
    table = pa.table({"item": pa.array(np.zeros(2**20, np.int64))})
    pq.write_table(table, path, use_dictionary=False, compression="zstd")
    assert path.stat().st_size * 500 < 2**23
    with pytest.raises(UnsafeFile) as caught:
        read_rows(path)
    assert (caught.value.code, caught.value.where.file) == ("bomb", str(path))


def test_a_small_file_may_grow_as_it_likes(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"item": pa.array(np.zeros(2**20, np.int64))})
    pq.write_table(table, path, use_dictionary=False, compression="zstd")
    assert sum(len(chunk) for chunk in read_rows(path).chunks) == 2**20
