"""The items of a study, from a folder of images, a CSV (`item_table.py`), an npz, or a file of texts.

In a folder the path is the id, and a first folder named as a class gives the class. An npz has `images` (uint8, items x
height x width [x 3]) or `texts`, and optionally the ids, `items`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.elicitation.item_table import read_item_table
from sfumato.study.stimulus import Item
from sfumato.study.study import ItemSource
from sfumato.tables.errors import BadTable, ErrorLocation, show
from sfumato.tables.picture_file import MAX_PIXELS
from sfumato.tables.picture_folder import ids_of, picture_names


def read_item_arrays(path: Path) -> list[Item]:
    """The items of the npz `path`, one image or text per row; without `items` the ids are row numbers."""
    # Imported here: the server loads NumPy only for a study that needs it.
    from sfumato.tables.files.npz import read_arrays

    arrays = read_arrays(path)
    contents = [name for name in ("images", "texts") if name in arrays]
    if len(contents) != 1:
        raise _bad_npz(path, None, f"the arrays {', '.join(arrays) or 'none'}", "one of images and texts", "no-images")
    values = arrays[contents[0]]
    if contents == ["images"]:
        shape_fits = values.ndim == 3 or (values.ndim == 4 and values.shape[3] == 3)
        if str(values.dtype) != "uint8" or not shape_fits:
            found = f"images of type {values.dtype} and shape {values.shape}"
            raise _bad_npz(path, "images", found, "uint8, items x height x width [x 3]", "bad-images")
        if not 0 < values.shape[1] * values.shape[2] <= MAX_PIXELS:
            found = f"images of {values.shape[1]:,} x {values.shape[2]:,} pixels"
            raise _bad_npz(path, "images", found, f"1 to {MAX_PIXELS:,} pixels", "bad-images")
    elif values.ndim != 1 or values.dtype.kind != "U":
        found = f"texts of type {values.dtype} and shape {values.shape}"
        raise _bad_npz(path, "texts", found, "one text per item", "bad-texts")
    if not len(values):
        raise _bad_npz(path, contents[0], "no items", "at least one", "no-items")
    names = arrays.get("items")
    if names is None:
        ids = [str(row) for row in range(len(values))]
    elif names.shape == (len(values),) and names.dtype.kind in "Uiu":
        ids = [str(name) for name in names.tolist()]
    else:
        found = f"items of type {names.dtype} and shape {names.shape}"
        raise _bad_npz(path, "items", found, f"{len(values):,} texts or whole numbers", "bad-items")
    _check_ids(path, ids, "save the arrays again (np.savez)")
    if contents == ["images"]:
        return [Item(name, row=row) for row, name in enumerate(ids)]
    texts = values.tolist()
    empty = next((row for row, text in enumerate(texts) if not text.strip()), None)
    if empty is not None:
        raise _bad_npz(path, "texts", f"an empty text (row {empty:,})", "something to read", "empty-text")
    return [Item(name, text=text) for name, text in zip(ids, texts, strict=True)]


def read_item_texts(path: Path, column: str | None, classes: Sequence[str]) -> list[Item]:
    """The texts of a table or of JSON records, as `sf.Inputs.read` reads them; a `label` among the classes is given."""
    # Imported here: the server loads the table reader only for a study that needs it.
    from sfumato.tables.text_table import read_text_table

    table = read_text_table(path, () if column is None else (column,), None)
    ids = [str(row) for row in range(len(table.texts))] if table.items is None else list(table.items)
    _check_ids(path, ids, "correct the ids in the file")
    labels = table.labels or ("",) * len(ids)
    known = set(classes)
    return [
        Item(name, text=text, given=label if label in known else None)
        for name, text, label in zip(ids, table.texts, labels, strict=True)
    ]


def _check_ids(path: Path, ids: Sequence[str], fix: str) -> None:
    """Raise unless all ids are printable and different."""
    seen: set[str] = set()
    for row, name in enumerate(ids):
        if name in seen or not name.strip() or not name.isprintable():
            found = f"the id {show(name)}{' twice' if name in seen else ''} (row {row:,})"
            code = "doubled-item" if name in seen else "bad-id"
            where = ErrorLocation(str(path), column="items")
            raise BadTable(found, "printable ids, each once", fix, code, where)
        seen.add(name)


def _bad_npz(path: Path, array: str | None, found: str, expected: str, code: str) -> BadTable:
    return BadTable(found, expected, "save the arrays again (np.savez)", code, ErrorLocation(str(path), column=array))


def read_item_folder(folder: Path, classes: Sequence[str]) -> list[Item]:
    """The images in `folder` and its subfolders; a first folder named as a class gives the class."""
    names = picture_names(folder)
    known = set(classes)
    items = []
    for name, item in zip(names, ids_of(names), strict=True):
        first, slash, _ = name.partition("/")
        items.append(Item(item, picture=folder / name, given=first if slash and first in known else None))
    return items


def row_sources(source: ItemSource) -> tuple[str, ...]:
    """The file whose row numbers the ids of the items are; empty if the items have ids."""
    from sfumato.tables.files.npz import read_arrays
    from sfumato.tables.row_numbers import source_of
    from sfumato.tables.text_table import read_text_table

    if source.npz is not None:
        return () if "items" in read_arrays(source.npz) else (source_of(source.npz),)
    if source.texts is None:
        return ()
    table = read_text_table(source.texts, () if source.text is None else (source.text,), None)
    return () if table.items is not None else (source_of(source.texts),)


def read_items(source: ItemSource, classes: Sequence[str]) -> list[Item]:
    """The items of `source`, with unique ids; `given` is their class if the source has one of `classes`."""
    if source.folder is not None:
        return read_item_folder(source.folder, classes)
    if source.csv is not None:
        return read_item_table(source.csv, classes, source.roots)
    if source.texts is not None:
        return read_item_texts(source.texts, source.text, classes)
    assert source.npz is not None, "a source has a folder, a csv, an npz or texts"
    return read_item_arrays(source.npz)
