"""Lists of item ids: one per line, a table with a column `item`, or a NumPy array."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import BadFile
from sfumato.tables.files.file_type import CSV, NUMPY, PARQUET, check_readable
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.picture_folder import ids_of, picture_names
from sfumato.tables.text_file import read_text

MAX_BYTES = 200_000_000


def read_item_list(path: str | Path) -> tuple[str, ...]:
    """The ids in `path`, in order: text with one id per line, a CSV or Parquet table with a column `item`, an npy with
    texts or whole numbers, an npz with such an array `items` or with inputs, or a folder of images."""
    path = Path(path)
    if path.is_dir():
        return tuple(ids_of(picture_names(path)))
    check_readable(path)
    name = path.name.lower()
    if name.endswith(NUMPY.suffixes):
        return _from_array(path)
    if name.endswith((*CSV.suffixes, *PARQUET.suffixes)):
        return tuple(read_columns(read_rows(path), ("item",)).listed("item"))
    text = read_text(path, limit=MAX_BYTES, what="a list of items, one per line")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _from_array(path: Path) -> tuple[str, ...]:
    arrays = read_arrays(path)
    content = next((arrays[name] for name in ("images", "texts", "features") if name in arrays), None)
    if "items" not in arrays and content is not None and content.ndim:
        return tuple(map(str, range(len(content))))
    values = arrays.get("items") if len(arrays) > 1 else next(iter(arrays.values()), None)
    if values is None or values.ndim != 1 or values.dtype.kind not in "Uiu":
        found = "no array items" if values is None else f"an array of type {values.dtype} and shape {values.shape}"
        fix = "save the ids as text: np.save(path, np.array(ids))"
        raise BadFile(found, "one text or whole number per item, in one dimension", fix, "bad-items", path)
    return tuple(map(str, np.asarray(values).tolist()))
