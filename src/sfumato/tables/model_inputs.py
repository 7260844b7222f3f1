"""Inputs of models: one image or text per item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from sfumato.tables.errors import BadTable, ErrorLocation, show
from sfumato.tables.files.npz import read_arrays

Images = UInt8[np.ndarray, "items height width *channels"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """One image or text per item, and optionally the original class of each item.

    Images are uint8, items x height x width, or x 3 for color. `labels` are class names: if the file has class numbers,
    `class_names` names them; without it the number as text is the name.
    """

    items: tuple[str, ...]
    images: Images | None = None
    texts: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    """The original class of each item, by name."""
    classes: tuple[str, ...] | None = None
    """The classes in the order of the file."""
    path: Path | None = None

    def __post_init__(self) -> None:
        if (self.images is None) == (self.texts is None):
            found = "neither images nor texts" if self.images is None else "images and texts"
            raise self._bad(None, found, "one of images and texts", "no-images", "save one of them (np.savez)")
        if self.images is not None:
            self._check_images(self.images)
        n_items = len(self.images) if self.images is not None else len(self.texts or ())
        if not n_items:
            raise self._bad(None, "no items", "at least one", "no-items", "check how the file was made")
        if len(self.items) != n_items:
            found = f"{len(self.items):,} ids for {n_items:,} inputs"
            raise self._bad("items", found, "one id per input", "wrong-shape", "give one id per input, or none")
        self._check_ids()
        if self.labels is not None and len(self.labels) != n_items:
            found = f"{len(self.labels):,} labels for {n_items:,} inputs"
            raise self._bad("labels", found, "one label per input", "wrong-shape", "give one label per input, or none")

    @classmethod
    def read(cls, path: str | Path) -> Inputs:
        """Inputs from an npz with `images` or `texts`, and optionally `items`, `labels` and `class_names`.

        Without `items`, ids are row numbers as text.
        """
        path = Path(path)
        arrays = read_arrays(path)
        images, texts = arrays.get("images"), arrays.get("texts")
        names = _names(path, arrays.get("items"), "items")
        if names is None:
            content = images if images is not None else texts
            n_items = 0 if content is None or not content.ndim else len(content)
            names = tuple(map(str, range(n_items)))
        classes = _names(path, arrays.get("class_names"), "class_names")
        labels = _names(path, arrays.get("labels"), "labels")
        if labels is not None and classes is not None and arrays["labels"].dtype.kind in "iu":
            labels = _named(path, arrays["labels"], classes)
        return cls(names, images, _names(path, texts, "texts", text_only=True), labels, classes, path)

    def __len__(self) -> int:
        return len(self.items)

    def take(self, index: Int[np.ndarray, "kept"]) -> Inputs:
        """The inputs of some items, in the order of `index`."""
        index = np.arange(len(self))[index]
        return Inputs(
            tuple(self.items[i] for i in index),
            None if self.images is None else self.images[index],
            None if self.texts is None else tuple(self.texts[i] for i in index),
            None if self.labels is None else tuple(self.labels[i] for i in index),
            self.classes,
            self.path,
        )

    def rows_of(self, items: Sequence[str]) -> Int[np.ndarray, "asked"]:
        """The row of each of `items`, by name; -1 if it is missing."""
        row = {name: i for i, name in enumerate(self.items)}
        return np.array([row.get(name, -1) for name in items], np.int64)

    def _check_images(self, images: np.ndarray) -> None:
        shape_fits = images.ndim == 3 or (images.ndim == 4 and images.shape[3] in (1, 3))
        if images.dtype != np.uint8 or not shape_fits:
            found = f"images of type {images.dtype} and shape {images.shape}"
            fix = (
                "scale the pixels to 0..255 and save them as uint8"
                if images.dtype != np.uint8
                else "put the 3 or 1 color channels last"
            )
            raise self._bad("images", found, "uint8 from 0 to 255, items x height x width [x 3]", "bad-images", fix)
        if not images.shape[1] * images.shape[2]:
            found = f"images of {images.shape[1]} x {images.shape[2]} pixels"
            raise self._bad("images", found, "at least one pixel", "bad-images", "check how the file was made")

    def _check_ids(self) -> None:
        seen: set[str] = set()
        for row, name in enumerate(self.items):
            if name in seen or not name.strip():
                found = f"the id {show(name)}{' a second time' if name in seen else ''} (row {row:,})"
                code = "doubled-item" if name in seen else "bad-id"
                raise self._bad("items", found, "different ids that are not blank", code, "give every input its own id")
            seen.add(name)

    def _bad(self, array: str | None, found: str, expected: str, code: str, fix: str) -> BadTable:
        return _bad(self.path, array, found, expected, code, fix)


def _names(path: Path, values: np.ndarray | None, array: str, *, text_only: bool = False) -> tuple[str, ...] | None:
    """An array of texts or whole numbers as texts."""
    if values is None:
        return None
    if values.ndim != 1 or values.dtype.kind not in ("U" if text_only else "Uiu"):
        found = f"{array} of type {values.dtype} and shape {values.shape}"
        expected = "one text per item" if text_only else "one text or whole number per item, in one dimension"
        raise _bad(path, array, found, expected, f"bad-{array.replace('_', '-')}", "save the array again (np.savez)")
    return tuple(map(str, values.tolist()))


def _named(path: Path, numbers: np.ndarray, classes: tuple[str, ...]) -> tuple[str, ...]:
    """The class name of each number."""
    wrong = (numbers < 0) | (numbers >= len(classes))
    if wrong.any():
        row = int(np.argmax(wrong))
        found = f"the class number {int(numbers[row])} (row {row:,})"
        expected = f"numbers from 0 to {len(classes) - 1}, the indices of class_names"
        raise _bad(path, "labels", found, expected, "unknown-class", "name every class in class_names")
    return tuple(classes[k] for k in numbers.tolist())


def _bad(path: Path | None, array: str | None, found: str, expected: str, code: str, fix: str) -> BadTable:
    where = ErrorLocation(str(path) if path else None, column=array)
    return BadTable(found, expected, fix, code, where=where)
