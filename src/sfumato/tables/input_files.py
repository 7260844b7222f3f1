"""Reads inputs of models: a folder of images, an npz or npy, a `scipy.sparse` matrix, or a table with texts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.tables.errors import (
    BadFile,
    BadSetting,
    BadTable,
    ErrorLocation,
    listing,
    show,
    warn,
)
from sfumato.tables.files.file_type import NUMPY, check_readable, kind_of
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.item_list import read_item_list
from sfumato.tables.model_inputs import ROW_SOURCES
from sfumato.tables.picture_file import opened_picture, plain_picture
from sfumato.tables.picture_folder import SUFFIXES, ids_of, picture_names
from sfumato.tables.row_numbers import NumberedItems, numbered_rows
from sfumato.tables.setting_checks import bad_setting
from sfumato.tables.text_table import TEXT_TABLE_KINDS, read_text_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Names = tuple[str, ...]
SPLIT_FOLDERS = frozenset({"train", "training", "test", "val", "valid", "validation", "dev"})
SPARSE_PARTS = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "bsr": ("indices", "indptr"),
                "coo": ("row", "col"), "dia": ("offsets",)}  # fmt: skip
"""The arrays of each format that `scipy.sparse.save_npz` writes, in addition to `data` and `shape`."""


@dataclass(frozen=True)
class InputParts:
    """What a file holds: one of images, texts and features, and the ids, original labels and classes if it has them."""

    items: Names | None = None
    images: np.ndarray | None = None
    texts: Names | None = None
    features: np.ndarray | csr_array | None = None
    labels: Names | None = None
    classes: Names | None = None
    are_row_numbers: bool = False
    """Whether the file has no ids, so that they are row numbers."""

    @property
    def n_items(self) -> int:
        """The number of inputs; 0 if there are none."""
        for content in (self.images, self.texts):
            if content is not None:
                return len(content) if np.ndim(content) else 0
        return 0 if self.features is None or not self.features.ndim else int(self.features.shape[0])


def read_input_parts(path: Path, *, text: Sequence[str], items: str | Path | None, size: str | None) -> InputParts:
    """The inputs in `path`. `text` names the columns of a table that hold the text; `items` is its column of ids, or
    a file that lists the ids; `size` is the size that images of a folder get: `32`, or `32x48` (height x width)."""
    if path.is_dir():
        _refuse(path, "a folder of images", text=text)
        parts = _from_folder(path, None if size is None else parse_size(size))
    else:
        check_readable(path)
        if path.name.lower().endswith(SUFFIXES):
            found, fix = "a single image", "give the folder of the images"
            raise BadFile(found, "a folder of images, or one file with all inputs", fix, "file-kind", path)
        if kind_of(path, (NUMPY, *TEXT_TABLE_KINDS)) is NUMPY:
            _refuse(path, "a NumPy file", text=text, size=size)
            parts = _from_arrays(path)
        else:
            _refuse(path, "a table", size=size)
            column = None if items is None or Path(items).exists() else str(items)
            table = read_text_table(path, tuple(text), column)
            parts = InputParts(table.items, texts=table.texts, labels=table.labels)
            items = None if column else items
    if items is not None:
        parts = replace(parts, items=read_item_list(items))
    if parts.items is not None:
        return parts
    return replace(parts, items=numbered_rows(parts.n_items, path), are_row_numbers=True)


def _refuse(path: Path, what: str, **options: object) -> None:
    """Raise if an option is given that does not apply to such a source."""
    home = {"text": "a table with texts", "size": "a folder of images"}
    for name, value in options.items():
        if value:
            raise BadSetting(
                f"--{name} with {what}", f"--{name} only for {home[name]}", f"leave out --{name}", where=path
            )


# --- a folder of images ---


def parse_size(text: str) -> tuple[int, int]:
    """Height and width in pixels: `32` or `32x48`."""
    parts = str(text).lower().split("x")
    if len(parts) > 2 or not all(part.strip().isascii() and part.strip().isdigit() and int(part) for part in parts):
        raise bad_setting("size", text, "pixels: 32 (square) or 32x48 (height x width)")
    return int(parts[0]), int(parts[-1])


def _from_folder(folder: Path, size: tuple[int, int] | None) -> InputParts:
    """All images in the folder and its subfolders; the first folders are classes if every image is in one."""
    names = picture_names(folder)
    images: np.ndarray | None = None
    for row, pixels in enumerate(_pixels(folder, names, size)):
        if images is None:
            _check_memory(folder, len(names), pixels)
            images = np.empty((len(names), *pixels.shape), np.uint8)
        if pixels.shape[:2] != images.shape[1:3]:
            raise _other_size(folder, names, row, pixels, images)
        if pixels.ndim > images.ndim - 1:
            # A color image after gray ones: all become color.
            images = np.repeat(images[..., None], 3, axis=-1)
        images[row] = pixels if pixels.ndim == images.ndim - 1 else pixels[..., None]
    assert images is not None
    labels = _folder_classes(names)
    classes = None if labels is None else tuple(dict.fromkeys(labels))
    return InputParts(tuple(ids_of(names)), images, labels=labels, classes=classes)


def _pixels(folder: Path, names: Sequence[str], size: tuple[int, int] | None) -> Iterator[np.ndarray]:
    """Every image as height x width [x 3], resized if a `size` is given."""
    from PIL import Image

    for name in names:
        with opened_picture(folder / name) as opened:
            image = plain_picture(opened)
        if size is not None and image.size != size[::-1]:
            image = image.resize(size[::-1], Image.Resampling.LANCZOS)
        yield np.asarray(image)


def _check_memory(folder: Path, n: int, first: np.ndarray) -> None:
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n * first.nbytes > available:
        found = f"{n:,} images of {first.shape[0]} x {first.shape[1]} pixels, {n * first.nbytes / 2**30:,.0f} GiB"
        expected = f"images that fit into the memory of this machine, {available / 2**30:,.0f} GiB"
        raise BadFile(found, expected, "make them smaller: --size 64", "too-large", folder)


def _other_size(folder: Path, names: Sequence[str], row: int, pixels: np.ndarray, images: np.ndarray) -> BadTable:
    found = f"an image of {pixels.shape[0]} x {pixels.shape[1]} pixels ({show(names[row])})"
    expected = f"the size of the first image, {images.shape[1]} x {images.shape[2]} ({show(names[0])})"
    fix = f"resize all images: --size {images.shape[1]}x{images.shape[2]}, or another height x width"
    return BadTable(found, expected, fix, "other-size", folder)


def _folder_classes(names: Sequence[str]) -> Names | None:
    """The first folder of every image, if there are several and no image is outside of them."""
    parts = [name.partition("/") for name in names]
    folders = tuple(first for first, _, _ in parts)
    if not all(slash for _, slash, _ in parts) or len(set(folders)) < 2:
        return None
    if {folder.lower() for folder in folders} <= SPLIT_FOLDERS:
        warn(
            f"the folders {listing(sorted(set(folders)))} look like splits, not classes: give one of them as the folder"
        )
        return None
    return folders


# --- NumPy files ---


def _from_arrays(path: Path) -> InputParts:
    """An npz with `images`, `texts` or `features`, or as `scipy.sparse.save_npz` writes it, and optionally `items`,
    `labels` and `class_names`; an npy with images or features."""
    arrays = read_arrays(path)
    if path.name.lower().endswith(".npy"):
        (values,) = arrays.values()
        arrays = {"images" if values.ndim > 2 else "texts" if values.dtype.kind == "U" else "features": values}
    features: Any = arrays.get("features")
    if "format" in arrays and "data" in arrays:
        features = _sparse(path, arrays)
    classes = _texts(path, arrays, "class_names")
    labels = _texts(path, arrays, "labels")
    if labels is not None and classes is not None and arrays["labels"].dtype.kind in "iu":
        labels = _named(path, arrays["labels"], classes)
    texts = _texts(path, arrays, "texts", text_only=True)
    items = _texts(path, arrays, "items")
    if items is not None and (sources := _texts(path, arrays, ROW_SOURCES, text_only=True)):
        items = NumberedItems(items, sources)
    return InputParts(items, arrays.get("images"), texts, features, labels, classes)


def _sparse(path: Path, arrays: dict[str, np.ndarray]) -> csr_array:
    """The matrix that `scipy.sparse.save_npz` wrote, with every index checked."""
    from scipy import sparse

    name = arrays["format"].item()
    name = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
    parts = SPARSE_PARTS.get(name, ())
    if not parts or not {"shape", *parts} <= set(arrays):
        found = f"a sparse matrix of the format {show(name)} with the arrays {listing(list(arrays))}"
        fix = "save it again with scipy.sparse.save_npz(path, matrix.tocsr())"
        raise BadTable(found, f"one of the formats {listing(list(SPARSE_PARTS))}", fix, "bad-features", path)
    others = tuple(arrays[part] for part in parts)
    content = (arrays["data"], others) if name == "coo" else (arrays["data"], *others)
    try:
        matrix = getattr(sparse, f"{name}_array")(content, shape=tuple(arrays["shape"].tolist()))
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        return sparse.csr_array(matrix)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        fix = "save it again with scipy.sparse.save_npz"
        raise BadTable(f"a damaged sparse matrix ({error})", "valid indices", fix, "bad-features", path) from error


def _texts(path: Path, arrays: dict[str, np.ndarray], array: str, *, text_only: bool = False) -> Names | None:
    """An array of texts or whole numbers as texts."""
    values = arrays.get(array)
    if values is None:
        return None
    if values.ndim != 1 or values.dtype.kind not in ("U" if text_only else "Uiu"):
        found = f"{array} of type {values.dtype} and shape {values.shape}"
        expected = "one text per item" if text_only else "one text or whole number per item, in one dimension"
        raise _bad_array(
            path, array, found, expected, f"bad-{array.replace('_', '-')}", "save the array again (np.savez)"
        )
    return tuple(map(str, values.tolist()))


def _named(path: Path, numbers: np.ndarray, classes: Names) -> Names:
    """The class name of each number."""
    wrong = (numbers < 0) | (numbers >= len(classes))
    if wrong.any():
        row = int(np.argmax(wrong))
        found = f"the class number {int(numbers[row])} (row {row:,})"
        expected = f"numbers from 0 to {len(classes) - 1}, the indices of class_names"
        raise _bad_array(path, "labels", found, expected, "unknown-class", "name every class in class_names")
    return tuple(classes[k] for k in numbers.tolist())


def _bad_array(path: Path, array: str, found: str, expected: str, code: str, fix: str) -> BadTable:
    return BadTable(found, expected, fix, code, where=ErrorLocation(str(path), column=array))
