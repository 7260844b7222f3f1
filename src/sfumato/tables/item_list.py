"""Lists of item ids: one per line, a table with a column `item`, a NumPy array, or JSON."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.tables.class_columns import id_column
from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import BadFile
from sfumato.tables.files.file_type import CSV, JSON, JSON_LINES, NUMPY, PARQUET, check_readable
from sfumato.tables.files.json import read_json
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.model_inputs import ROW_SOURCES
from sfumato.tables.picture_folder import ids_of, picture_names
from sfumato.tables.row_numbers import NumberedItems, numbered_rows, recorded_row_sources
from sfumato.tables.text_file import read_text

MAX_BYTES = 200_000_000


def read_item_list(path: str | Path) -> tuple[str, ...]:
    """The ids in `path`, in order: text with one id per line, a CSV or Parquet table with a column `item`, an npy with
    texts or whole numbers, an npz with such an array `items` or with inputs, a JSON list or object of ids, JSON records
    with an id, or a folder of images."""
    path = Path(path)
    if path.is_dir():
        return tuple(ids_of(picture_names(path)))
    check_readable(path)
    name = path.name.lower()
    if name.endswith(NUMPY.suffixes):
        return _from_array(path)
    if name.endswith((*CSV.suffixes, *PARQUET.suffixes)):
        rows = read_rows(path)
        ids, sources = read_columns(rows, ("item",)).listed("item"), recorded_row_sources(rows)
        return NumberedItems(ids, sources) if sources else tuple(ids)
    if name.endswith((*JSON.suffixes, *JSON_LINES.suffixes)):
        return _from_json(path)
    text = read_text(path, limit=MAX_BYTES, what="a list of items, one per line")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _from_json(path: Path) -> tuple[str, ...]:
    content = read_json(path)
    values = list(content.value) if isinstance(content.value, (dict, list)) else []
    if values and isinstance(values[0], dict):
        key = id_column(list(values[0]))
        values = [record.get(key) if isinstance(record, dict) else None for record in values]
    for number, value in enumerate(values or [None]):
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            fix = 'write a list of ids, or records with a key "item"'
            raise BadFile("no id", "a text or whole number per item", fix, "bad-items", content.where(number))
    return tuple(dict.fromkeys(map(str, values)))


def _from_array(path: Path) -> tuple[str, ...]:
    arrays = read_arrays(path)
    content = next((arrays[name] for name in ("images", "texts", "features") if name in arrays), None)
    if "items" not in arrays and content is not None and content.ndim:
        return numbered_rows(len(content), path)
    values = arrays.get("items") if len(arrays) > 1 else next(iter(arrays.values()), None)
    if values is None or values.ndim != 1 or values.dtype.kind not in "Uiu":
        found = "no array items" if values is None else f"an array of type {values.dtype} and shape {values.shape}"
        fix = "save the ids as text: np.save(path, np.array(ids))"
        raise BadFile(found, "one text or whole number per item, in one dimension", fix, "bad-items", path)
    ids = map(str, np.asarray(values).tolist())
    return NumberedItems(ids, map(str, arrays[ROW_SOURCES].tolist())) if ROW_SOURCES in arrays else tuple(ids)
