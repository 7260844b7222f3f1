"""Inputs of models: one image, text or feature vector per item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
from jaxtyping import Int, UInt8

from sfumato.tables.errors import BadTable, ErrorLocation, show, wrong_ending
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.npz import write_array, write_texts
from sfumato.tables.row_numbers import items_like, row_sources_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KINDS = ("images", "texts", "features")
ROW_SOURCES = "row_numbers_of"
"""The array of an npz that names the files whose row numbers the ids are."""
Images = UInt8[np.ndarray, "items height width *channels"]


@dataclass(frozen=True)
class InputOptions:
    """How inputs are read, as in the options of commands: see `Inputs.read`."""

    text: tuple[str, ...] = ()
    items: str | Path | None = None
    size: str | None = None

    def read(self, path: str | Path) -> Inputs:
        """The inputs in `path`."""
        return Inputs.read(path, text=self.text, items=self.items, size=self.size)


@dataclass(frozen=True, eq=False)
class Inputs:
    """One image, text or feature vector per item, and optionally the original class of each item.

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
    features: np.ndarray | csr_array | None = None
    """Numbers, items x dimensions: dense, or sparse as in `scipy.sparse`."""
    n_rows: int | None = None
    """The number of rows of the file if it has no ids, so that row numbers are the ids; None if it has ids."""

    def __post_init__(self) -> None:
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "neither images, texts nor features"
            raise self._bad(None, found, f"one of {', '.join(KINDS)}", "no-images", "save one of them (np.savez)")
        if self.images is not None:
            self._check_images(self.images)
        if self.features is not None:
            object.__setattr__(self, "features", self._checked_features(self.features))
        content: Any = getattr(self, given[0])
        n_items = content.shape[0] if self.features is not None else len(content)
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
    def read(
        cls,
        path: str | Path,
        *,
        text: str | Sequence[str] = (),
        items: str | Path | None = None,
        size: int | str | None = None,
    ) -> Inputs:
        """Inputs from a folder of images, a table with texts, or a NumPy file.

        A folder (PNG, JPEG, BMP, GIF, WebP): ids are paths without endings; the first folders are the original classes
        if every image is in one; `size` (`32`, or `"32x48"` for height x width) resizes the images. A table (CSV, TSV,
        Parquet, JSON Lines): `text` names the column of the texts (default: `text`), or several to join. An npz has
        `images`, `texts` or `features`, or is a matrix of `scipy.sparse.save_npz`; and optionally `items`, `labels` and
        `class_names`. `items` is a file that lists the ids, or the column of ids in a table; without any ids, they are
        row numbers as text.
        """
        # Imported here: most users of a table of inputs read no files.
        from sfumato.tables.input_files import read_input_parts

        path = Path(path)
        columns = (text,) if isinstance(text, str) else tuple(text)
        parts = read_input_parts(path, text=columns, items=items, size=None if size is None else str(size))
        assert parts.items is not None
        n_rows = len(parts.items) if parts.are_row_numbers else None
        return cls(parts.items, parts.images, parts.texts, parts.labels, parts.classes, path, parts.features, n_rows)

    def write(self, path: str | Path) -> None:
        """Write an npz that `read` reads; sparse features as `scipy.sparse.save_npz` writes them."""
        path = Path(path)
        if not path.name.lower().endswith(".npz"):
            raise wrong_ending(path, [".npz"])
        arrays: dict[str, Any] = {"images": self.images}
        if isinstance(self.features, np.ndarray):
            arrays["features"] = self.features
        elif self.features is not None:
            names = ("data", "indices", "indptr", "shape")
            arrays |= {name: np.asarray(getattr(self.features, name)) for name in names} | {"format": np.array(b"csr")}
        texts = {"items": self.items, "texts": self.texts, "labels": self.labels, "class_names": self.classes}
        texts[ROW_SOURCES] = self.row_sources or None
        with atomic_write(path) as part, ZipFile(part, "w") as archive:
            for name, values in arrays.items():
                if values is not None:
                    write_array(archive, name, values)
            for name, words in texts.items():
                if words is not None:
                    write_texts(archive, name, words)

    @property
    def row_sources(self) -> tuple[str, ...]:
        """The files whose row numbers the ids are; empty if they are not known to be row numbers."""
        return row_sources_of(self.items)

    @property
    def kind(self) -> str:
        """`images`, `texts` or `features`."""
        return "images" if self.images is not None else "texts" if self.texts is not None else "features"

    def __repr__(self) -> str:
        n_classes = len(self.classes or set(self.labels or ()))
        labels = f", labels of {n_classes} classes" if self.labels is not None else ""
        return f"<Inputs: {len(self.items):,} items, {self.described()}{labels}>"

    def described(self) -> str:
        """What the inputs are: `images of 32 x 32 pixels, in color`, `texts`, `sparse features of 64 dimensions`."""
        if self.images is not None:
            height, width, *channels = self.images.shape[1:]
            return f"images of {height} x {width} pixels, {'in color' if channels == [3] else 'gray'}"
        if self.features is None:
            return "texts"
        sparse = "" if isinstance(self.features, np.ndarray) else "sparse "
        return f"{sparse}features of {self.features.shape[1]:,} dimensions"

    def __len__(self) -> int:
        return len(self.items)

    def take(self, index: Int[np.ndarray, "kept"]) -> Inputs:
        """The inputs of some items, in the order of `index`."""
        index = np.arange(len(self))[index]
        return Inputs(
            items_like((self.items[i] for i in index), self.items),
            None if self.images is None else self.images[index],
            None if self.texts is None else tuple(self.texts[i] for i in index),
            None if self.labels is None else tuple(self.labels[i] for i in index),
            self.classes,
            self.path,
            None if self.features is None else self.features[index],
            self.n_rows,
        )

    def rows_of(self, items: Sequence[str]) -> Int[np.ndarray, "asked"]:
        """The row of each of `items`, by name; -1 if it is missing."""
        row = {name: i for i, name in enumerate(self.items)}
        return np.array([row.get(name, -1) for name in items], np.int64)

    def _check_images(self, images: Any) -> None:
        if not isinstance(images, np.ndarray):
            found, expected = f"images of type {type(images).__name__}", "an array"
            fix = "give texts as texts=..., features as features=..., and images as a NumPy array"
            raise self._bad("images", found, expected, "bad-images", fix)
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

    def _checked_features(self, features: Any) -> np.ndarray | csr_array:
        """The features as float32 or float64; any sparse format becomes CSR."""
        is_sparse = hasattr(features, "tocsr")
        if not (is_sparse or isinstance(features, np.ndarray)) or features.ndim != 2 or not features.shape[1]:
            found = f"features of type {type(features).__name__}, shape {getattr(features, 'shape', '-')}"
            fix = "save them again, one row per item"
            raise self._bad("features", found, "numbers, items x dimensions", "bad-features", fix)
        if features.dtype.kind not in "fiub":
            found = f"features of type {features.dtype}"
            raise self._bad("features", found, "numbers, items x dimensions", "bad-features", "save numbers only")
        if is_sparse:
            from scipy.sparse import csr_array

            features = csr_array(features)
        values = features.astype(np.float32 if features.dtype in (np.float16, np.float32) else np.float64, copy=False)
        finite = np.isfinite(values.data) if is_sparse else np.isfinite(values).all(axis=1)
        wrong = np.flatnonzero(~finite)
        if len(wrong):
            row = int(np.searchsorted(values.indptr, wrong[0], "right") - 1) if is_sparse else int(wrong[0])
            found = f"features that are not finite (row {row:,})"
            raise self._bad("features", found, "finite numbers", "bad-number", "remove these items, or correct them")
        return values

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


def _bad(path: Path | None, array: str | None, found: str, expected: str, code: str, fix: str) -> BadTable:
    where = ErrorLocation(str(path) if path else None, column=array)
    return BadTable(found, expected, fix, code, where=where)
