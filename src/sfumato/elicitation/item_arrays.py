"""Items from an npz: `images` (uint8, items x height x width [x 3]) or `texts`, and perhaps their ids, `items`."""

from __future__ import annotations

from pathlib import Path

from sfumato.elicitation.item_images import MAX_PIXELS
from sfumato.study.stimulus import Item
from sfumato.tables.errors import BadTable, ErrorLocation, show


def read_item_arrays(path: Path) -> list[Item]:
    """The items of the npz `path`: a picture or a text a row; ids are row numbers where `items` names none."""
    # Not at the top: the server loads NumPy only for a study that needs it.
    from sfumato.tables.files import read_arrays

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
        raise _bad_npz(path, "texts", found, "one text an item", "bad-texts")
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
    seen: set[str] = set()
    for row, name in enumerate(ids):
        if name in seen or not name.strip() or not name.isprintable():
            found = f"the id {show(name)}{' twice' if name in seen else ''} (row {row:,})"
            raise _bad_npz(
                path, "items", found, "ids in print, each once", "doubled-item" if name in seen else "bad-id"
            )
        seen.add(name)
    if contents == ["images"]:
        return [Item(name, row=row) for row, name in enumerate(ids)]
    texts = values.tolist()
    empty = next((row for row, text in enumerate(texts) if not text.strip()), None)
    if empty is not None:
        raise _bad_npz(path, "texts", f"an empty text (row {empty:,})", "something to read", "empty-text")
    return [Item(name, text=text) for name, text in zip(ids, texts, strict=True)]


def _bad_npz(path: Path, array: str | None, found: str, expected: str, code: str) -> BadTable:
    return BadTable(
        f"found {found}",
        expected=expected,
        fix="save the arrays anew (np.savez)",
        code=code,
        where=ErrorLocation(str(path), column=array),
    )
