"""Inputs from folders of pictures, tables with texts, NumPy files and sparse matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from scipy import sparse

from sfumato.tables.errors import SfumatoError, SfumatoWarning
from sfumato.tables.model_inputs import Inputs


def picture(path: Path, value: int = 0, size: tuple[int, int] = (4, 3), mode: str = "L", **options: object) -> None:
    """A picture of one brightness; `size` is width x height."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value if mode == "L" else (value, value, value)).save(path, **options)


def refused(path: Path, **options: object) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        Inputs.read(path, **options)  # type: ignore[arg-type]
    return caught.value


# Folders


def test_every_kind_of_picture_in_a_flat_folder(tmp_path: Path) -> None:
    for name, value in (("b.png", 10), ("a.bmp", 20), ("c.gif", 30), ("item-10.png", 40), ("item-9.png", 50)):
        picture(tmp_path / name, value)
    picture(tmp_path / "d.webp", 60, mode="RGB", lossless=True)
    (tmp_path / "notes.txt").write_text("no picture")
    inputs = Inputs.read(tmp_path)
    assert inputs.items == ("a", "b", "c", "d", "item-9", "item-10")
    assert inputs.images is not None
    # One of them is in color, so all are.
    assert inputs.images.shape == (6, 3, 4, 3)
    assert inputs.images[:, 0, 0, 0].tolist() == [20, 10, 30, 60, 50, 40]
    assert (inputs.images == inputs.images[..., :1]).all()
    assert inputs.labels is None


def test_folders_are_classes(tmp_path: Path) -> None:
    for name in ("dog/2.png", "cat/1.png", "dog/deep/3.png"):
        picture(tmp_path / name)
    inputs = Inputs.read(tmp_path)
    assert inputs.items == ("cat/1", "dog/2", "dog/deep/3")
    assert inputs.labels == ("cat", "dog", "dog")
    assert inputs.classes == ("cat", "dog")
    assert inputs.images is not None
    assert inputs.images.shape == (3, 3, 4)


def test_folders_are_no_classes_if_a_picture_is_outside_or_there_is_one(tmp_path: Path) -> None:
    picture(tmp_path / "all" / "1.png")
    assert Inputs.read(tmp_path).labels is None
    picture(tmp_path / "more" / "1.png")
    assert Inputs.read(tmp_path).labels == ("all", "more")
    picture(tmp_path / "2.png")
    assert Inputs.read(tmp_path).labels is None


def test_splits_are_not_taken_for_classes(tmp_path: Path) -> None:
    picture(tmp_path / "train" / "1.png")
    picture(tmp_path / "test" / "1.png")
    with pytest.warns(SfumatoWarning, match="look like splits"):
        assert Inputs.read(tmp_path).labels is None


def test_pictures_of_other_sizes_need_a_size(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", 7)
    picture(tmp_path / "b.png", 9, size=(40, 30))
    error = refused(tmp_path)
    assert error.code == "other-size"
    assert "30 x 40 pixels ('b.png')" in str(error)
    assert 'size="3x4"' in error.fix
    inputs = Inputs.read(tmp_path, size="6x8")
    assert inputs.images is not None
    assert inputs.images.shape == (2, 6, 8)
    assert np.unique(inputs.images).tolist() == [7, 9]
    assert Inputs.read(tmp_path, size=5).images.shape == (2, 5, 5)  # type: ignore[union-attr]
    for wrong in ("0", "3x", "axb", "3x4x5", "-3"):
        assert refused(tmp_path, size=wrong).found == f"found size = {wrong!r}"


def test_what_is_no_folder_of_pictures_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path).code == "no-pictures"
    assert refused(tmp_path / "nothing").code == "no-such-file"
    picture(tmp_path / "a.png")
    assert "the folder of the images" in refused(tmp_path / "a.png").fix
    assert "leave out text=" in refused(tmp_path, text="text").fix
    (tmp_path / "b.jpg").write_bytes(b"not a picture")
    assert refused(tmp_path).code == "no-picture"


# Tables with texts


def test_texts_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('item,text,label\nq1,"one, two",yes\nq2,three,no\n')
    inputs = Inputs.read(path)
    assert (inputs.items, inputs.texts, inputs.labels) == (("q1", "q2"), ("one, two", "three"), ("yes", "no"))


def test_named_columns_are_joined_and_ids_come_from_a_column_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"uid": [7, 8], "key": ["a", "b"], "premise": ["p", "q"], "claim": ["c", "d"]}).write_parquet(path)
    inputs = Inputs.read(path, text=["premise", "claim"])
    assert (inputs.items, inputs.texts) == (("7", "8"), ("p\nc", "q\nd"))
    assert Inputs.read(path, text="claim", items="key").items == ("a", "b")
    (tmp_path / "ids.txt").write_text("x\n\ny\n")
    assert Inputs.read(path, text="claim", items=tmp_path / "ids.txt").items == ("x", "y")
    error = refused(path)
    assert "text=COLUMN" in error.fix
    assert "uid, key, premise, claim" in error.found
    assert "did you mean 'claim'" in refused(path, text="claims").fix
    assert refused(path, text="claim", items="keys").code == "unknown-column"
    assert "leave out size=" in refused(path, text="claim", size=3).fix


def test_the_texts_of_a_table_of_votes(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,annotator,label,text\nq1,ann,yes,one\nq1,ben,no,one\nq2,ann,yes,two\n")
    inputs = Inputs.read(path)
    assert (inputs.items, inputs.texts, inputs.labels) == (("q1", "q2"), ("one", "two"), None)
    path.write_text("item,text\nq1,one\nq1,two\n")
    error = refused(path)
    assert (error.code, error.where.line) == ("doubled-item", 3)


# NumPy files


def test_features_are_floats(tmp_path: Path) -> None:
    values = np.arange(6).reshape(3, 2)
    np.savez(tmp_path / "x.npz", features=values, items=["a", "b", "c"], labels=["x", "y", "x"])
    inputs = Inputs.read(tmp_path / "x.npz")
    assert isinstance(inputs.features, np.ndarray)
    assert inputs.features.dtype == np.float64
    assert np.array_equal(inputs.features, values)
    assert (inputs.kind, inputs.labels) == ("features", ("x", "y", "x"))
    np.save(tmp_path / "x.npy", values.astype(np.float16))
    plain = Inputs.read(tmp_path / "x.npy", items=tmp_path / "x.npz")
    assert plain.items == ("a", "b", "c")
    assert plain.features is not None
    assert plain.features.dtype == np.float32


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_a_sparse_matrix_of_any_format(tmp_path: Path, form: str) -> None:
    dense = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, 0], [0, 3, 4]])
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(dense).asformat(form))
    inputs = Inputs.read(tmp_path / "x.npz")
    assert inputs.items == ("0", "1", "2", "3")
    assert not isinstance(inputs.features, np.ndarray)
    assert inputs.features is not None
    assert np.array_equal(inputs.features.toarray(), dense)
    inputs.take(np.array([3, 0])).write(tmp_path / "part.npz")
    part = Inputs.read(tmp_path / "part.npz")
    assert part.items == ("3", "0")
    # SciPy reads what we write, and we read the ids beside it.
    assert np.array_equal(sparse.load_npz(tmp_path / "part.npz").toarray(), dense[[3, 0]])


def test_damaged_or_infinite_features_are_refused(tmp_path: Path) -> None:
    matrix = sparse.csr_array(np.array([[1.0, 0], [0, np.inf]]))
    sparse.save_npz(tmp_path / "x.npz", matrix)
    assert "row 1" in refused(tmp_path / "x.npz").found
    parts = {"format": np.array("csr"), "shape": matrix.shape, "data": [1.0, 2.0], "indptr": matrix.indptr}
    np.savez(tmp_path / "x.npz", indices=np.array([0, 9]), **parts)
    assert refused(tmp_path / "x.npz").code == "bad-features"
    np.savez(tmp_path / "x.npz", **parts)
    assert "csr" in refused(tmp_path / "x.npz").found
    np.savez(tmp_path / "x.npz", features=np.array([[1, np.nan]]))
    assert refused(tmp_path / "x.npz").code == "bad-number"
    np.savez(tmp_path / "x.npz", features=np.arange(3))
    assert refused(tmp_path / "x.npz").code == "bad-features"


@pytest.mark.parametrize(
    "inputs",
    [
        Inputs(("a", "b"), np.zeros((2, 3, 4, 3), np.uint8), labels=("x", "y"), classes=("y", "x")),
        Inputs(("a", "b"), texts=("one\nline", "ü")),
        Inputs(("a", "b"), features=np.eye(2)),
    ],
    ids=["images", "texts", "features"],
)
def test_written_and_read_again(tmp_path: Path, inputs: Inputs) -> None:
    inputs.write(tmp_path / "x.npz")
    again = Inputs.read(tmp_path / "x.npz")
    for name in ("items", "texts", "labels", "classes"):
        assert getattr(again, name) == getattr(inputs, name)
    for name in ("images", "features"):
        assert np.array_equal(getattr(again, name), getattr(inputs, name))
    with pytest.raises(SfumatoError, match=r"\.npz"):
        inputs.write(tmp_path / "x.csv")


# JSON Lines


def test_texts_of_json_lines_with_nested_fields(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"uid": "u1", "example": {"premise": "p", "hypothesis": "h"}, "label": "e"}\n\n'
        '{"uid": "u2", "example": {"premise": "q", "hypothesis": "g"}, "label": "n"}\n'
    )
    inputs = Inputs.read(path, text=["example.premise", "example.hypothesis"])
    assert (inputs.items, inputs.texts, inputs.labels) == (("u1", "u2"), ("p\nh", "q\ng"), ("e", "n"))
    assert "example.premise" in refused(path).found
    path.write_text('{"id": 1, "text": "one"}\n{"id": 2}\n')
    error = refused(path)
    assert (error.code, error.where.line, error.where.column) == ("missing-value", 2, "text")


def test_a_tsv_and_a_json_list(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("item\ttext\nq1\tone, two\n")
    (tmp_path / "x.json").write_text('[{"item": "q1", "text": "one, two", "label": [1, 0]}]')
    for name in ("x.tsv", "x.json"):
        inputs = Inputs.read(tmp_path / name)
        assert (inputs.items, inputs.texts, inputs.labels) == (("q1",), ("one, two",), None)
