"""The items of a study, from a folder of images, a CSV (`item_table.py`) or an npz.

In a folder the path is the id, and a first folder named as a class gives the class. An npz has `images` (uint8, items x
height x width [x 3]) or `texts`, and optionally the ids, `items`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from sfumato.elicitation.item_images import MAX_PIXELS, picture_format
from sfumato.elicitation.item_table import read_item_table
from sfumato.study.stimulus import Item
from sfumato.study.study import ItemSource
from sfumato.tables.errors import BadFile, BadTable, ErrorLocation, show


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
    seen: set[str] = set()
    for row, name in enumerate(ids):
        if name in seen or not name.strip() or not name.isprintable():
            found = f"the id {show(name)}{' twice' if name in seen else ''} (row {row:,})"
            code = "doubled-item" if name in seen else "bad-id"
            raise _bad_npz(path, "items", found, "printable ids, each once", code)
        seen.add(name)
    if contents == ["images"]:
        return [Item(name, row=row) for row, name in enumerate(ids)]
    texts = values.tolist()
    empty = next((row for row, text in enumerate(texts) if not text.strip()), None)
    if empty is not None:
        raise _bad_npz(path, "texts", f"an empty text (row {empty:,})", "something to read", "empty-text")
    return [Item(name, text=text) for name, text in zip(ids, texts, strict=True)]


def _bad_npz(path: Path, array: str | None, found: str, expected: str, code: str) -> BadTable:
    return BadTable(found, expected, "save the arrays again (np.savez)", code, ErrorLocation(str(path), column=array))


SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
OTHER_PICTURES = (".svg", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jxl", ".jp2", ".psd", ".ppm", ".pgm")
"""Image formats we cannot show: skipping them would silently drop items."""


def read_item_folder(folder: Path, classes: Sequence[str]) -> list[Item]:
    """The images in `folder` and its subfolders, in natural order (`9` before `10`); hidden files are skipped."""
    names = sorted(_pictures_in(folder), key=natural)
    if not names:
        expected = "PNG, JPEG, WebP, GIF or BMP files in the folder or its subfolders"
        raise BadFile("no image", expected, "put the images there, or choose another folder", "no-pictures", folder)
    known = set(classes)
    items = []
    for name, item in zip(names, ids_of(names), strict=True):
        first, slash, _ = name.partition("/")
        items.append(Item(item, picture=folder / name, given=first if slash and first in known else None))
    return items


def ids_of(names: Sequence[str]) -> list[str]:
    """The paths without file endings, except where two would be equal."""
    ids = [name[: -len(_suffix(name))] if _suffix(name) in SUFFIXES else name for name in names]
    while doubled := {name for name, n in Counter(ids).items() if n > 1}:
        ids = [whole if name in doubled else name for name, whole in zip(ids, names, strict=True)]
    return ids


def natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key that puts `item-9` before `item-10`."""
    return [
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in re.split(r"([0-9]+)", text)
        if part
    ]


def _pictures_in(folder: Path) -> Iterator[str]:
    """Every image in the folder and its subfolders, as a relative path; links must stay inside."""
    root = folder.resolve()
    waiting = [""]
    while waiting:
        above = waiting.pop()
        try:
            with os.scandir(folder / above) as entries:
                found = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            _unreadable(error)
        for entry in found:
            name = above + entry.name
            if entry.is_symlink() and not _is_inside(Path(entry.path), root):
                outside, fix = "a link to something outside the folder", "copy the images there, or choose their folder"
                raise BadFile(outside, "images inside the folder", fix, "link-outside", entry.path)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            # Pipes and devices are not opened: reading them may block forever.
            elif entry.is_file() and _is_picture(entry.path, name):
                yield name


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):  # a link to nothing, or to itself
        return False


def _is_picture(path: str, name: str) -> bool:
    """Whether the content is an image; an error if only the name says so."""
    try:
        with open(path, "rb", buffering=0) as file:
            start = file.read(16)
    except OSError as error:
        _unreadable(error)
    if picture_format(start) is not None:
        if not name.isprintable():
            expected, fix = "names in UTF-8 without control characters", "rename the file or its folder"
            raise BadFile(f"the file name {show(name)}", expected, fix, "bad-file-name", show(path))
        return True
    if _suffix(name) in SUFFIXES + OTHER_PICTURES:
        found = f"a {_suffix(name)} file whose content we cannot show" if start else "an empty file"
        fix = "save it as PNG or JPEG, or remove it from the folder"
        raise BadFile(found, "PNG, JPEG, WebP, GIF or BMP content", fix, "no-picture", path)
    return False


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _unreadable(error: OSError) -> NoReturn:
    found, expected = f"a place that cannot be read ({error.strerror})", "a readable folder with readable files"
    raise BadFile(found, expected, "check the path and its permissions", "unreadable", error.filename) from error


def read_items(source: ItemSource, classes: Sequence[str]) -> list[Item]:
    """The items of `source`, with unique ids; `given` is their class if the source has one of `classes`."""
    if source.folder is not None:
        return read_item_folder(source.folder, classes)
    if source.csv is not None:
        return read_item_table(source.csv, classes)
    assert source.npz is not None, "a source has a folder, a csv or an npz"
    return read_item_arrays(source.npz)
