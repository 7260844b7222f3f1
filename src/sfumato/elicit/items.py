"""The items of a study, from a folder of pictures, a CSV of texts or of pictures, or an npz."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from sfumato.elicit.item_table import read_item_table
from sfumato.elicit.kind import Item
from sfumato.elicit.pictures import MAX_PIXELS, picture_format
from sfumato.errors import BadFile, BadTable, Where, show
from sfumato.study import ItemSource

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
OTHER_PICTURES = (".svg", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jxl", ".jp2", ".psd", ".ppm", ".pgm")
"""Pictures we cannot show: passing over them would leave items out in silence."""


def read_items(source: ItemSource, classes: Sequence[str]) -> list[Item]:
    """The items of `source`, each id once; their `given` class is one of `classes`, where the source tells it."""
    if source.folder is not None:
        return _from_folder(source.folder, classes)
    if source.csv is not None:
        return read_item_table(source.csv, classes)
    assert source.npz is not None, "a source has a folder, a csv or an npz"
    return _from_npz(source.npz)


def _from_folder(folder: Path, classes: Sequence[str]) -> list[Item]:
    found = sorted(_pictures_in(folder), key=lambda path: _natural(path.relative_to(folder).as_posix()))
    if not found:
        raise BadFile(
            "found no picture",
            expected="PNG, JPEG, WebP, GIF or BMP files in the folder or below it",
            fix="put the pictures there, or name another folder",
            code="no-pictures",
            where=Where(str(folder)),
        )
    return [
        Item(name, picture=path, given=_first_folder(path, folder, classes))
        for path, name in zip(found, _ids(found, folder), strict=True)
    ]


def _pictures_in(folder: Path) -> Iterator[Path]:
    """Every picture in the folder and below it, hidden ones left out; links must stay inside."""
    root = folder.resolve()
    for place, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        here = Path(place)
        for name in (*folders, *files):
            path = here / name
            if not name.startswith(".") and path.is_symlink() and not _is_inside(path, root):
                raise BadFile(
                    "found a link to something outside the folder",
                    expected="pictures inside the folder",
                    fix="copy the pictures there, or name the folder they are in",
                    code="link-outside",
                    where=Where(str(path)),
                )
        yield from (here / name for name in files if not name.startswith(".") and _is_picture(here / name))


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):  # a link to nothing, or to itself
        return False


def _is_picture(path: Path) -> bool:
    """Whether the content is a picture; an error where only the name says so."""
    suffix = path.suffix.lower()
    if not path.is_file():  # pipes and devices are not opened: reading them may never end
        return False
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        _unreadable(error)
    if picture_format(start) is not None:
        _check_name(path)
        return True
    if suffix in SUFFIXES + OTHER_PICTURES:
        raise BadFile(
            "found an empty file" if not start else f"found a {suffix} file whose content we cannot show",
            expected="PNG, JPEG, WebP, GIF or BMP content",
            fix="save it as PNG or JPEG, or take it out of the folder",
            code="no-picture",
            where=Where(str(path)),
        )
    return False


def _check_name(path: Path) -> None:
    if not path.name.isprintable():
        raise BadFile(
            f"found the file name {show(path.name)}",
            expected="a name in UTF-8 without control characters",
            fix="rename the file",
            code="bad-file-name",
            where=Where(str(path.parent)),
        )


def _unreadable(error: OSError) -> NoReturn:
    raise BadFile(
        f"found a place that cannot be read ({error.strerror})",
        expected="a readable folder with readable files",
        fix="check the path and its permissions",
        code="unreadable",
        where=Where(str(error.filename)),
    ) from error


def _ids(paths: Sequence[Path], folder: Path) -> list[str]:
    """Paths from the folder without their ending, but with it where two would be the same."""
    full = [path.relative_to(folder).as_posix() for path in paths]
    ids = [
        name[: -len(path.suffix)] if path.suffix.lower() in SUFFIXES else name
        for name, path in zip(full, paths, strict=True)
    ]
    while doubled := {name for name, n in Counter(ids).items() if n > 1}:
        ids = [whole if name in doubled else name for name, whole in zip(ids, full, strict=True)]
    return ids


def _first_folder(path: Path, folder: Path, classes: Sequence[str]) -> str | None:
    parts = path.relative_to(folder).parts
    return parts[0] if len(parts) > 1 and parts[0] in classes else None


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key that puts `item-9` before `item-10`."""
    return [
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in re.split(r"([0-9]+)", text)
        if part
    ]


def _from_npz(path: Path) -> list[Item]:
    from sfumato.files import read_arrays

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
        where=Where(str(path), column=array),
    )
