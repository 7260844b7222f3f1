"""Items from a folder of pictures: the path is the id, and a first folder named as a class is the class."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from sfumato.elicitation.item_images import picture_format
from sfumato.study.stimulus import Item
from sfumato.tables.errors import BadFile, ErrorLocation, show

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
OTHER_PICTURES = (".svg", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jxl", ".jp2", ".psd", ".ppm", ".pgm")
"""Pictures we cannot show: passing over them would leave items out in silence."""


def read_item_folder(folder: Path, classes: Sequence[str]) -> list[Item]:
    """The pictures in `folder` and below it, in natural order (`9` before `10`); hidden files are passed over."""
    names = sorted(_pictures_in(folder), key=natural)
    if not names:
        raise BadFile(
            "found no picture",
            expected="PNG, JPEG, WebP, GIF or BMP files in the folder or below it",
            fix="put the pictures there, or name another folder",
            code="no-pictures",
            where=ErrorLocation(str(folder)),
        )
    known = set(classes)
    items = []
    for name, item in zip(names, ids_of(names), strict=True):
        first, slash, _ = name.partition("/")
        items.append(Item(item, picture=folder / name, given=first if slash and first in known else None))
    return items


def ids_of(names: Sequence[str]) -> list[str]:
    """The paths without their ending, but with it where two would be the same."""
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
    """Every picture in the folder and below it, as its path from there; links must stay inside."""
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
                raise _refused(
                    entry.path,
                    "a link to something outside the folder",
                    expected="pictures inside the folder",
                    fix="copy the pictures there, or name the folder they are in",
                    code="link-outside",
                )
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            # Pipes and devices are not opened: reading them may never end.
            elif entry.is_file() and _is_picture(entry.path, name):
                yield name


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):  # a link to nothing, or to itself
        return False


def _is_picture(path: str, name: str) -> bool:
    """Whether the content is a picture; an error where only the name says so."""
    try:
        with open(path, "rb", buffering=0) as file:
            start = file.read(16)
    except OSError as error:
        _unreadable(error)
    if picture_format(start) is not None:
        if not name.isprintable():
            fix = "rename the file or its folder"
            expected = "names in UTF-8 without control characters"
            raise _refused(show(path), f"the file name {show(name)}", expected=expected, fix=fix, code="bad-file-name")
        return True
    if _suffix(name) in SUFFIXES + OTHER_PICTURES:
        raise _refused(
            path,
            f"a {_suffix(name)} file whose content we cannot show" if start else "an empty file",
            expected="PNG, JPEG, WebP, GIF or BMP content",
            fix="save it as PNG or JPEG, or take it out of the folder",
            code="no-picture",
        )
    return False


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _unreadable(error: OSError) -> NoReturn:
    raise _refused(
        str(error.filename),
        f"a place that cannot be read ({error.strerror})",
        expected="a readable folder with readable files",
        fix="check the path and its permissions",
        code="unreadable",
    ) from error


def _refused(place: str, found: str, *, expected: str, fix: str, code: str) -> BadFile:
    return BadFile(f"found {found}", expected=expected, fix=fix, code=code, where=ErrorLocation(place))
