"""The soft-digits file, where it is given: its pictures, splits and labels as the two sets of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato.importers.soft_digits import DIGITS, SoftDigitsImporter
from sfumato.tables.errors import BadTable, ErrorLocation
from sfumato.tables.files import NUMPY, kind_of, read_arrays, read_rows
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.paper import Rerun
from sfumato_papers.soft_digits.published_tables import MNIST, MUKHOTI
from sfumato_papers.soft_digits.sets import Audited

FOLDER = "soft-digits"
NEEDS = "the soft-digits file"
SIDE = 28
SOURCES = {MNIST: "mnist", MUKHOTI: "mukhoti"}
"""The paper's names of the two parts, and the file's."""


def soft_digits(rerun: Rerun) -> tuple[Audited, ...]:
    """The MNIST and the Mukhoti part, where the data has a folder `soft-digits` with the file; nothing where not."""
    return rerun.once("soft-digits file", lambda: _read(rerun.data.folder / FOLDER))


def _read(folder: Path) -> tuple[Audited, ...]:
    found = sorted(path for ending in ("*.parquet", "*.npz") for path in folder.glob(ending))
    return tuple(_part(found[0], name, source) for name, source in SOURCES.items()) if found else ()


def _part(path: Path, name: str, source: str) -> Audited:
    imported = SoftDigitsImporter(source=source).read(path)
    weighted, original = imported.table, imported.original
    assert isinstance(weighted, SoftLabels)
    assert imported.doubt is not None
    if original is None:
        raise BadTable(
            "found no original_labels",
            expected="the label each picture came with",
            fix="is this the published file?",
            code="missing-column",
            where=ErrorLocation(str(path)),
        )
    items = tuple(weighted.items.to_pylist())
    pictures, sources, splits = (_column(path, column) for column in ("images", "source", "split"))
    own = np.flatnonzero(np.array([str(each) for each in sources]) == source)
    images = np.stack([_picture(path, int(row), pictures[row]) for row in own])
    split = [str(splits[row]) for row in own]
    first = original.probs.argmax(axis=1)
    is_synthetic = bool((original.probs.max(axis=1) < 1).any())
    by_split = {each: tuple(items[k] for k, s in enumerate(split) if s == each) for each in ("train", "val", "test")}
    equal = SoftDigitsImporter(column="soft_label_yes_unc_equal", source=source).read(path).table
    assert isinstance(equal, SoftLabels)
    return Audited(
        name,
        Inputs(items, images, labels=tuple(DIGITS[k] for k in first)),
        weighted,
        equal,
        imported.doubt,
        original if is_synthetic else None,
        (*by_split["train"], *by_split["val"]),
        len(by_split["val"]),
        by_split["test"],
        is_synthetic,
    )


def _column(path: Path, name: str) -> Any:
    if kind_of(path) is NUMPY:
        arrays = read_arrays(path)
        if name in arrays:
            return arrays[name]
    else:
        rows = read_rows(path, guarded=False)
        if name in rows.schema.names:
            return [value for chunk in rows.chunks for value in chunk.column(name).to_pylist()]
    raise BadTable(
        f"found no {name}",
        expected="the published columns",
        fix="is this the published file?",
        code="missing-column",
        where=ErrorLocation(str(path)),
    )


def _picture(path: Path, row: int, value: Any) -> np.ndarray:
    """28 x 28 gray values: an array of them, or their bytes; fractions up to 1 are taken for shares of 255."""
    flat = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else np.asarray(value).reshape(-1)
    if flat.size != SIDE * SIDE or flat.dtype.kind not in "iuf" or not ((flat >= 0) & (flat <= 255)).all():
        raise BadTable(
            f"found a picture of {flat.size} values",
            expected=f"{SIDE} x {SIDE} gray values from 0 to 255",
            fix="give pictures as arrays, or as their bytes",
            code="wrong-shape",
            where=ErrorLocation(str(path), row=row, column="images"),
        )
    if flat.dtype.kind == "f" and flat.max() <= 1:
        flat = np.rint(flat * 255)
    return flat.reshape(SIDE, SIDE).astype(np.uint8)
