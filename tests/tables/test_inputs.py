"""Inputs: read from npz, checked once, matched by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.tables.errors import BadTable, UnsafeFile
from sfumato.tables.model_inputs import Inputs

GREY = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


def read(tmp_path: Path, **arrays: Any) -> Inputs:
    np.savez(tmp_path / "x.npz", **arrays)
    return Inputs.read(tmp_path / "x.npz")


def test_images_with_names_and_labels(tmp_path: Path) -> None:
    inputs = read(
        tmp_path, images=GREY, items=["b", "a"], labels=np.array([1, 0], np.uint8), class_names=["cat", "dog"]
    )
    assert inputs.items == ("b", "a")
    assert inputs.images is not None
    assert np.array_equal(inputs.images, GREY)
    assert inputs.labels == ("dog", "cat")
    assert inputs.classes == ("cat", "dog")
    assert len(inputs) == 2


def test_without_items_rows_are_numbered(tmp_path: Path) -> None:
    assert read(tmp_path, images=GREY).items == ("0", "1")
    assert read(tmp_path, images=GREY, items=np.array([17, 3])).items == ("17", "3")


def test_texts(tmp_path: Path) -> None:
    inputs = read(tmp_path, texts=["one", "two"], labels=["x", "y"])
    assert inputs.texts == ("one", "two")
    assert inputs.images is None
    assert inputs.labels == ("x", "y")


def test_numbers_without_names_are_their_digits(tmp_path: Path) -> None:
    assert read(tmp_path, images=GREY, labels=np.array([7, 2])).labels == ("7", "2")


def test_rows_by_name_and_parts(tmp_path: Path) -> None:
    inputs = read(tmp_path, images=GREY, items=["b", "a"], labels=["x", "y"])
    assert inputs.rows_of(["a", "b", "c"]).tolist() == [1, 0, -1]
    part = inputs.take(np.array([1]))
    assert part.items == ("a",)
    assert part.labels == ("y",)
    assert part.images is not None
    assert np.array_equal(part.images, GREY[1:])


@pytest.mark.parametrize(
    ("arrays", "code", "says"),
    [
        ({"pictures": GREY}, "no-images", "neither"),
        ({"images": GREY, "texts": ["a", "b"]}, "no-images", "images and texts"),
        ({"images": GREY / 255}, "bad-images", "0..255"),
        ({"images": GREY.astype(np.int64)}, "bad-images", "int64"),
        ({"images": GREY[0]}, "bad-images", "(3, 4)"),
        ({"images": np.zeros((2, 3, 4, 2), np.uint8)}, "bad-images", "channels last"),
        ({"images": np.zeros((2, 0, 4), np.uint8)}, "bad-images", "pixel"),
        ({"images": GREY[:0]}, "no-items", "no items"),
        ({"images": GREY, "items": ["a", "a"]}, "doubled-item", "'a'"),
        ({"images": GREY, "items": ["a", " "]}, "bad-id", "row 1"),
        ({"images": GREY, "items": ["a"]}, "wrong-shape", "1 ids for 2 inputs"),
        ({"images": GREY, "items": [0.5, 1.5]}, "bad-items", "float64"),
        ({"images": GREY, "labels": [1]}, "wrong-shape", "1 labels"),
        ({"images": GREY, "labels": [0, 2], "class_names": ["cat", "dog"]}, "unknown-class", "number 2"),
        ({"texts": np.array([1, 2])}, "bad-texts", "int64"),
    ],
)
def test_what_is_no_input_is_refused(tmp_path: Path, arrays: dict[str, Any], code: str, says: str) -> None:
    with pytest.raises(BadTable) as caught:
        read(tmp_path, **arrays)
    assert caught.value.code == code
    assert says in str(caught.value)
    assert "x.npz" in str(caught.value)


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFile):
        read(tmp_path, images=np.array([None, "a"], object))
